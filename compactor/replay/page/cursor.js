// One cursor for the charts of requests, moved by pointer and keys, and what it reads off.

function follow(host) {
  const move = (event) => moveCursor(host.chart.request(event.clientX - host.getBoundingClientRect().left));
  for (const kind of ["pointermove", "pointerdown"]) host.addEventListener(kind, move);
}

function stepCursor(event) {
  const last = state.told.requests, page = Math.max(1, Math.round(last / 10));
  const to = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: page, PageDown: -page, Home: -last, End: last }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  moveCursor(state.request + to);
}

function moveCursor(request) {
  const told = state.told;
  state.request = Math.max(1, Math.min(told.requests, request));
  for (const place of cursors) place(state.request);
  const slider = byId("size"), title = `Request ${whole(state.request)} of ${whole(told.requests)}`;
  const rows = shown().map(readoutRow).filter(Boolean), narrow = isNarrow();
  const heads = [narrow ? `Request ${whole(state.request)}` : title, "tokens", "cached", "cost so far"].map((head) => el("th", { scope: "col" }, head));
  if (!narrow) heads.push(el("th", { scope: "col", class: "said" }, "pass"));
  byId("readout").replaceChildren(el("table", {}, el("thead", {}, el("tr", {}, ...heads)),
    el("tbody", {}, ...rows.flatMap((row) => row.lines))));
  for (const [name, value] of [["min", 1], ["max", told.requests], ["now", state.request]]) slider.setAttribute("aria-value" + name, value);
  slider.setAttribute("aria-valuetext", `${title}: ` + rows.map((row) => row.words).join("; "));
}

// words: for who listens; lines: rows of a table, two where there is no room for a column more.
function readoutRow(policy) {
  const series = policy.series, i = indexAt(series, state.request);
  if (i < 0) return null;
  const pass = policy.passes.find((each) => each.request === state.request), changed = pass ? changeWords(pass) : "";
  const near = series.request[i] === state.request ? "" : ` (request ${whole(series.request[i])})`;
  const numbers = [whole(series.sent[i]) + near, whole(series.cached[i]), dollars(series.cost[i])];
  const name = el("th", { scope: "row" }, swatch(state.styles[policy.name]), policy.name);
  const cells = numbers.map((text) => el("td", {}, text));
  if (isNarrow()) {
    const below = el("tr", {}, el("td", { class: "said", colspan: 4 }, "pass: " + changed));
    return { words: readoutWords(policy, series.sent[i], changed), lines: [el("tr", {}, name, ...cells), ...(pass ? [below] : [])] };
  }
  return { words: readoutWords(policy, series.sent[i], changed), lines: [el("tr", {}, name, ...cells, el("td", { class: "said" }, changed))] };
}

const readoutWords = (policy, sent, changed) => `${policy.name} ${whole(sent)} tokens` + (changed ? `, a pass: ${changed}` : "");
