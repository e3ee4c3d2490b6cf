"use strict";
// The page asks the server what lies on its desk, shows that, and says what the person chose. Text is only ever text.

const byId = (id) => document.getElementById(id);
const LIMIT = Number(document.body.dataset.limit);
const ROLES = ["worker", "task", "label"];
const LISTED = ["levels", "abstain", "only", "skip", "na"]; // texts with commas
const MORE = ["tag", "worker_from", "repeats", "decimal", "encoding", "tool"];
const ON_PAGE = ["wide", "domain", "rule", "method", "missing", ...MORE];
const OF_GOLD = ["gold_columns", "gold_map", "use_gold"]; // what is said of known truths, until there are others
const SETTLED = [...ON_PAGE, ...LISTED, "columns", "gold", ...OF_GOLD];
const WAIT = 250; // milliseconds between two looks at what is under way

let state = null;
let further = {}; // choices that have no control of their own
let shownFrame = "";
let asking = null;

function element(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function size(bytes) {
  const steps = [[1e6, "MB"], [1e3, "kB"]].find(([step]) => bytes >= step);
  return steps ? `${(bytes / steps[0]).toFixed(1)} ${steps[1]}` : `${bytes} bytes`;
}

const whole = (number) => number.toLocaleString("en");

function say(what) {
  byId("message").textContent = what;
  byId("message").hidden = !what;
}

async function ask(place, body) {
  const posted = body === undefined ? {} : { method: "POST", body };
  let answer;
  try {
    const reply = await fetch(place, posted);
    answer = await reply.json();
    if (!reply.ok) throw new Error(answer.error);
  } catch (error) {
    say(error instanceof TypeError ? "The program does not answer. Is it still running?" : error.message);
    return false;
  }
  render(answer);
  return true;
}

async function watch() {
  clearTimeout(asking);
  if (await ask("state") && state.doing) asking = setTimeout(watch, WAIT);
}

async function order(place, body = "") {
  say("");
  const done = await ask(place, body);
  clearTimeout(asking);
  if (state && state.doing) asking = setTimeout(watch, WAIT);
  return done;
}

function isTooLarge(files) {
  const total = files.reduce((sum, file) => sum + file.size, 0);
  if (total > LIMIT) say(`These are ${size(total)}, and at most ${size(LIMIT)} are taken (--max-size).`);
  return total > LIMIT;
}

async function handIn(files) {
  if (!files.length || isTooLarge(files)) return;
  further = {};
  byId("force").checked = false;
  for (const [place, file] of files.entries()) {
    const more = place ? "&more=1" : "";
    if (!await order(`answers?name=${encodeURIComponent(file.name)}${more}`, file)) return;
  }
  await order("preview", "{}");
}

async function handInGold(files) {
  if (!files.length || isTooLarge(files)) return;
  if (await order(`gold?name=${encodeURIComponent(files[0].name)}`, files[0])) await readOtherGold();
}

function choices() {
  const chosen = { ...further, columns: { ...further.columns }, gold: byId("gold-column").value };
  for (const role of ROLES) chosen.columns[role] = byId(role).value;
  for (const name of ON_PAGE) chosen[name] = byId(name).value;
  for (const name of LISTED) chosen[name] = byId(name).value.split(",").map((each) => each.trim()).filter(Boolean);
  return chosen;
}

const previewAgain = () => order("preview", JSON.stringify(choices()));

const isOfGold = (settles) => Object.keys(settles).every((name) => OF_GOLD.includes(name));

function readOtherGold() {
  for (const name of OF_GOLD) delete further[name];
  return previewAgain();
}

function settle(settles) {
  const chosen = choices();
  const columns = { ...chosen.columns, ...settles.columns };
  further = { ...further, ...settles, columns };
  const goesOn = state.error && isOfGold(settles); // the answers are read already
  order(goesOn ? "run" : "preview", JSON.stringify({ ...chosen, ...settles, columns, force: byId("force").checked }));
}

// What is shown

const problem = () => state.error || (state.reading && (state.reading.question || state.reading.instead)) || null;

function render(found) {
  const before = state;
  state = found;
  byId("hand-in").classList.toggle("done", found.files.length > 0 || Boolean(found.result));
  byId("drop").hidden = found.files.length > 0 || Boolean(found.result);
  byId("handed").hidden = !byId("drop").hidden;
  renderWork();
  if (before && before.version === found.version) return;
  renderNames();
  renderProblem();
  renderReading();
  renderResult(before);
  document.documentElement.dataset.ready = found.doing ? "" : "yes";
}

function renderNames() {
  const listed = state.files.map((file) => [element("b", {}, file.name), ` ${size(file.size)}`]);
  byId("names").replaceChildren(...listed.flatMap((parts, place) => (place ? [", ", ...parts] : parts)));
  if (state.folder) byId("names").replaceChildren(element("b", {}, state.folder));
  byId("hand-in-title").textContent = state.folder ? "A result that was saved" : "Your answers";
}

function renderWork() {
  const doing = state.doing;
  byId("work").hidden = !doing;
  byId("run").disabled = Boolean(doing) || !canRun();
  if (!doing) return;
  const { stage, round, done, total } = state.progress;
  byId("work-title").textContent = doing === "preview" ? "Reading" : doing === "run" ? "Finding the truths" : "Writing the report";
  const count = total ? `: ${round ? "round " : ""}${whole(done)} of ${round ? "at most " : ""}${whole(total)}` : " \u2026";
  const text = stage[0].toUpperCase() + stage.slice(1) + count;
  if (byId("stage").textContent !== text) byId("stage").textContent = text;
  if (total) Object.assign(byId("bar"), { max: total, value: done });
  else byId("bar").removeAttribute("value");
}

const canRun = () => Boolean(state.reading && !state.reading.question) && (byId("force-field").hidden || byId("force").checked);

function renderProblem() {
  const asked = state.doing ? null : problem();
  byId("problem").hidden = !asked;
  if (!asked) return;
  const offered = asked.proposals.filter(({ settles }) => Object.keys(settles).every((name) => SETTLED.includes(name)));
  byId("problem-title").textContent = offered.length ? "A question first" : "This does not work yet";
  byId("problem-what").textContent = asked.what;
  const seen = state.reading && state.reading.rows; // the rows themselves are shown below
  const lines = asked.lines.filter((line) => !seen || !line.startsWith("  "));
  byId("problem-lines").textContent = lines.join("\n");
  byId("problem-lines").hidden = !lines.length;
  byId("settle").hidden = !offered.length;
  byId("settle").replaceChildren(...offered.map(renderProposal));
}

function renderProposal({ settles, gives }, place) {
  const said = Object.entries(settles).map(([name, value]) => written(name, value)).join(", ");
  const purpose = isOfGold(settles) && gives; // which says more than the options
  const button = element("button", { type: "button", class: place ? "" : "primary" }, purpose || `Take ${said}`);
  button.addEventListener("click", () => settle(settles));
  return element("li", {}, button, gives && !purpose ? element("small", {}, ` ${gives}`) : "");
}

function written(name, value) {
  const isObject = typeof value === "object" && !Array.isArray(value);
  return isObject ? Object.entries(value).map(([role, column]) => `${role} = ${column}`).join(", ") : `${name} = ${value}`;
}

function offer(id, names, first, chosen) {
  const select = byId(id);
  const options = names.map((name) => element("option", { value: name }, name));
  select.replaceChildren(element("option", { value: "" }, first), ...options);
  select.value = names.includes(chosen) ? chosen : "";
}

function choose(id, value) { // also what is not offered, such as a kind with options
  const select = byId(id);
  if (![...select.options].some((option) => option.value === value)) select.append(element("option", { value }, value));
  select.value = value;
}

function renderReading() {
  const reading = state.reading;
  byId("reading").hidden = !reading || !(reading.columns || reading.facts);
  if (!reading) return;
  const chosen = state.choices;
  byId("reading-facts").replaceChildren(...(reading.facts || []).map((fact) => element("span", {}, fact)));
  byId("notes").replaceChildren(...(reading.notes || []).map((note) => element("li", {}, note)));
  const stops = reading.stops || [];
  const doubts = [...stops, ...(reading.doubts || [])];
  byId("doubts").hidden = !doubts.length;
  byId("doubts").classList.toggle("stop", stops.length > 0);
  byId("doubts").replaceChildren(...doubts.map((doubt) => element("p", {}, doubt)));
  byId("force-field").hidden = !stops.length && !(state.error && state.error.proposals.some(({ settles }) => settles.force));
  const picked = reading.picked || {};
  for (const role of ROLES) {
    offer(role, reading.columns || [], picked[role] ? `recognised: ${picked[role]}` : "as recognised", (chosen.columns || {})[role]);
  }
  offer("gold-column", reading.columns || [], "none", chosen.gold);
  offer("rule", reading.rules || [], reading.rule ? `usual: ${reading.rules[0]}` : "the usual one", chosen.rule);
  byId("domain").options[0].textContent = reading.domain && !chosen.domain ? `recognised: ${reading.domain}` : "as recognised";
  choose("domain", chosen.domain || "");
  byId("wide").value = chosen.wide || "";
  byId("missing").value = chosen.missing === "drop" ? "drop" : "";
  for (const name of MORE) {
    if (byId(name).options) choose(name, chosen[name] || "");
    else byId(name).value = chosen[name] || "";
  }
  for (const name of LISTED) byId(name).value = [chosen[name] || []].flat().join(", ");
  byId("more").open = byId("more").open || [...MORE, "only", "skip", "na"].some((name) => byId(name).value);
  for (const option of byId("method").options) option.disabled = Boolean(reading.methods) && !reading.methods.includes(option.value);
  byId("method").value = chosen.method || "auto";
  explainMethod();
  renderGold();
  renderSample(reading, reading.picked || (problem() && problem().proposals.length && problem().proposals[0].settles.columns) || {});
  byId("run").disabled = Boolean(state.doing) || !canRun();
}

function renderGold() {
  byId("gold-said").replaceChildren("In a file", element("small", {}, state.gold || "with task and label"));
  byId("no-gold").hidden = !state.gold;
}

function explainMethod() {
  const option = byId("method").selectedOptions[0];
  byId("method-hint").textContent = option ? `${option.value}: ${option.title}` : "";
}

function renderSample(reading, picked) {
  const columns = (reading.columns || []).slice(0, reading.rows && reading.rows.length ? reading.rows[0].length : 0);
  const roles = columns.map((name) => ROLES.filter((role) => picked[role] === name).join(", "));
  const marked = (place) => (roles[place] ? { class: "role" } : {});
  const heads = columns.map((name, place) => element("th", { scope: "col", ...marked(place) }, element("small", {}, roles[place]), name));
  const rows = (reading.rows || []).map((row) => element("tr", {}, ...row.map((cell, place) => element("td", { title: cell, ...marked(place) }, cell))));
  byId("sample").hidden = !columns.length;
  byId("sample").querySelector("thead").replaceChildren(element("tr", {}, ...heads));
  byId("sample").querySelector("tbody").replaceChildren(...rows);
  byId("left-out").hidden = !reading.left_out;
  byId("left-out").textContent = `${reading.left_out} more columns are not shown.`;
}

function renderResult(before) {
  const result = state.result;
  byId("result").hidden = !result;
  byId("frame").hidden = !(result && result.page);
  byId("open-report").hidden = byId("frame").hidden;
  const frame = result && result.page ? `report?${state.version}` : "";
  if (frame !== shownFrame) {
    shownFrame = frame;
    if (frame) byId("frame").src = frame;
    else byId("frame").removeAttribute("src");
  }
  byId("reading-details").open = !result && state.doing !== "run";
  if (state.doing === "run" && !(before && before.doing === "run")) byId("cancel").focus();
  if (!result) return;
  byId("result-facts").replaceChildren(...result.facts.map((fact) => element("span", {}, fact)));
  byId("result-notes").replaceChildren(...result.notes.map((note) => element("li", {}, note)));
  byId("files").replaceChildren(...result.files.map((file) => element("li", {}, element("a", { class: "button", href: `files/${encodeURIComponent(file.name)}`, download: "" }, file.name, " ", element("small", {}, size(file.size))))));
  if (before && before.doing === "run") byId("result-title").focus();
}

// What the person does

byId("domain").addEventListener("change", () => { byId("rule").value = ""; }); // another kind has other rules
byId("wide").addEventListener("change", () => ROLES.forEach((role) => { byId(role).value = ""; }));
byId("gold-column").addEventListener("change", readOtherGold);
for (const role of [...ROLES, "wide", "domain", "rule", "missing", ...MORE, ...LISTED]) byId(role).addEventListener("change", previewAgain);
byId("method").addEventListener("change", explainMethod);
byId("force").addEventListener("change", () => { byId("run").disabled = Boolean(state.doing) || !canRun(); });
byId("cancel").addEventListener("click", () => order("cancel"));
byId("clear").addEventListener("click", () => order("clear"));
byId("no-gold").addEventListener("click", async () => { if (await order("no-gold")) readOtherGold(); });
byId("choices").addEventListener("submit", (event) => {
  event.preventDefault();
  order("run", JSON.stringify({ ...choices(), force: byId("force").checked }));
});
for (const [id, take] of [["answers", handIn], ["gold", handInGold]]) {
  byId(id).addEventListener("change", () => { const files = [...byId(id).files]; byId(id).value = ""; take(files); });
}
let inside = 0;
for (const [event, step] of [["dragenter", 1], ["dragleave", -1]]) {
  document.addEventListener(event, () => { inside += step; byId("drop").classList.toggle("over", inside > 0); });
}
document.addEventListener("dragover", (event) => event.preventDefault()); // or the browser would open the file
document.addEventListener("drop", (event) => {
  event.preventDefault();
  inside = 0;
  byId("drop").classList.remove("over");
  if (!state || state.doing !== "run") handIn([...event.dataTransfer.files]);
});
watch();
