// One recording: its parts, and its charts for the width there is.

function build() {
  const told = state.told;
  byId("one").replaceChildren(
    el("p", { class: "meta" }, [told.format, told.model || "model not known", `cache ${told.cache}`,
      told.window ? `window ${whole(told.window)}` : "no window", counted(told.requests, "request", "requests")].join(" · ")),
    told.notes.length ? el("details", { class: "notes" }, el("summary", {}, counted(told.notes.length, "note", "notes") + " on this recording"),
      el("ul", {}, ...told.notes.map((note) => el("li", {}, note)))) : "",
    el("div", { id: "tiles", class: "tiles", role: "group", "aria-label": "Policies; press to hide or show" }),
    section("context", "Context size", "Tokens of each prompt, and below them the passes of each policy: press one to see what it elided.",
      el("div", { id: "size", class: "plot", tabindex: 0, role: "slider", "aria-label": "Request" }),
      el("div", { id: "readout", class: "readout" }), drawnHint(told) || ""),
    section("passes", "Passes", null, el("div", { id: "passlists" }), el("div", { id: "passdetail", class: "detail" })),
    section("served", "Cached, written, uncached", null, servedLegend(), el("div", { id: "areas", class: "areas" })),
    el("div", { class: "pair" },
      section("cost", "Cumulative cost", "Of the prompts alone; answers cost the same under every policy.", el("div", { id: "costs", class: "plot" })),
      section("frontier", "Cost against regret", FRONTIER + (told.points.some((each) => !each.asked) ? "; small dots are policies that recommend compares" : "") +
          (told.best === null ? "." : "; the optimum is what hindsight would have paid."),
        el("div", { id: "regret", class: "plot" }), frontierTable(told.points))),
    section("entries", "Entries", "What became of each at the last request; bars are tokens, on a logarithmic scale.", el("div", { id: "entrymap" })));
  byId("size").addEventListener("keydown", stepCursor);
  for (const id of ["size", "costs"]) follow(byId(id));
  tiles();
  draw();
  passes();
  entries();
}

function drawnHint(told) {
  const most = Math.max(...told.policies.map((policy) => policy.series.request.length));
  if (most >= told.requests) return null;
  return hint(`Of ${whole(told.requests)} requests at most ${whole(most)} are drawn: of neighbours the longest and the shortest.`);
}

function servedLegend() {
  const keys = [["cached", "read from the cache"], ["written", "written to it"], ["uncached", "neither"]];
  return el("p", { class: "hint legend" }, ...keys.map(([name, words]) => el("span", {}, el("span", { class: "block " + name }), words)));
}

function tiles() {
  byId("tiles").replaceChildren(...state.told.policies.map((policy) =>
    el("button", { type: "button", class: "tile", "aria-pressed": String(!state.hidden[policy.name]), "data-policy": policy.name,
      onclick: () => toggle(policy.name) }, ...tileWords(policy, state.styles))));
}

function toggle(name) {
  state.hidden[name] = !state.hidden[name];
  tiles();
  draw();
  [...document.querySelectorAll("#tiles .tile")].find((each) => each.dataset.policy === name).focus();
}

function draw() {
  const told = state.told, styles = state.styles, policies = shown();
  cursors = [];
  const series = (column) => policies.map((policy) => ({ name: policy.name, style: styles[policy.name], x: policy.series.request, y: policy.series[column] }));
  plot("size", (width) => lineChart(width, { series: series("sent"), last: told.requests, unit: "tokens", yName: "tokens", height: width > 640 ? 300 : 250, lanes: lanes(policies),
    rule: told.window ? { at: told.window, name: "window" } : null, label: sizeWords(policies) }));
  plot("costs", (width) => lineChart(width, { series: series("cost"), last: told.requests, unit: "dollars", yName: "US dollars", height: TALL, label: costWords(policies) }));
  byId("regret").replaceChildren(frontierChart(byId("regret").clientWidth, told.points, told.best, styles));
  const most = Math.max(1, ...policies.flatMap((policy) => policy.series.sent)), areas = byId("areas");
  areas.replaceChildren(...policies.map((policy) => el("figure", {}, el("figcaption", {}, swatch(styles[policy.name]), policy.name))));
  policies.forEach((policy, i) => areas.children[i].append(
    areaChart(areas.children[i].clientWidth, policy.series, told.requests, most, servedWords(policy)), requestTable(policy)));
  moveCursor(state.request);
}

function lanes(policies) {
  return policies.filter((policy) => policy.passes.length).map((policy) => ({
    name: policy.name, style: state.styles[policy.name], count: policy.sums.passes,
    marks: policy.passes.map((pass, index) => ({ request: pass.request,
      title: [passWords(policy, pass), ...toolWords(state.told, pass)].join("\n"),
      open: () => openPass(state.told.policies.indexOf(policy), index) })) }));
}

function plot(id, make) {
  const host = byId(id), chart = make(host.clientWidth);
  host.replaceChildren(chart.root);
  host.chart = chart;
  cursors.push(chart.place);
}

const sizeWords = (policies) => "Context size: " + policies.map((policy) => `${policy.name} at most ${whole(Math.max(0, ...policy.series.sent))} tokens, ${counted(policy.sums.passes, "pass", "passes")}`).join("; ");
const costWords = (policies) => "Cumulative cost: " + policies.map((policy) => `${policy.name} ${dollars(policy.sums.cost_nano)}`).join("; ");
const servedWords = ({ name, sums }) => `${name}: ${whole(sums.cached)} tokens cached, ${whole(sums.written)} written, ${whole(sums.uncached)} uncached`;
