// The page: what is looked at, and what opens what.

const data = JSON.parse(document.getElementById("data").textContent);
const report = document.getElementById("report");
const byId = (id) => document.getElementById(id);

for (const told of data.recordings) {
  for (const policy of told.policies) {
    policy.known = unrolled(policy.fates);
    policy.bySeq = new Map(policy.changed.map((each) => [each[0], each]));
  }
}

const state = { told: null, styles: {}, hidden: {}, request: 1, policy: 0, pass: -1, from: 0, dim: null, entry: -1 };
let cursors = [];

const isNarrow = () => report.clientWidth < 560;
const cellsShown = () => (isNarrow() ? 240 : 1200);
const shown = () => state.told.policies.filter((policy) => !state.hidden[policy.name]);

function choose(told) {
  Object.assign(state, { told, styles: stylesOf(told.policies), hidden: Object.create(null), request: told.requests,
    policy: mostActive(told), pass: -1, from: 0, dim: null, entry: -1 });
  build();
}

// The policy whose passes are worth a look.
function mostActive(told) {
  return Math.max(0, told.policies.findIndex((each) => each.passes.length));
}

function section(id, title, about, ...children) {
  return el("section", { class: "card", "aria-labelledby": id }, el("h2", { id }, title), about ? hint(about) : null, ...children);
}

// Passes.

function passes() {
  const told = state.told;
  const lists = told.policies.map((policy, at) => (policy.passes.length
    ? passList(policy, state.styles[policy.name], at === state.policy, (index) => openPass(at, index)) : null)).filter(Boolean);
  byId("passlists").replaceChildren(...(lists.length ? lists : [hint("No policy made any.")]));
}

function openPass(policy, index) {
  const told = state.told, pass = told.policies[policy].passes[index];
  Object.assign(state, { policy, pass: index, entry: -1, dim: null });
  byId("passdetail").replaceChildren(...passDetail(told, told.policies[policy], pass, openEntry));
  for (const each of document.querySelectorAll(".pass")) each.setAttribute("aria-expanded", "false");
  const lists = [...document.querySelectorAll(".passlist")], withPasses = told.policies.filter((each) => each.passes.length);
  const list = lists[withPasses.indexOf(told.policies[policy])], buttons = [...list.querySelectorAll("button")];
  list.open = true;
  buttons[index].setAttribute("aria-expanded", "true");
  focusOne(buttons, index);
  entries();
  moveCursor(pass.request);
}

function closePass() {
  state.pass = -1;
  byId("passdetail").replaceChildren();
  for (const each of document.querySelectorAll(".pass")) each.setAttribute("aria-expanded", "false");
}

// Entries.

function entries() {
  const told = state.told, policy = told.policies[state.policy], host = byId("entrymap"), all = told.entries.kinds.length;
  const most = cellsShown();
  state.from = most * Math.floor(state.from / most);
  const notes = [];
  if (told.entries.left_out) notes.push(`${whole(told.entries.left_out)} entries that follow are left out, to keep the page small.`);
  if (told.text_chars < 6000 && told.text_chars) notes.push(`Texts are cut at ${whole(told.text_chars)} characters, to keep the page small.`);
  host.replaceChildren(policyPicker(told), fateLegend(told, policy, state.dim, only), ...(all > most ? [turns(all, most)] : []),
    entryMap(told, policy, state.from, most, state.dim, openEntry), ...notes.map(hint));
  const changed = state.pass < 0 ? [] : policy.passes[state.pass].seqs;
  for (const seq of changed) mark(host, seq, "hit");
  if (state.entry >= 0) {
    host.append(entryDetail(told, policy, state.entry, openEntry, closeEntry));
    mark(host, state.entry, "open");
  }
}

function mark(host, seq, style) {
  const cell = host.querySelector(`[data-seq="${seq}"]`);
  if (cell) cell.classList.add(style);
}

function policyPicker(told) {
  const pick = (event) => {
    Object.assign(state, { policy: Number(event.target.value), dim: null });
    closePass();
    entries();
    byId("which").focus();
  };
  return el("div", { class: "controls" }, el("label", { for: "which" }, "Policy "), el("select", { id: "which", onchange: pick },
    ...told.policies.map((each, at) => el("option", { value: at, selected: at === state.policy }, each.name))));
}

function turns(all, most) {
  const turn = (to, words) => el("button", { type: "button", disabled: to < 0 || to >= all, onclick: () => { state.from = to; entries(); } }, words);
  return el("div", { class: "moves" }, turn(state.from - most, "← Earlier"),
    el("span", {}, `${whole(state.from)} to ${whole(Math.min(all, state.from + most) - 1)} of ${whole(all)}`), turn(state.from + most, "Later →"));
}

function only(group) {
  state.dim = state.dim === group ? null : group;
  entries();
  document.querySelector(`.key[data-group="${group}"]`).focus();
}

function openEntry(seq) {
  Object.assign(state, { entry: seq, from: seq });
  entries();
  const title = byId("entry");
  title.focus({ preventScroll: true });
  title.scrollIntoView({ block: "nearest" });
}

function closeEntry() {
  const seq = state.entry;
  state.entry = -1;
  entries();
  const cells = [...document.querySelectorAll(".map .cell")];
  focusOne(cells, Math.max(0, cells.findIndex((cell) => Number(cell.dataset.seq) === seq)));
}

function start() {
  if (!data.recordings.length) return;
  const all = data.totals.length ? overview() : null;
  report.append(...(all ? all.nodes : []), el("div", { id: "one" }));
  if (all) linkSums();
  choose(data.recordings[data.first]);
  const drawAll = () => { if (all) all.draw(); };
  drawAll();
  let width = report.clientWidth;
  new ResizeObserver(() => {
    if (report.clientWidth === width) return;
    width = report.clientWidth;
    drawAll();
    draw();
    entries();
  }).observe(report);
}

start();
