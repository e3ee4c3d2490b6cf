// Details of one worker or one task, opened by a click.

let panelAgain = null;

function openPanel(title, again, ...content) {
  panelAgain = again;
  byId("panel-title").replaceChildren(title);
  byId("panel-body").replaceChildren(...content.filter(Boolean));
  if (!byId("panel").open) byId("panel").showModal();
  byId("panel").scrollTop = 0;
}

const pairs = (rows) => element("dl", { class: "pairs" }, rows.filter(Boolean).map(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));

function openWorker(place) {
  const w = data.workers;
  const limits = w.low && w.low[place] !== null ? `, between ${errorText(w.low[place])} and ${errorText(w.high[place])} (95 %)` : "";
  openPanel(workerName(place), () => openWorker(place),
    pairs([
      ["answers", number(w.answers[place])],
      [data.unit, `${errorText(w.value[place])}${limits}`],
      w.relative_error && w.relative_error[place] !== null && ["relative error", `${number(w.relative_error[place])} compared with others on the same tasks`],
      w.rank_low && w.rank_low[place] !== null && ["rank", `${w.rank_low[place]} to ${w.rank_high[place]}`],
      ["disparity", `${number(w.disparity[place])}, mean distance to the other workers`],
      ["weight", number(w.weight[place])],
      w.informativeness && ["informativeness", `${number(w.informativeness[place])}: dependence of the answers on the tasks`],
      w.effect && w.effect[place] !== null && ["effect on alpha", number(w.effect[place])],
      w.flags[place].length ? ["notes", w.flags[place].join(", ")] : null,
    ]),
    confusionView(place),
    disagreementsView(place));
}

function confusionView(place) {
  const found = data.workers.confusions;
  if (!found) return null;
  const k = found.classes.length, counts = found.counts[place];
  if (!counts.some((count) => count)) return null;
  const table = element("table", { class: "confusion" },
    element("thead", {}, element("tr", {}, element("td", {}, "label ↓, answer →"), found.classes.map((ref) => element("th", { scope: "col" }, labelCell(ref))))),
    element("tbody", {}, found.classes.map((ref, i) => {
      const row = counts.slice(i * k, i * k + k), sum = row.reduce((a, b) => a + b, 0);
      return element("tr", {}, element("th", { scope: "row" }, labelCell(ref)), row.map((count, j) => {
        const cell = element("td", { class: i === j ? "right" : null }, count ? whole.format(count) : "·");
        if (count) cell.style.background = `rgba(var(--far), ${(0.3 * count) / sum})`;
        return cell;
      }));
    })));
  return element("div", {}, element("h3", {}, "Confusions"),
    element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Confusions" }, table),
    found.left_out ? element("p", { class: "muted" }, `The ${k} most frequent classes; ${plural(found.left_out, "other")} omitted.`) : null);
}

function disagreementsView(place) {
  const found = data.workers.disagreements[place];
  const title = element("h3", {}, "Strongest disagreements");
  if (!found) return element("div", {}, title, element("p", { class: "muted" }, "None: the answers agree with the labels, or are not part of the sample."));
  const [tasks, said, truth, sure] = found;
  return element("div", {}, title, tasks.map((task, i) => element("div", { class: "case" },
    element("p", {}, taskButton(data.workers.disagreement_tasks[task]), sure[i] === null || data.tasks.low ? "" : element("span", { class: "muted" }, ` ${data.sureness} of the label ${percent(sure[i])}`)),
    compareLabels(said[i], truth[i]))));
}

function openTask(row) {
  const t = data.tasks, found = t.answered[row], truth = t.label[row];
  const sure = t.limits ? ["95 % interval", t.limits[row] || "not known"] : t.low ? ["95 % interval", `${number(t.low[row], 5)} to ${number(t.high[row], 5)}`] : [data.sureness, t.sure[row] === null ? "not known" : percent(t.sure[row])];
  openPanel(t.id[row], () => openTask(row),
    pairs([
      data.kind === "mask" ? null : ["label", element("span", { class: "label" }, labelText(truth))],
      sure,
      ["answers", number(t.answers[row])],
      data.kind === "mask" ? null : ["unweighted label", t.changed.includes(row) ? element("span", { class: "label" }, labelText(t.unweighted[row])) : t.tied.includes(row) ? "a tie" : "the same"],
    ]),
    ...(found ? answersView(row, found) : [element("p", { class: "note" }, "This report does not contain the answers to this task.")]));
}

function answersView(row, [who, what]) {
  const weights = who.map((place) => data.people.weights[place] || 0), sum = weights.reduce((a, b) => a + b, 0);
  const shares = weights.map((weight) => (sum ? weight / sum : 1 / who.length)), truth = data.tasks.label[row];
  const top = Math.max(...shares, 1e-9), pictured = ["text", "ranking", "set"].includes(data.kind);
  const left = data.tasks.answers[row] - who.length;
  const one = (place, i) => (pictured
    ? element("div", { class: "case" }, element("p", {}, workerButton(place), element("span", { class: "muted" }, ` ${percent(shares[i])} of the weight`)), what[i] === truth ? element("p", {}, "the same as the label") : compareLabels(what[i], truth))
    : element("tr", {}, element("th", { scope: "row" }, workerButton(place)), element("td", {}, labelCell(what[i])), element("td", { class: "number" }, percent(shares[i])), element("td", {}, bar(shares[i] / top))));
  const list = pictured ? element("div", {}, who.map(one)) : element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "All answers" }, element("table", {},
    element("thead", {}, element("tr", {}, ["Worker", "Answer", "Weight", ""].map((title, i) => (title ? element("th", { scope: "col", class: i === 2 ? "number" : null }, title) : element("td"))))),
    element("tbody", {}, who.map(one))));
  return [
    element("h3", {}, data.kind === "number" ? "Answers, larger with more weight; the line is the label, the band its 95 % interval" : "Answers together, by weight"),
    votesView(what, shares, truth, row),
    element("h3", {}, `All ${plural(who.length, "answer")}, by weight`),
    list,
    left > 0 ? element("p", { class: "muted" }, `and ${whole.format(left)} more with less weight.`) : null,
  ].filter(Boolean);
}
