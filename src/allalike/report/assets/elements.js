"use strict";
// Shared helpers: the data, elements with text only, formatted numbers, and names that can be hidden.

const data = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";
const byId = (id) => document.getElementById(id);

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

const element = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const shape = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

const whole = new Intl.NumberFormat("en"); // created once, because creation is slow

function number(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  if (Number.isInteger(value) && value) return whole.format(value);
  const size = Math.abs(value);
  if (size < 1) return size && size < 10 ** -digits ? value.toPrecision(2) : value.toFixed(digits);
  return size < 1e6 ? Number(value.toPrecision(digits + 1)).toString() : value.toPrecision(digits + 1);
}

const percent = (share) => (share === null || share === undefined ? "–" : `${(100 * share).toFixed(1)} %`);
const rate = (value) => (value === null || value === undefined ? "–" : `${Number((100 * value).toPrecision(2))} %`);
const errorText = (value) => (data.unit === "error rate" ? rate(value) : number(value));
const plural = (count, noun) => `${whole.format(count)} ${noun}${count === 1 ? "" : "s"}`;

// A worker is identified by the position in the list of names; the alias is W and that position, starting at 1.
let namesHidden = false;
const workerName = (place) => (namesHidden ? `W${place + 1}` : data.people.names[place]);
const placeOfAlias = (alias) => (/^W[1-9]\d*$/.test(alias) ? Number(alias.slice(1)) - 1 : null);

function workerButton(place, kind = "link") {
  const known = place < data.workers.answers.length;
  const button = element("button", { type: "button", class: kind, "data-name": place, disabled: !known, title: workerName(place) }, workerName(place));
  if (known) button.addEventListener("click", () => openWorker(place));
  return button;
}

function taskButton(name, kind = "link") {
  const row = taskRow(name);
  if (row === undefined) return element("span", { class: kind === "chip" ? "chip" : "label" }, name);
  return element("button", { type: "button", class: kind, title: name, onclick: () => openTask(row) }, name);
}

let rowOfTask = null;
function taskRow(name) {
  rowOfTask ??= new Map(data.tasks.id.map((id, row) => [id, row]));
  return rowOfTask.get(name);
}

function bar(share) {
  const inner = element("span", { class: "bar" });
  inner.style.width = `${100 * Math.max(0, Math.min(1, share || 0))}%`;
  return element("span", { class: "track", "aria-hidden": "true" }, inner);
}

// A text that a spreadsheet would interpret as a formula gets an apostrophe.
function csvCell(value) {
  if (value === null || value === undefined) return "";
  let text = String(value);
  if (typeof value !== "number" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\n\r;]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function download(name, rows) {
  const text = rows.map((row) => row.map(csvCell).join(",")).join("\r\n");
  const address = URL.createObjectURL(new Blob(["\ufeff", text, "\r\n"], { type: "text/csv" }));
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
