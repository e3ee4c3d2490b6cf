"use strict";
// Shows the state of the session, and sends files and options. All text is set as text, never as HTML.

const byId = (id) => document.getElementById(id);
const LIMIT = Number(document.body.dataset.limit);
const INTERVAL = 250; // milliseconds between two requests while a run is under way

let state = null;
let shownFrame = "";
let timer = null;

function element(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function formatSize(bytes) {
  const steps = [[1e6, "MB"], [1e3, "kB"]].find(([step]) => bytes >= step);
  return steps ? `${(bytes / steps[0]).toFixed(1)} ${steps[1]}` : `${bytes} bytes`;
}

function showMessage(text) {
  byId("message").textContent = text;
  byId("message").hidden = !text;
}

async function request(place, body) {
  let found;
  try {
    const reply = await fetch(place, body === undefined ? {} : { method: "POST", body });
    found = await reply.json();
    if (!reply.ok) throw new Error(found.error);
  } catch (error) {
    showMessage(error instanceof TypeError ? "The program does not respond. Check that it is still running." : error.message);
    return false;
  }
  render(found);
  clearTimeout(timer);
  if (found.progress) timer = setTimeout(() => request("state"), INTERVAL);
  return true;
}

function send(place, body = "") {
  showMessage("");
  return request(place, body);
}

async function upload(place, files) {
  const total = files.reduce((sum, file) => sum + file.size, 0);
  if (total > LIMIT) return showMessage(`These files have ${formatSize(total)}; the limit is ${formatSize(LIMIT)} (--max-size).`);
  for (const [index, file] of files.entries()) {
    const more = index ? "&more=1" : "";
    if (!await send(`${place}?name=${encodeURIComponent(file.name)}${more}`, file)) return;
  }
}

function chosenOptions() {
  const fields = ["domain", "method", "worker", "task", "label"];
  return Object.fromEntries(fields.map((name) => [name, byId(name).value.trim()]));
}

// Rendering

function render(found) {
  const before = state;
  state = found;
  renderProgress(before);
  if (before && before.version === found.version) return;
  const hasInput = found.files.length > 0 || Boolean(found.result);
  byId("drop").hidden = hasInput;
  byId("uploaded").hidden = !hasInput;
  byId("form").hidden = !found.files.length;
  byId("input-title").textContent = found.folder ? "Saved result" : "Answers";
  const listed = found.files.map((file) => [element("b", {}, file.name), ` ${formatSize(file.size)}`]);
  byId("names").replaceChildren(...listed.flatMap((parts, index) => (index ? [", ", ...parts] : parts)));
  if (found.folder) byId("names").replaceChildren(element("b", {}, found.folder));
  byId("gold-name").replaceChildren("Gold labels ", element("small", {}, found.gold || "a file with task and label"));
  renderProblem(found.error);
  renderResult(found.result, before);
  document.documentElement.dataset.ready = found.progress ? "" : "yes";
}

function renderProgress(before) {
  const progress = state.progress;
  byId("work").hidden = !progress;
  byId("run").disabled = Boolean(progress);
  if (!progress) return;
  const text = progress.stage[0].toUpperCase() + progress.stage.slice(1) + (progress.count ? `: ${progress.count}` : " \u2026");
  if (byId("stage").textContent !== text) byId("stage").textContent = text;
  if (progress.total) Object.assign(byId("bar"), { max: progress.total, value: progress.done });
  else byId("bar").removeAttribute("value");
  if (before && !before.progress) byId("cancel").focus();
}

function renderProblem(error) {
  byId("problem").hidden = !error;
  if (!error) return;
  byId("problem-title").textContent = error.suggestions.length ? "Choose an option" : "Error";
  byId("problem-message").textContent = error.message;
  byId("problem-lines").textContent = error.lines.join("\n");
  byId("problem-lines").hidden = !error.lines.length;
  byId("suggestions").hidden = !error.suggestions.length;
  byId("suggestions").replaceChildren(...error.suggestions.map(({ title, preview }, index) => {
    const button = element("button", { type: "button", class: index ? "" : "primary" }, title);
    button.addEventListener("click", () => send("run", JSON.stringify({ suggestion: index })));
    return element("li", {}, button, preview ? element("small", {}, ` ${preview}`) : "");
  }));
}

function renderResult(result, before) {
  byId("result").hidden = !result;
  byId("frame").hidden = byId("open-report").hidden = !(result && result.page);
  const frame = result && result.page ? `report?${state.version}` : "";
  if (frame !== shownFrame) {
    shownFrame = frame;
    if (frame) byId("frame").src = frame;
    else byId("frame").removeAttribute("src");
  }
  if (!result) return;
  byId("result-facts").replaceChildren(...result.facts.map((fact) => element("span", {}, fact)));
  byId("notes").replaceChildren(...result.notes.map((note) => element("li", {}, note)));
  byId("notes-box").hidden = !result.notes.length;
  byId("files").replaceChildren(...result.files.map(({ name, size }) => element("li", {},
    element("a", { class: "button", href: `files/${encodeURIComponent(name)}`, download: "" }, name, " ", element("small", {}, formatSize(size))))));
  if (before && before.progress) byId("result-title").focus();
}

// Events

function explainMethod() {
  const option = byId("method").selectedOptions[0];
  byId("method-hint").textContent = option ? `Method ${option.value}: ${option.title}.` : "";
}

byId("method").addEventListener("change", explainMethod);
byId("cancel").addEventListener("click", () => send("cancel"));
byId("clear").addEventListener("click", () => send("clear"));
byId("form").addEventListener("submit", (event) => {
  event.preventDefault();
  send("run", JSON.stringify({ options: chosenOptions() }));
});
for (const place of ["answers", "gold"]) {
  byId(place).addEventListener("change", () => { const files = [...byId(place).files]; byId(place).value = ""; upload(place, files); });
}
let inside = 0;
for (const [event, step] of [["dragenter", 1], ["dragleave", -1]]) {
  document.addEventListener(event, () => { inside += step; byId("drop").classList.toggle("over", inside > 0); });
}
document.addEventListener("dragover", (event) => event.preventDefault()); // otherwise the browser opens the file
document.addEventListener("drop", (event) => {
  event.preventDefault();
  inside = 0;
  byId("drop").classList.remove("over");
  if (!state || !state.progress) upload("answers", [...event.dataTransfer.files]);
});
explainMethod();
request("state");
