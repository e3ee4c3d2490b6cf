// Labels of every type: as text, one answer compared with the label, and all answers to a task.

const labelOf = (ref) => data.labels[ref];
const JOINTS = { ranking: " > ", set: ", ", interval: ", " };

function labelText(ref) {
  const label = labelOf(ref);
  if (label === null || label === undefined) return "–";
  if (data.kind === "number") return number(label, 5);
  if (data.kind === "mask") return `mask of ${label.w} x ${label.h}`;
  if (data.kind === "boxes" || data.kind === "points") return countText(label);
  if (data.kind === "spans") return label.map(([from, to, tag]) => `${from}–${to}${tag === null ? "" : ` ${tag}`}`).join(", ") || "nothing";
  if (data.kind === "interval") return label.map(([from, to]) => `${from}–${to}`).join(", ") || "nothing";
  if (Array.isArray(label)) return label.join(JOINTS[data.kind]) || "nothing";
  return label === "" ? "(empty)" : label;
}

const labelCell = (ref) => element("span", { class: "label short", title: labelText(ref) }, labelText(ref));

// One worker's answer and the label, side by side or overlaid.
function compareLabels(said, truth) {
  const views = { text: textPair, ranking: rankingPair, mask: (a, b) => maskView([a], b), number: numberPair, set: setPair, interval: (a, b) => intervalView([a], b), spans: (a, b) => intervalView([a], b), boxes: (a, b) => objectView([a], b), points: (a, b) => objectView([a], b) };
  return (views[data.kind] || plainPair)(said, truth);
}

function sides(left, right) {
  return element("div", { class: "sides" },
    element("div", {}, element("small", {}, "this answer"), left),
    element("div", {}, element("small", {}, "the label"), right));
}

const plainPair = (said, truth) => sides(element("span", { class: "label" }, labelText(said)), element("span", { class: "label" }, labelText(truth)));

// The longest common subsequence of two lists of words, as sets of positions.
function commonWords(left, right) {
  const rows = Array.from({ length: left.length + 1 }, () => new Uint16Array(right.length + 1));
  for (let i = left.length - 1; i >= 0; i--)
    for (let j = right.length - 1; j >= 0; j--)
      rows[i][j] = left[i] === right[j] ? rows[i + 1][j + 1] + 1 : Math.max(rows[i + 1][j], rows[i][j + 1]);
  const stays = [new Set(), new Set()];
  for (let i = 0, j = 0; i < left.length && j < right.length;) {
    if (left[i] === right[j]) { stays[0].add(i++); stays[1].add(j++); }
    else if (rows[i + 1][j] >= rows[i][j + 1]) i++;
    else j++;
  }
  return stays;
}

function textPair(said, truth) {
  const [left, right] = [labelText(said), labelText(truth)].map((text) => text.split(/(\s+)/).filter((word) => word));
  const stays = commonWords(left, right);
  const mark = (words, kept, tag) => element("span", { class: "label" }, words.map((word, place) => (kept.has(place) || !word.trim() ? word : element(tag, {}, word))));
  return sides(mark(left, stays[0], "del"), mark(right, stays[1], "ins"));
}

function setPair(said, truth) {
  const [left, right] = [labelOf(said), labelOf(truth)];
  const list = (own, other, tag) => element("span", { class: "label" }, own.length ? own.flatMap((each, place) => [place ? ", " : "", other.includes(each) ? each : element(tag, {}, each)]) : "nothing");
  return sides(list(left, right, "del"), list(right, left, "ins"));
}

// Two orders of items, with a line from each item's place in one to its place in the other.
function rankingPair(said, truth) {
  const [left, right] = [labelOf(said), labelOf(truth)];
  const step = 22, height = step * Math.max(left.length, right.length) + 20;
  const cut = (text) => (text.length > 18 ? `${text.slice(0, 17)}…` : text);
  const drawing = shape("svg", { viewBox: `0 0 420 ${height}`, class: "drawing", role: "img", "aria-label": `The worker ranked ${left.join(", ")}; the label is ${right.join(", ")}.` },
    shape("text", { x: 130, y: 12, "text-anchor": "end" }, "this answer"), shape("text", { x: 290, y: 12 }, "the label"));
  left.forEach((item, place) => {
    const other = right.indexOf(item), y = 30 + step * place;
    drawing.append(shape("text", { x: 130, y: y + 4, "text-anchor": "end" }, `${place + 1}. ${cut(item)}`));
    if (other >= 0) drawing.append(shape("line", { x1: 140, y1: y, x2: 280, y2: 30 + step * other, class: other === place ? "kept" : "turned" }));
  });
  right.forEach((item, place) => drawing.append(shape("text", { x: 290, y: 34 + step * place }, `${place + 1}. ${cut(item)}`)));
  return drawing;
}

// Overlaid outlines: the label filled with a solid line, answers with a dashed line.
function maskView(answers, truth) {
  const { w, h } = labelOf(truth);
  const drawing = shape("svg", { viewBox: `-1 -1 ${w + 2} ${h + 2}`, class: "drawing mask", role: "img", "aria-label": `Outlines of ${plural(answers.length, "answer")} over the label.` });
  drawing.append(shape("path", { d: labelOf(truth).d || "M0 0", class: "truth" }));
  for (const ref of answers) drawing.append(shape("path", { d: labelOf(ref).d || "M0 0", class: "answer" }));
  return element("div", {}, drawing, element("p", { class: "muted" }, "Filled with a firm line: the label. Broken line: ", answers.length > 1 ? "the answers." : "this answer."));
}

// Number of objects per class, which is the last field.
function countText(objects) {
  const counts = new Map(), unnamed = data.kind === "points" ? "point" : "box";
  for (const object of objects) counts.set(object.at(-1) ?? unnamed, (counts.get(object.at(-1) ?? unnamed) || 0) + 1);
  return [...counts].map(([name, count]) => `${count} × ${name}`).join(", ") || "nothing";
}

const boxPath = ([x1, y1, x2, y2]) => `M${x1} ${y1}H${x2}V${y2}H${x1}z`;
const pointPath = ([x, y], radius) => `M${x - radius} ${y}a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0z`;

// Overlaid boxes or points in a common frame, with the class as a tooltip.
function objectView(answers, truth) {
  const known = labelOf(truth) || [], points = data.kind === "points";
  const all = [known, ...answers.map(labelOf)].flat();
  if (!all.length) return plainPair(answers[0], truth);
  const [left, top] = [0, 1].map((side) => Math.min(...all.map((object) => object[side])));
  const [wide, high] = [0, 1].map((side) => Math.max(...all.map((object) => object[side + (points ? 0 : 2)])) - (side ? top : left));
  const room = 0.03 * (Math.max(wide, high) || 1);
  const drawing = shape("svg", { viewBox: `${left - room} ${top - room} ${wide + 2 * room} ${high + 2 * room}`, class: "drawing mask", role: "img", "aria-label": `Marks of ${plural(answers.length, "answer")} over the label: ${countText(known)}.` });
  const draw = (objects, kind) => objects.forEach((object) => drawing.append(shape("path", { d: points ? pointPath(object, 0.6 * room) : boxPath(object), class: kind }, shape("title", {}, object.at(-1) ?? (points ? "point" : "box")))));
  draw(known, "truth");
  for (const ref of answers) draw(labelOf(ref), "answer");
  return element("div", {}, drawing, element("p", { class: "muted" }, "Filled with a firm line: the label. Broken line: ", answers.length > 1 ? "the answers." : "this answer."));
}

function axis(low, high, height, describe) {
  const span = high > low ? high - low : Math.abs(high) || 1;
  const from = low - 0.06 * span, to = high + 0.06 * span;
  const place = (value) => 15 + (490 * (value - from)) / (to - from);
  const drawing = shape("svg", { viewBox: `0 0 520 ${height}`, class: "drawing", role: "img", "aria-label": describe });
  drawing.append(shape("line", { x1: 15, x2: 505, y1: height - 22, y2: height - 22, class: "axis" }));
  for (const value of low === high ? [low] : [low, (low + high) / 2, high])
    drawing.append(shape("text", { x: place(value), y: height - 6, "text-anchor": "middle" }, number(value, 4)));
  return [drawing, place];
}

function numberView(values, shares, truth, limits) {
  const all = [...values, truth, ...limits].filter((value) => value !== null && value !== undefined);
  const [drawing, place] = axis(Math.min(...all), Math.max(...all), 76, `Answers ${values.map((v) => number(v, 4)).slice(0, 20).join(", ")}; the label is ${number(truth, 4)}.`);
  if (limits.length) drawing.append(shape("rect", { x: place(limits[0]), width: Math.max(place(limits[1]) - place(limits[0]), 1), y: 8, height: 46, class: "band" }));
  drawing.append(shape("line", { x1: place(truth), x2: place(truth), y1: 4, y2: 54, class: "truth" }));
  const top = Math.max(...shares, 1e-9);
  values.forEach((value, i) => drawing.append(shape("circle", { cx: place(value), cy: 30 + 7 * ((i % 3) - 1), r: 3 + 5 * Math.sqrt(shares[i] / top), class: "dot" })));
  return drawing;
}

function numberPair(said, truth) {
  return element("div", {}, numberView([labelOf(said)], [1], labelOf(truth), []),
    element("p", {}, `Answer ${number(labelOf(said), 5)} (dot); label ${number(labelOf(truth), 5)} (line).`));
}

function intervalView(answers, truth) {
  const shown = answers.slice(0, 40);
  const bounds = [truth, ...shown].flatMap((ref) => labelOf(ref).flatMap(([from, to]) => [from, to]));
  if (!bounds.length) return plainPair(answers[0], truth);
  const height = 52 + 14 * shown.length;
  const [drawing, place] = axis(Math.min(...bounds), Math.max(...bounds), height, `The label is ${labelText(truth)}.`);
  const draw = (ref, y, kind) => labelOf(ref).forEach(([from, to, tag]) => drawing.append(shape("rect", { x: place(from), width: Math.max(place(to) - place(from), 1), y, height: 9, class: kind }, tag ? shape("title", {}, tag) : "")));
  draw(truth, 6, "truth");
  shown.forEach((ref, i) => draw(ref, 24 + 14 * i, "dot"));
  return element("div", {}, drawing, element("p", { class: "muted" }, "The framed bars are the label; those below are answers."));
}

// All answers to a task: votes as bars, or a picture for label types that have one.
function votesView(refs, shares, truth, row) {
  const limits = data.tasks.low && data.tasks.low[row] !== null ? [data.tasks.low[row], data.tasks.high[row]] : [];
  if (data.kind === "number") return numberView(refs.map(labelOf), shares, labelOf(truth), limits);
  if (data.kind === "mask") return maskView(refs, truth);
  if (data.kind === "interval" || data.kind === "spans") return intervalView(refs, truth);
  if (data.kind === "boxes" || data.kind === "points") return objectView(refs, truth);
  const votes = new Map();
  refs.forEach((ref, i) => {
    const [count, share] = votes.get(ref) || [0, 0];
    votes.set(ref, [count + 1, share + shares[i]]);
  });
  const ordered = [...votes].sort((a, b) => b[1][1] - a[1][1]).slice(0, 12);
  const list = element("div", { class: "votes" });
  for (const [ref, [count, share]] of ordered)
    list.append(element("span", { class: "label" }, labelText(ref), ref === truth ? element("b", {}, " ✓ label") : ""), bar(share), element("span", { class: "number" }, `${percent(share)}, ${plural(count, "answer")}`));
  return votes.size > ordered.length ? element("div", {}, list, element("p", { class: "muted" }, `and ${votes.size - ordered.length} more different answers`)) : list;
}
