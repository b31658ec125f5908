// Passes of a policy as a list of buttons, and what one of them elided.

function passWords(policy, pass) {
  const tools = pass.tools.map(([name, count]) => `${name} ×${count}`).join(", ");
  const tier = pass.tier && pass.tier !== "elide" ? `, ${pass.tier}` : "";
  return `${policy.name}, request ${whole(pass.request)}${tier}: ${counted(pass.count, "entry", "entries")} changed, ` +
    `${whole(Math.abs(pass.freed))} tokens ${pass.freed < 0 ? "more" : "freed"}` + (tools ? ` (${tools})` : "");
}

// The tokens sent at a request, as far as they are drawn.
function sentAt(series, request) {
  const at = indexAt(series, request);
  return at < 0 ? 0 : series.sent[at];
}

// The last request that is drawn and not after this one.
function indexAt(series, request) {
  let low = 0, high = series.request.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (series.request[middle] <= request) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function passList(policy, style, open) {
  const items = policy.passes.map((pass, index) =>
    el("li", {}, el("button", { type: "button", class: "pass", tabindex: index ? -1 : 0, "data-pass": index,
      "aria-label": passWords(policy, pass), onclick: () => open(index) },
      el("span", { class: "swatch " + style }),
      el("b", {}, whole(pass.request)), ` ${whole(pass.count)} changed, ${pass.freed < 0 ? "+" : "−"}${short(Math.abs(pass.freed))}`)));
  const list = el("ol", { class: "passes", "aria-label": `Passes of ${policy.name}` }, ...items);
  roving(list, "button");
  return list;
}

// What one pass did, with links to its entries.
function passDetail(told, policy, pass, show) {
  const names = pass.tools.map(([name, count]) => el("li", {}, `${name} ×${whole(count)}`));
  const entries = pass.seqs.map((seq, index) => el("li", {}, el("button", { type: "button", class: "seq",
    tabindex: index ? -1 : 0, "aria-label": entryWords(told, policy, seq), onclick: () => show(seq) }, whole(seq))));
  const list = el("ol", { class: "seqs", "aria-label": "Its entries" }, ...entries);
  roving(list, "button");
  const more = pass.count - pass.seqs.length;
  return el("div", { class: "detail" },
    el("p", {}, el("b", {}, passWords(policy, pass).replace(/ \(.*$/, "") + ".")),
    names.length ? el("ul", { class: "tools" }, ...names) : null,
    el("p", { class: "hint" }, "Its entries, to be opened below:"), list,
    more > 0 ? el("p", { class: "hint" }, `and ${counted(more, "more", "more")}`) : null);
}
