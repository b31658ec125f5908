// The map of entries with their fates, and the text of one before and after.

const KINDS = { u: "user message", a: "model turn", t: "tool result", s: "system message" };
const GROUPS = [
  ["gone", "elided", ["elided", "elided:inputs"]],
  ["hidden", "dropped", ["hidden"]],
  ["kept", "kept by a rule", ["kept:budget", "kept:floor", "kept:protected", "kept:pinned", "kept:required", "kept:edited"]],
  ["small", "too little to gain", ["kept:no_gain"]],
  ["recent", "sent as it was", ["kept", "kept:recent", "kept:unanswered"]],
  ["turn", "no tool result", ["kept:not_result"]],
  ["unsent", "never sent", ["unsent"]],
];
const groupOf = (fate) => (GROUPS.find(([, , fates]) => fates.includes(fate)) || GROUPS[4])[0];

function unrolled(runs) {
  const found = [];
  for (const [fate, count] of runs) for (let i = 0; i < count; i += 1) found.push(fate);
  return found;
}

const kindOf = (told, seq) => KINDS[told.entries.kinds[seq]];
const toolOf = (told, seq) => told.tools[told.entries.tool[seq]];

function entryWords(told, policy, seq) {
  const tool = toolOf(told, seq), fate = policy.known[seq];
  return `Entry ${whole(seq)}, ${kindOf(told, seq)}${tool ? " of " + tool : ""}, ` +
    `${counted(told.entries.tokens[seq], "token", "tokens")}: ${data.fates[fate][0]}`;
}

// A cell an entry, as high as its tokens on a logarithmic scale.
function entryMap(told, policy, from, most, dim, open) {
  const count = Math.min(most, told.entries.kinds.length - from), cells = [];
  const highest = Math.log(1 + told.entries.tokens.reduce((a, b) => Math.max(a, b), 1));
  for (let seq = from; seq < from + count; seq += 1) {
    const group = groupOf(data.fates[policy.known[seq]][0]);
    const bar = el("span", { class: "bar" });
    bar.style.height = Math.round(15 + (85 * Math.log(1 + told.entries.tokens[seq])) / highest) + "%";
    cells.push(el("button", { type: "button", class: `cell f-${group}` + (dim && dim !== group ? " dim" : ""),
      tabindex: seq === from ? 0 : -1, "data-seq": seq, title: entryWords(told, policy, seq),
      "aria-label": entryWords(told, policy, seq), onclick: () => open(seq) }, bar));
  }
  const map = el("div", { class: "map", role: "group", "aria-label": "Entries; arrow keys move, Enter opens" }, ...cells);
  roving(map, ".cell", (all) => {
    const top = all[0].offsetTop, next = all.findIndex((each) => each.offsetTop > top);
    return next < 0 ? all.length : next;
  });
  return map;
}

function fateLegend(told, policy, dim, choose) {
  const counts = {};
  for (const fate of policy.known) {
    const group = groupOf(data.fates[fate][0]);
    counts[group] = (counts[group] || 0) + 1;
  }
  const items = GROUPS.filter(([group]) => counts[group]).map(([group, words]) =>
    el("button", { type: "button", class: "key", "aria-pressed": String(dim === group), onclick: () => choose(group), "data-group": group },
      el("span", { class: `cell f-${group}` }, el("span", { class: "bar" })), ` ${words} `, el("b", {}, whole(counts[group]))));
  return el("div", { class: "keys", role: "group", "aria-label": "Fates; press to see one alone" }, ...items);
}

// One text; what was left out of it is said.
function textPane(title, text, note) {
  const parts = typeof text === "string" ? [text] : [text[0], el("span", { class: "cut" }, ` … ${whole(text[1])} characters left out … `), text[2]];
  const empty = typeof text === "string" && !text;
  return el("div", { class: "pane" }, el("h4", {}, title),
    note || empty ? el("p", { class: "hint" }, note || "Empty.") : el("pre", { tabindex: 0, dir: "auto", "aria-label": title }, ...parts));
}

function entryDetail(told, policy, seq, move, close) {
  const fate = data.fates[policy.known[seq]], change = policy.bySeq.get(seq), tool = toolOf(told, seq);
  const before = told.texts[seq], left = told.text_chars ? null : "Left out, to keep the page small.";
  const was = whole(told.entries.tokens[seq]);
  const tokens = change ? `${was} → ${whole(change[2])} tokens since request ${whole(change[1])}` : counted(told.entries.tokens[seq], "token", "tokens");
  const title = el("h3", { tabindex: -1, id: "entry" }, `Entry ${whole(seq)}: ${kindOf(told, seq)}${tool ? " of " + tool : ""}`);
  const panes = change
    ? [textPane("Before", before, left), textPane("After", told.texts[change[3]], change[2] === 0 ? "Not sent any more." : null)]
    : [textPane("As it was sent", before, left)];
  const at = (to, words) => el("button", { type: "button", disabled: to < 0 || to >= policy.known.length, onclick: () => move(to) }, words);
  return el("section", { class: "entry", "aria-labelledby": "entry",
    onkeydown: (event) => { if (event.key === "Escape") close(); } },
    el("div", { class: "bar-top" }, title, el("div", { class: "moves" }, at(seq - 1, "← Earlier"), at(seq + 1, "Later →"),
      el("button", { type: "button", onclick: close }, "Close"))),
    el("p", {}, el("span", { class: "tag f-" + groupOf(fate[0]) }, fate[0]), ` ${fate[1]}; ${tokens}, under ${policy.name}.`),
    el("div", { class: "panes" }, ...panes));
}
