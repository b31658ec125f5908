// The page: chooses a recording, draws its charts, keeps one cursor for all of them.

const data = JSON.parse(document.getElementById("data").textContent);
const report = document.getElementById("report");
const STYLES = 8;

for (const told of data.recordings) {
  for (const policy of told.policies) {
    policy.known = unrolled(policy.fates);
    policy.bySeq = new Map(policy.changed.map((each) => [each[0], each]));
  }
}

const state = { told: data.recordings[0], hidden: {}, request: 1, policy: 0, pass: -1, from: 0, dim: null, entry: -1 };
let cursors = [];

// Nothing done is grey; the others have a colour each, whatever is hidden.
function stylesOf(told) {
  const styles = {};
  let next = 1;
  for (const policy of told.policies) styles[policy.name] = policy.name === "none" ? "c0" : "c" + (1 + ((next++ - 1) % (STYLES - 1)));
  return styles;
}

function choose(told) {
  Object.assign(state, { told, hidden: {}, request: told.requests, policy: mostActive(told), pass: -1, from: 0, dim: null, entry: -1 });
  build();
}

// The policy whose passes are worth a look.
function mostActive(told) {
  const own = told.policies.findIndex((each) => each.passes.length && each.series);
  return own < 0 ? 0 : own;
}

const shown = () => state.told.policies.filter((policy) => !state.hidden[policy.name]);

function section(id, title, hint, ...children) {
  return el("section", { class: "card", "aria-labelledby": id }, el("h2", { id }, title), hint ? el("p", { class: "hint" }, hint) : null, ...children);
}

function build() {
  const told = state.told;
  report.replaceChildren(
    el("p", { class: "meta" }, [told.format, told.model || "model not known", `cache ${told.cache}`,
      told.window ? `window ${whole(told.window)}` : "no window", counted(told.requests, "request", "requests")].join(" · ")),
    told.notes.length ? el("details", { class: "notes" }, el("summary", {}, counted(told.notes.length, "note", "notes") + " on this recording"),
      el("ul", {}, ...told.notes.map((note) => el("li", {}, note)))) : "",
    el("div", { id: "tiles", class: "tiles", role: "group", "aria-label": "Policies; press to hide or show" }),
    section("context", "Context size", "Tokens of each prompt. Triangles are passes: they open below.",
      el("div", { id: "size", class: "plot", tabindex: 0, role: "slider", "aria-label": "Request" }),
      el("div", { id: "readout", class: "readout" }), drawnHint(told)),
    section("passes", "Passes", null, el("div", { id: "passlists" })),
    section("served", "Cached, written, uncached", null, servedLegend(), el("div", { id: "areas", class: "areas" })),
    el("div", { class: "pair" },
      section("cost", "Cumulative cost", "Of the prompts alone; answers cost the same under every policy.", el("div", { id: "costs", class: "plot" })),
      section("frontier", "Cost against regret", "Lower left is better. The line joins what no other policy beats in both; small dots are those that recommend compares.",
        el("div", { id: "regret", class: "plot" }))),
    section("entries", "Entries", "What became of each at the last request; bars are tokens, on a logarithmic scale.", el("div", { id: "entrymap" })),
  );
  const size = document.getElementById("size");
  size.addEventListener("keydown", stepCursor);
  for (const id of ["size", "costs"]) follow(document.getElementById(id));
  tiles();
  draw();
  passes();
  entries();
}

function drawnHint(told) {
  const most = Math.max(...told.policies.map((policy) => policy.series.request.length));
  if (most >= told.requests) return null;
  return el("p", { class: "hint" }, `Of ${whole(told.requests)} requests at most ${whole(most)} are drawn: of neighbours the longest and the shortest.`);
}

function servedLegend() {
  const keys = [["cached", "read from the cache"], ["written", "written to it"], ["uncached", "neither"]];
  return el("p", { class: "hint legend" }, ...keys.map(([name, words]) => el("span", {}, el("span", { class: "block " + name }), words)));
}

function tiles() {
  const styles = stylesOf(state.told);
  document.getElementById("tiles").replaceChildren(...state.told.policies.map((policy) => {
    const sums = policy.sums, over = sums.overflow_requests;
    const facts = [counted(sums.passes, "pass", "passes"), counted(sums.breaks, "break", "breaks"), percent(sums.regret) + " regret"];
    return el("button", { type: "button", class: "tile", "aria-pressed": String(!state.hidden[policy.name]), "data-policy": policy.name, onclick: () => toggle(policy.name) },
      el("span", { class: "name" }, el("span", { class: "swatch " + styles[policy.name] }), policy.name),
      el("span", { class: "price" }, dollars(sums.cost_nano)),
      el("span", { class: "facts" }, policy.name === "none" ? "nothing is changed" : `${sums.cost_to_none.toFixed(2)} × doing nothing`),
      el("span", { class: "facts" }, facts.join(" · ")),
      over ? el("span", { class: "facts warn" }, counted(over, "request", "requests") + " over the window") : null);
  }));
}

function toggle(name) {
  state.hidden[name] = !state.hidden[name];
  tiles();
  draw();
  [...document.querySelectorAll(".tile")].find((each) => each.dataset.policy === name).focus();
}

function draw() {
  const told = state.told, styles = stylesOf(told), policies = shown();
  cursors = [];
  const series = (column) => policies.map((policy) => ({ name: policy.name, style: styles[policy.name], x: policy.series.request, y: policy.series[column] }));
  const marks = policies.flatMap((policy) => policy.passes.map((pass, index) => ({ request: pass.request, sent: sentAt(policy.series, pass.request),
    style: styles[policy.name], index, title: passWords(policy, pass), open: () => openPass(told.policies.indexOf(policy), index) })));
  plot("size", (width) => lineChart(width, { series: series("sent"), last: told.requests, format: short, marks,
    rule: told.window ? { at: told.window, name: "window" } : null, label: sizeWords(policies) }));
  plot("costs", (width) => lineChart(width, { series: series("cost"), last: told.requests, format: (value) => dollars(value), label: costWords(policies) }));
  const regret = document.getElementById("regret");
  regret.replaceChildren(frontierChart(regret.clientWidth, told, styles));
  const most = Math.max(1, ...policies.flatMap((policy) => policy.series.sent));
  const areas = document.getElementById("areas");
  areas.replaceChildren(...policies.map((policy) => el("figure", {}, el("figcaption", {}, el("span", { class: "swatch " + styles[policy.name] }), policy.name))));
  policies.forEach((policy, i) => areas.children[i].append(areaChart(areas.children[i].clientWidth, policy.series, told.requests, most, servedWords(policy))));
  moveCursor(state.request);
}

function plot(id, make) {
  const host = document.getElementById(id), chart = make(host.clientWidth);
  host.replaceChildren(chart.root);
  host.chart = chart;
  cursors.push(chart.place);
}

const sizeWords = (policies) => "Context size: " + policies.map((policy) => `${policy.name} at most ${whole(Math.max(0, ...policy.series.sent))} tokens, ${counted(policy.sums.passes, "pass", "passes")}`).join("; ");
const costWords = (policies) => "Cumulative cost: " + policies.map((policy) => `${policy.name} ${dollars(policy.sums.cost_nano, 4)}`).join("; ");
const servedWords = ({ name, sums }) => `${name}: ${whole(sums.cached)} tokens cached, ${whole(sums.written)} written, ${whole(sums.uncached)} uncached`;

function follow(host) {
  host.addEventListener("pointermove", (event) => {
    if (host.chart) moveCursor(host.chart.request(event.clientX - host.getBoundingClientRect().left));
  });
}

function stepCursor(event) {
  const last = state.told.requests, page = Math.max(1, Math.round(last / 10));
  const to = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: page, PageDown: -page, Home: -last, End: last }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  moveCursor(state.request + to);
}

function moveCursor(request) {
  const told = state.told, styles = stylesOf(told);
  state.request = Math.max(1, Math.min(told.requests, request));
  for (const place of cursors) place(state.request);
  const rows = shown().map((policy) => {
    const series = policy.series, i = indexAt(series, state.request);
    if (i < 0) return null;
    const near = series.request[i] === state.request ? "" : ` (request ${whole(series.request[i])})`;
    const words = `${policy.name} ${whole(series.sent[i])}`;
    return { words, node: el("span", {}, el("span", { class: "swatch " + styles[policy.name] }), `${words}${near}, ${whole(series.cached[i])} cached, ${dollars(series.cost[i])} so far`) };
  }).filter(Boolean);
  const slider = document.getElementById("size"), title = `Request ${whole(state.request)} of ${whole(told.requests)}`;
  document.getElementById("readout").replaceChildren(el("b", {}, title), ...rows.map((row) => row.node));
  for (const [name, value] of [["min", 1], ["max", told.requests], ["now", state.request]]) slider.setAttribute("aria-value" + name, value);
  slider.setAttribute("aria-valuetext", `${title}: ` + rows.map((row) => row.words + " tokens").join(", "));
}

function passes() {
  const told = state.told, styles = stylesOf(told), host = document.getElementById("passlists"), open = told.policies[state.policy];
  const lists = told.policies.map((policy, at) => {
    if (!policy.passes.length) return null;
    const more = policy.passes_left_out ? el("p", { class: "hint" }, `and ${whole(policy.passes_left_out)} that freed less`) : null;
    return el("div", { class: "passlist" }, el("h3", {}, `${policy.name}: ${counted(policy.sums.passes, "pass", "passes")}`),
      passList(policy, styles[policy.name], (index) => openPass(at, index)), more);
  }).filter(Boolean);
  const detail = state.pass < 0 ? null : passDetail(told, open, open.passes[state.pass], (seq) => openEntry(seq));
  host.replaceChildren(...(lists.length ? lists : [el("p", { class: "hint" }, "No policy made any.")]), ...(detail ? [detail] : []));
  for (const mark of document.querySelectorAll(".pass[data-pass]")) mark.setAttribute("aria-expanded", "false");
  if (detail) {
    const list = [...host.querySelectorAll(".passlist")][told.policies.filter((policy) => policy.passes.length).indexOf(open)];
    const button = list.querySelectorAll("button")[state.pass];
    button.setAttribute("aria-expanded", "true");
    focusOne([...list.querySelectorAll("button")], state.pass);
  }
}

function openPass(policy, index) {
  Object.assign(state, { policy, pass: index, entry: -1, dim: null });
  passes();
  entries();
  moveCursor(state.told.policies[policy].passes[index].request);
}

function entries() {
  const told = state.told, policy = told.policies[state.policy], host = document.getElementById("entrymap"), all = told.entries.kinds.length;
  const pick = el("select", { id: "which", onchange: (event) => { Object.assign(state, { policy: Number(event.target.value), pass: -1, dim: null }); passes(); entries(); document.getElementById("which").focus(); } },
    ...told.policies.map((each, at) => el("option", { value: at, selected: at === state.policy }, each.name)));
  const turn = (to, words) => el("button", { type: "button", disabled: to < 0 || to >= all, onclick: () => { state.from = to; entries(); } }, words);
  const pages = all > CELLS ? el("div", { class: "moves" }, turn(state.from - CELLS, "← Earlier"),
    el("span", {}, `${whole(state.from)} to ${whole(Math.min(all, state.from + CELLS) - 1)} of ${whole(all)}`), turn(state.from + CELLS, "Later →")) : null;
  const left = told.entries.left_out ? el("p", { class: "hint" }, `${whole(told.entries.left_out)} entries that follow are left out, to keep the page small.`) : null;
  const cut = told.text_chars < 6000 && told.text_chars ? el("p", { class: "hint" }, `Texts are cut at ${whole(told.text_chars)} characters, to keep the page small.`) : null;
  host.replaceChildren(el("div", { class: "controls" }, el("label", { for: "which" }, "Policy "), pick),
    fateLegend(told, policy, state.dim, only), ...[pages, entryMap(told, policy, state.from, state.dim, openEntry), left, cut].filter(Boolean));
  if (state.entry >= 0) {
    host.append(entryDetail(told, policy, state.entry, openEntry, closeEntry));
    const cell = host.querySelector(`[data-seq="${state.entry}"]`);
    if (cell) cell.classList.add("open");
  }
}

function only(group) {
  state.dim = state.dim === group ? null : group;
  entries();
  document.querySelector(`.key[data-group="${group}"]`).focus();
}

function openEntry(seq) {
  state.entry = seq;
  state.from = Math.floor(seq / CELLS) * CELLS;
  entries();
  const title = document.getElementById("entry");
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
  const host = document.getElementById("choose");
  if (data.recordings.length > 1) {
    const few = data.recordings.length < data.all ? `, the ${data.recordings.length} that cost most of ${whole(data.all)}` : "";
    host.append(el("label", { for: "recording" }, `Recording${few} `), el("select", { id: "recording", onchange: (event) => choose(data.recordings[Number(event.target.value)]) },
      ...data.recordings.map((told, at) => el("option", { value: at }, told.name))));
  } else {
    document.getElementById("about").textContent = data.recordings[0].name;
  }
  choose(data.recordings[0]);
  let width = report.clientWidth;
  new ResizeObserver(() => {
    if (report.clientWidth === width) return;
    width = report.clientWidth;
    draw();
  }).observe(report);
}

start();
