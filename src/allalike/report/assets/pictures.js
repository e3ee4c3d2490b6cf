// Charts: names, tooltips, clicks and keys; and the matrix.

const svgTip = byId("tip");

function showTip(text, x, y) {
  svgTip.textContent = text;
  svgTip.hidden = false;
  const box = svgTip.getBoundingClientRect();
  svgTip.style.left = `${Math.max(4, Math.min(x + 12, innerWidth - box.width - 4))}px`;
  svgTip.style.top = `${y + 14 + box.height > innerHeight ? y - box.height - 10 : y + 14}px`;
}

const hideTip = () => { svgTip.hidden = true; };

function describeWorker(place) {
  const w = data.workers;
  if (place >= w.answers.length) return workerName(place);
  const remarks = w.flags[place].length ? `; ${w.flags[place].join(", ")}` : "";
  return `${workerName(place)}: ${plural(w.answers[place], "answer")}, ${data.unit} ${errorText(w.value[place])}${remarks}`;
}

// A mark with an alias as its description is a worker: it gets a tooltip and reacts to clicks and keys.
function wakeChart(chart) {
  const svg = chart.querySelector("svg");
  if (!svg) return;
  svg.removeAttribute("width");
  svg.removeAttribute("height");
  svg.setAttribute("aria-label", chart.parentElement.querySelector("figcaption").textContent);
  const marks = [];
  for (const mark of svg.querySelectorAll("path[aria-label], rect[aria-label]")) {
    const place = placeOfAlias(mark.getAttribute("aria-label"));
    if (place === null) {
      const text = mark.getAttribute("aria-label");
      listen(mark, () => text);
    } else marks.push(wakeMark(mark, place));
  }
  for (const text of svg.querySelectorAll("text")) {
    const place = placeOfAlias(text.textContent);
    if (place !== null) {
      text.dataset.worker = place;
      text.addEventListener("click", () => openWorker(place));
      listen(text, () => describeWorker(place));
    }
  }
  reachByKeys(marks);
}

function listen(mark, describe) {
  mark.addEventListener("pointermove", (event) => showTip(describe(), event.clientX, event.clientY));
  mark.addEventListener("pointerleave", hideTip);
}

function wakeMark(mark, place) {
  mark.dataset.worker = place;
  mark.setAttribute("role", "button");
  mark.addEventListener("click", () => place < data.workers.answers.length && openWorker(place));
  mark.addEventListener("focus", () => {
    const box = mark.getBoundingClientRect();
    showTip(describeWorker(place), box.right, box.bottom);
  });
  mark.addEventListener("blur", hideTip);
  listen(mark, () => describeWorker(place));
  return mark;
}

// One mark per chart is in the tab order; arrow keys move between marks, Enter opens one.
function reachByKeys(marks) {
  marks.forEach((mark, number) => {
    mark.setAttribute("tabindex", number ? "-1" : "0");
    mark.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (step) {
        const next = marks[(number + step + marks.length) % marks.length];
        mark.setAttribute("tabindex", "-1");
        next.setAttribute("tabindex", "0");
        next.focus();
      } else if (event.key === "Enter" || event.key === " ") mark.dispatchEvent(new MouseEvent("click"));
      else return;
      event.preventDefault();
    });
  });
}

function renameMarks() {
  for (const node of document.querySelectorAll(".chart [data-worker]")) {
    const place = Number(node.dataset.worker);
    if (node.tagName === "text") {
      const name = workerName(place);
      node.textContent = name.length > 16 ? `${name.slice(0, 15)}…` : name;
    } else node.setAttribute("aria-label", describeWorker(place));
  }
}

// The matrix, with one byte per pair above the diagonal: 255 is a pair without a common task.
class Matrix {
  constructor(canvas, hint) {
    Object.assign(this, { canvas, hint, at: [0, 1] });
    this.order = data.matrix.order;
    canvas.addEventListener("pointermove", (event) => this.point(event));
    canvas.addEventListener("click", (event) => { this.point(event); openWorker(this.order[this.at[0]]); });
    canvas.addEventListener("keydown", (event) => this.step(event));
  }

  get bytes() {
    this.unpacked ??= Uint8Array.from(atob(data.matrix.bytes), (sign) => sign.charCodeAt(0));
    return this.unpacked;
  }

  byte(i, j) {
    const n = this.order.length;
    if (i === j) return 0;
    if (i > j) [i, j] = [j, i];
    return this.bytes[i * n - (i * (i + 1)) / 2 + j - i - 1];
  }

  // Colours range from the smallest distance of a pair to the largest; rows have names if there is room.
  draw() {
    const n = this.order.length, side = Math.max(2, Math.floor(1000 / n)), style = getComputedStyle(document.documentElement);
    this.left = side >= 24 ? 220 : 0;
    this.canvas.width = this.left + n * side;
    this.canvas.height = n * side;
    const context = this.canvas.getContext("2d");
    context.imageSmoothingEnabled = false;
    context.drawImage(this.paint(n, style.getPropertyValue("--far").split(",").map(Number)), this.left, 0, n * side, n * side);
    context.fillStyle = context.strokeStyle = style.getPropertyValue("--ink");
    context.font = `${Math.min(26, side)}px sans-serif`;
    context.textBaseline = "middle";
    for (let i = 0; i < n && side > 3; i++) {
      if (this.left) context.fillText(workerName(this.order[i]), 4, (i + 0.5) * side, this.left - 12);
      for (let j = 0; j < n; j++) if (this.byte(i, j) === 255) this.hatch(context, this.left + j * side, i * side, side);
    }
    context.stroke();
  }

  // One pixel per pair.
  paint(n, [r, g, b]) {
    const small = element("canvas", { width: n, height: n }), context = small.getContext("2d"), image = context.createImageData(n, n);
    const least = this.bytes.reduce((a, byte) => Math.min(a, byte), 254);
    for (let i = 0; i < n; i++)
      for (let j = 0; j < n; j++) {
        const byte = this.byte(i, j), strength = 0.08 + (0.92 * (byte - least)) / Math.max(254 - least, 1);
        image.data.set([r, g, b, i === j || byte === 255 ? 0 : Math.round(255 * strength)], 4 * (i * n + j));
      }
    context.putImageData(image, 0, 0);
    return small;
  }

  hatch(context, x, y, side) {
    context.moveTo(x, y + side);
    context.lineTo(x + side, y);
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect(), n = this.order.length, left = (this.left * box.width) / this.canvas.width;
    const place = (at, from, size) => Math.min(n - 1, Math.max(0, Math.floor((n * (at - from)) / size)));
    this.at = [place(event.clientY, box.top, box.height), place(event.clientX, box.left + left, box.width - left)];
    this.describe();
  }

  step(event) {
    const way = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key], n = this.order.length;
    if (way) this.at = this.at.map((at, axis) => Math.min(n - 1, Math.max(0, at + way[axis])));
    else if (event.key === "Enter") openWorker(this.order[this.at[0]]);
    else return;
    event.preventDefault();
    this.describe();
  }

  describe() {
    const [i, j] = this.at, byte = this.byte(i, j), [one, two] = [this.order[i], this.order[j]].map(workerName);
    const apart = byte === 255 ? "have no task in common" : `are ${number((byte / 254) * data.matrix.largest, 2)} apart on average`;
    this.hint.textContent = i === j ? one : `${one} and ${two} ${apart}`;
  }
}
