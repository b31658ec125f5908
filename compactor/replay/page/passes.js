// Passes: marks below a chart, a list of buttons a policy, and what one of them elided.

const LANE = 16;
const OPEN_MAX = 24;

function passWords(policy, pass) {
  const tier = pass.tier && pass.tier !== "elide" ? `, ${pass.tier}` : "";
  return `${policy.name}, request ${whole(pass.request)}${tier}: ${changeWords(pass)}`;
}

function changeWords(pass) {
  const size = `${whole(Math.abs(pass.freed))} tokens ${pass.freed < 0 ? "more" : "freed"}`;
  return `${counted(pass.count, "entry", "entries")} changed, ${size}`;
}

const toolWords = (told, pass) => pass.tools.map(([tool, count]) => `${told.tools[tool]} ×${whole(count)}`);

// The last request that is drawn and not after this one; -1 where there is none.
function indexAt(series, request) {
  let low = 0, high = series.request.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (series.request[middle] <= request) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

// lane: {name, style, count, marks: [{request, title, open}]}
function passLane(lane, box, top, x, wide, isFirst) {
  const half = Math.max(1.5, Math.min(4, (x(2) - x(1)) * 0.4));
  const marks = lane.marks.map((mark) => svg("rect", { class: "mark " + lane.style, x: x(mark.request) - half, y: top,
    width: 2 * half, height: LANE - 5, onclick: mark.open }, svg("title", {}, mark.title)));
  const name = wide ? svg("text", { class: "end ink " + lane.style, x: box.right + 8, y: top + 10 },
    clip(`${short(lane.count)} × ${lane.name}`, 20)) : null;
  const first = isFirst ? svg("text", { x: box.left - 8, y: top + 10, "text-anchor": "end" }, "passes") : null;
  return [svg("line", { class: "grid", x1: box.left, x2: box.right, y1: top + 5, y2: top + 5 }), ...marks, name, first]
    .filter(Boolean);
}

function passList(policy, style, isOpen, open) {
  const items = policy.passes.map((pass, index) =>
    el("li", {}, el("button", { type: "button", class: "pass", tabindex: index ? -1 : 0, "aria-expanded": "false",
      "aria-controls": "passdetail", "aria-label": passWords(policy, pass), onclick: () => open(index) },
      el("b", {}, whole(pass.request)),
      ` ${whole(pass.count)} changed, ${pass.freed < 0 ? "+" : "−"}${short(Math.abs(pass.freed))}`)));
  const list = el("ol", { class: "passes" + (items.length > OPEN_MAX ? " long" : ""), "aria-label": `Passes of ${policy.name}` }, ...items);
  roving(list, "button");
  const more = policy.passes_left_out ? hint(`and ${whole(policy.passes_left_out)} that freed less`) : null;
  return el("details", { class: "passlist", open: isOpen || policy.passes.length <= OPEN_MAX },
    el("summary", {}, swatch(style), `${policy.name}: ${counted(policy.sums.passes, "pass", "passes")}`), list, more);
}

// What one pass did, with links to its entries.
function passDetail(told, policy, pass, show) {
  const names = toolWords(told, pass).map((words) => el("li", {}, words));
  const entries = pass.seqs.map((seq, index) => el("li", {}, el("button", { type: "button", class: "seq",
    tabindex: index ? -1 : 0, "aria-label": entryWords(told, policy, seq), onclick: () => show(seq) }, whole(seq))));
  const list = el("ol", { class: "seqs" + (entries.length > OPEN_MAX ? " long" : ""), "aria-label": "Its entries" }, ...entries);
  roving(list, "button");
  const more = pass.count - pass.seqs.length;
  return [el("p", {}, el("b", {}, passWords(policy, pass) + ".")),
    names.length ? el("ul", { class: "tools" }, ...names) : null,
    entries.length ? hint("Its entries, to be opened below:") : null, list,
    more > 0 ? hint(`and ${whole(more)} more`) : null].filter(Boolean);
}
