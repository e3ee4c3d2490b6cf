// Tables that are sorted by their headers, filtered, paged, and exported as shown.

const ROWS_A_PAGE = 20;

class Table {
  // A column has a title, a cell (row -> text or node), a sort key and an exported value (row -> value).
  constructor(place, { name, caption, columns, size, sorted }) {
    Object.assign(this, { place, name, caption, columns, sort: sorted, page: 0 });
    this.rows = Array.from({ length: size }, (_, row) => row);
    this.total = size;
    this.body = element("tbody");
    this.heads = columns.map((column, place) => element("th", { scope: "col", class: column.number ? "number" : null, title: column.hint },
      element("button", { type: "button", onclick: () => this.sortBy(place) }, column.title)));
    this.count = element("span", { class: "count", "aria-live": "polite" });
    this.back = element("button", { type: "button", onclick: () => this.turn(-1) }, "‹ Back");
    this.on = element("button", { type: "button", onclick: () => this.turn(1) }, "More ›");
    const save = element("button", { type: "button", class: "save", onclick: () => this.save() }, "Save these rows as CSV");
    place.append(
      element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
        element("table", {}, element("thead", {}, element("tr", {}, this.heads)), this.body)),
      element("div", { class: "pages" }, this.count, this.back, this.on, save));
    this.filter(() => true);
  }

  filter(keep) {
    this.shown = this.rows.filter(keep);
    this.page = 0;
    this.arrange();
  }

  sortBy(place) {
    const first = this.columns[place].number && !this.columns[place].rising ? "descending" : "ascending";
    const other = first === "ascending" ? "descending" : "ascending";
    this.sort = [place, this.sort && this.sort[0] === place && this.sort[1] === first ? other : first];
    this.page = 0;
    this.arrange();
  }

  // Unknown values come last in either direction; the sort is stable.
  arrange() {
    if (this.sort) {
      const [place, way] = this.sort, turn = way === "ascending" ? 1 : -1;
      const keys = new Map(this.shown.map((row) => [row, this.columns[place].key(row)]));
      const unknown = (key) => key === null || key === undefined || key === "";
      this.shown.sort((a, b) => {
        const [x, y] = [keys.get(a), keys.get(b)];
        if (unknown(x) || unknown(y)) return unknown(x) - unknown(y) || a - b;
        return (typeof x === "number" ? x - y : x < y ? -1 : x > y ? 1 : 0) * turn || a - b;
      });
    }
    this.draw();
  }

  turn(pages) {
    this.page += pages;
    this.draw();
  }

  draw() {
    const first = this.page * ROWS_A_PAGE, last = Math.min(first + ROWS_A_PAGE, this.shown.length);
    this.heads.forEach((head, place) => head.setAttribute("aria-sort", this.sort && this.sort[0] === place ? this.sort[1] : "none"));
    this.body.replaceChildren(...this.shown.slice(first, last).map((row) => element("tr", {},
      this.columns.map((column, place) => element(place ? "td" : "th", { scope: place ? null : "row", class: column.number ? "number" : null }, column.cell(row))))));
    const part = this.shown.length === this.total ? "" : ` (of ${whole.format(this.total)})`;
    this.count.textContent = this.shown.length ? `${whole.format(first + 1)} to ${whole.format(last)} of ${whole.format(this.shown.length)}${part}` : "No rows match.";
    this.back.disabled = this.page === 0;
    this.on.disabled = last >= this.shown.length;
  }

  save() {
    const exported = (column, row) => (column.csv || column.key)(row);
    download(`${this.name}.csv`, [this.columns.map((column) => column.title), ...this.shown.map((row) => this.columns.map((column) => exported(column, row)))]);
  }
}

const numeric = (title, values, hint, more = {}) => ({ title, hint, number: true, key: (row) => values[row], cell: (row) => number(values[row]), ...more });

function workersTable() {
  const w = data.workers, size = w.answers.length, title = data.unit[0].toUpperCase() + data.unit.slice(1);
  const most = Math.max(...w.value.map((v, i) => Math.max(v || 0, (w.high && w.high[i]) || 0)), 1e-9);
  const digits = most > 10 ? 1 : most > 0.1 ? 2 : 4;
  const limits = (row) => (w.low && w.low[row] !== null ? `${w.low[row].toFixed(digits)} to ${w.high[row].toFixed(digits)}` : "");
  const between = (row) => (data.unit !== "error rate" || w.low[row] === null ? limits(row) : `${rate(w.low[row]).replace(" %", "")} to ${rate(w.high[row])}`);
  const ranks = (row) => (w.rank_low[row] === null ? "" : `${w.rank_low[row]} to ${w.rank_high[row]}`);
  const columns = [
    { title: "Worker", key: workerName, cell: (row) => workerButton(row) },
    numeric("Answers", w.answers, "number of answers"),
    numeric(title, w.value, "estimated error", { rising: true, cell: (row) => errorText(w.value[row]) }),
    ...(w.low ? [{ title: "95 % interval", key: (row) => w.high[row] === null ? null : w.high[row] - w.low[row], csv: limits, number: true, rising: true, hint: "95 % confidence interval of the error", cell: between }] : []),
    ...(w.rank_low ? [{ title: "Rank", key: (row) => w.rank_low[row], csv: ranks, number: true, rising: true, hint: "range of the rank by errors, 1 has the fewest", cell: ranks }] : []),
    numeric("Weight", w.weight, "weight of the answers", { cell: (row) => (w.weight[row] ? w.weight[row].toPrecision(3) : "0") }),
    ...(w.effect ? [numeric("Effect on alpha", w.effect, "contribution to agreement; below 0, agreement is higher without the worker", { cell: (row) => (w.effect[row] === null ? "–" : w.effect[row].toFixed(3).replace("-0.000", "0.000")) })] : []),
    { title: "Notes", key: (row) => w.flags[row].join(", "), cell: (row) => element("span", {}, w.flags[row].map((flag) => element("span", { class: "remark" }, flag))) },
  ];
  return new Table(byId("workers-table"), { name: "workers", caption: "Workers", columns, size });
}

function tasksTable() {
  const t = data.tasks, size = t.id.length, changed = new Set(t.changed), tied = new Set(t.tied), known = new Set(t.known || []), abstained = new Set(t.abstained || []);
  const remarks = (row) => [changed.has(row) && "changed by weights", tied.has(row) && "tie broken", known.has(row) && "gold label", abstained.has(row) && "confidence too low"].filter(Boolean);
  const sure = t.limits
    ? [{ title: "95 % interval", key: (row) => t.high[row] - t.low[row], csv: (row) => t.limits[row], cell: (row) => t.limits[row] }]
    : t.low
    ? [numeric("Low", t.low, "lower end of the 95 % interval"), numeric("High", t.high, "upper end of the 95 % interval")]
    : [numeric(data.sureness[0].toUpperCase() + data.sureness.slice(1), t.sure, "confidence of the label", { rising: true, cell: (row) => rate(t.sure[row]) })];
  const text = (row) => (abstained.has(row) ? "–" : labelText(t.label[row]));
  const columns = [
    { title: "Task", key: (row) => t.id[row], cell: (row) => taskButton(t.id[row]) },
    { title: "Label", key: (row) => (data.kind === "number" ? labelOf(t.label[row]) : text(row)), csv: (row) => (data.kind === "number" && !abstained.has(row) ? labelOf(t.label[row]) : text(row)), number: data.kind === "number", cell: (row) => (abstained.has(row) ? "–" : labelCell(t.label[row])) },
    ...sure,
    numeric("Answers", t.answers, "number of answers"),
    { title: "Unweighted", key: (row) => labelText(t.unweighted[row]), cell: (row) => (changed.has(row) ? labelCell(t.unweighted[row]) : element("span", { class: "muted" }, tied.has(row) ? "a tie" : "the same")) },
    { title: "Notes", key: (row) => remarks(row).join(", "), cell: (row) => element("span", {}, remarks(row).map((each) => element("span", { class: "remark" }, each))) },
  ];
  return new Table(byId("tasks-table"), { name: "tasks", caption: "Tasks", columns, size });
}

// A table of a panel has columns of numbers, of texts, or of judges.
function panelTable(place, { name, title, columns }) {
  const dressed = columns.map((column) => {
    if (column.numbers) {
      const whole = column.numbers.every((each) => each === null || Number.isInteger(each));
      const cell = (row) => (column.numbers[row] === null ? "–" : column.numbers[row].toLocaleString("en"));
      return numeric(column.title, column.numbers, null, whole ? { cell } : {});
    }
    if (column.texts) return { title: column.title, key: (row) => column.texts[row], cell: (row) => column.texts[row] };
    const text = (row) => column.people[row].map(workerName).join("; ");
    return { title: column.title, key: text, cell: (row) => column.people[row].map((each, i) => [i ? ", " : "", workerButton(each)]) };
  });
  const first = columns[0], size = (first.numbers || first.texts || first.people).length;
  return new Table(place, { name, caption: title, columns: dressed, size });
}
