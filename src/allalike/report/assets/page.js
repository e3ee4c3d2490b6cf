// Switches, filters and buttons of the page.

const workerList = workersTable(), taskList = tasksTable();
const matrix = data.matrix && byId("matrix") ? new Matrix(byId("matrix"), byId("matrix-hint")) : null;

function filterWorkers() {
  const wanted = byId("workers-search").value.trim().toLowerCase(), flagged = byId("workers-flagged").checked;
  const flags = data.workers.flags;
  workerList.filter((row) => (!flagged || flags[row].length > 0) && `${workerName(row)} ${flags[row].join(" ")}`.toLowerCase().includes(wanted));
}

// The slider filters by confidence, or by the width of intervals, widest first.
const widths = data.tasks.low ? data.tasks.low.map((low, row) => (low === null ? 0 : data.tasks.high[row] - low)) : null;
const widthsInOrder = widths ? [...widths].sort((a, b) => a - b) : null;
const hasSureness = widths ? widthsInOrder.at(-1) > 0 : data.tasks.sure.some((sure) => sure !== null);

function sliderTest() {
  const share = Number(byId("tasks-sure").value) / 100;
  if (!widths) {
    byId("slider-text").textContent = `${data.sureness[0].toUpperCase()}${data.sureness.slice(1)} at most ${percent(share)}`;
    return (row) => share === 1 || (data.tasks.sure[row] !== null && data.tasks.sure[row] <= share);
  }
  const least = share === 1 ? 0 : widthsInOrder[Math.min(Math.floor((1 - share) * widths.length), widths.length - 1)];
  byId("slider-text").textContent = `interval at least ${number(least, 2)} wide`;
  return (row) => widths[row] >= least;
}

function filterTasks() {
  const wanted = byId("tasks-search").value.trim().toLowerCase(), changed = byId("tasks-changed").checked ? new Set(data.tasks.changed) : null;
  const fits = hasSureness ? sliderTest() : () => true, { id, label } = data.tasks;
  taskList.filter((row) => (!changed || changed.has(row)) && fits(row) && (!wanted || id[row].toLowerCase().includes(wanted) || labelText(label[row]).toLowerCase().includes(wanted)));
}

function hideNames() {
  namesHidden = byId("hide-names").checked;
  for (const node of document.querySelectorAll("[data-name]")) node.textContent = node.title = workerName(Number(node.dataset.name));
  renameMarks();
  filterWorkers();
  if (matrix && !byId("matrix-figure").hidden) {
    matrix.draw();
    matrix.describe();
  }
  if (byId("panel").open && panelAgain) panelAgain();
}

function showMatrix(shown) {
  byId("matrix-figure").hidden = !shown;
  byId("map-figure").hidden = shown;
  byId("show-matrix").setAttribute("aria-pressed", shown);
  byId("show-map").setAttribute("aria-pressed", !shown);
  if (shown) matrix.draw();
}

async function copyParagraph() {
  const text = [byId("paragraph"), ...document.querySelectorAll(".source")].map((each) => each.textContent).join("\n\n");
  try {
    await navigator.clipboard.writeText(text);
    byId("copied").textContent = "Copied.";
  } catch {
    getSelection().selectAllChildren(byId("paragraph"));
    byId("copied").textContent = "Selected: copy it with your keyboard.";
  }
}

document.querySelectorAll("[data-panel-table]").forEach((place) => panelTable(place, data.panel[place.dataset.panelTable]));
document.querySelectorAll("[data-workers]").forEach((place) => place.append(...data.advice[place.dataset.workers].workers.map((worker) => workerButton(worker, "chip"))));
document.querySelectorAll("[data-tasks]").forEach((place) => place.append(...data.advice[place.dataset.tasks].tasks.map((task) => taskButton(task, "chip"))));
document.querySelectorAll(".chart").forEach(wakeChart);
renameMarks();
byId("slider-field").hidden = !hasSureness;
filterTasks();

for (const [id, event, act] of [
  ["workers-search", "input", filterWorkers], ["workers-flagged", "change", filterWorkers],
  ["tasks-search", "input", filterTasks], ["tasks-changed", "change", filterTasks], ["tasks-sure", "input", filterTasks],
  ["hide-names", "change", hideNames], ["copy-paragraph", "click", copyParagraph],
  ["panel-close", "click", () => byId("panel").close()],
  ["show-map", "click", () => showMatrix(false)], ["show-matrix", "click", () => showMatrix(true)],
]) byId(id)?.addEventListener(event, act);
byId("panel").addEventListener("click", (event) => { if (event.target === byId("panel")) byId("panel").close(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => matrix && !byId("matrix-figure").hidden && matrix.draw());
document.documentElement.dataset.ready = "yes";
