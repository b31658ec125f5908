// Charts of one recording. Each is drawn anew for the width it has, so that its text keeps its size.

const PAD = { left: 52, top: 12, bottom: 26 };

function frame(width, height, right) {
  return { width, height, left: PAD.left, right: width - right, top: PAD.top, bottom: height - PAD.bottom };
}

function axes(box, xTicks, yTicks, x, y, format, xName) {
  const group = svg("g", { class: "axes", "aria-hidden": "true" });
  for (const value of yTicks) {
    group.append(svg("line", { class: "grid", x1: box.left, x2: box.right, y1: y(value), y2: y(value) }));
    group.append(svg("text", { x: box.left - 8, y: y(value) + 4, "text-anchor": "end" }, format(value)));
  }
  for (const value of xTicks) {
    if (xName && x(value) > box.right - 64) continue;
    group.append(svg("text", { x: x(value), y: box.bottom + 17, "text-anchor": "middle" }, short(value)));
  }
  if (xName) group.append(svg("text", { class: "unit", x: box.right, y: box.height - 9, "text-anchor": "end" }, xName));
  return group;
}

function requestTicks(last, width) {
  const about = Math.max(3, Math.floor(width / 90));
  return ticks(last, about).filter((value) => value >= 1 && value <= last && Number.isInteger(value));
}

function canvas(width, height, label) {
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label });
}

// Names at the ends of lines, pushed apart.
function endLabels(box, series, y) {
  const rows = series.map((each) => ({ name: each.name, style: each.style, at: y(each.y[each.y.length - 1]) }));
  rows.sort((a, b) => a.at - b.at);
  for (let i = 1; i < rows.length; i += 1) rows[i].at = Math.max(rows[i].at, rows[i - 1].at + 15);
  const over = rows.length ? rows[rows.length - 1].at - box.bottom : 0;
  if (over > 0) for (const row of rows) row.at -= over;
  for (let i = rows.length - 2; i >= 0; i -= 1) rows[i].at = Math.min(rows[i].at, rows[i + 1].at - 15);
  return rows.map((row) =>
    svg("text", { class: "end ink " + row.style, x: box.right + 8, y: row.at + 4 }, clip(row.name, 22)));
}

const clip = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);

// options: series [{name, style, x, y}], last, format, label, rule {at, name}, marks, cursor
function lineChart(width, options) {
  const wide = width > 440, height = width > 640 ? 300 : 240;
  const box = frame(width, height, wide ? 132 : 14);
  const most = Math.max(0, ...options.series.map((each) => Math.max(0, ...each.y)));
  const shown = options.rule && options.rule.at < 1.6 * most ? Math.max(most, options.rule.at) : most;
  const yTicks = ticks(shown, 4), x = scale(1, Math.max(options.last, 2), box.left, box.right);
  const y = scale(0, yTicks[yTicks.length - 1], box.bottom, box.top);
  const root = canvas(width, height, options.label);
  root.append(axes(box, requestTicks(options.last, box.right - box.left), yTicks, x, y, options.format, "request"));
  if (options.rule && shown >= options.rule.at) root.append(...rule(box, y(options.rule.at), options.rule.name));
  for (const each of options.series) {
    root.append(svg("path", { class: "curve " + each.style, d: line(each.x.map(x), each.y.map(y)) }));
    if (each.x.length === 1) root.append(svg("circle", { class: "dot " + each.style, cx: x(each.x[0]), cy: y(each.y[0]), r: 3 }));
  }
  for (const mark of options.marks || []) root.append(passMark(mark, x(mark.request), y(mark.sent)));
  if (wide) root.append(...endLabels(box, options.series, y));
  const cursor = svg("line", { class: "cursor", y1: box.top, y2: box.bottom, x1: -9, x2: -9 });
  root.append(cursor);
  return { root, x, place: (request) => moveTo(cursor, x(request)),
    request: (at) => Math.round(1 + ((at - box.left) / (box.right - box.left)) * (Math.max(options.last, 2) - 1)) };
}

function rule(box, at, name) {
  return [svg("line", { class: "rule", x1: box.left, x2: box.right, y1: at, y2: at }),
    svg("text", { class: "unit", x: box.left + 4, y: at - 5 }, name)];
}

function moveTo(cursor, x) {
  cursor.setAttribute("x1", x);
  cursor.setAttribute("x2", x);
}

function passMark(mark, x, y) {
  const shape = svg("path", { class: "mark " + mark.style, d: `M${point(x)} ${point(y + 3)}l6 10h-12z`, "data-pass": mark.index },
    svg("title", {}, mark.title));
  shape.addEventListener("click", mark.open);
  return shape;
}

// Cached, written and uncached of each request, on top of each other.
function areaChart(width, series, last, most, label) {
  const height = 170, box = frame(width, height, 10), yTicks = ticks(most, 3);
  const x = scale(0.5, last + 0.5, box.left, box.right);
  const y = scale(0, yTicks[yTicks.length - 1], box.bottom, box.top);
  const root = canvas(width, height, label);
  root.append(axes(box, requestTicks(last, box.right - box.left), yTicks, x, y, short, null));
  const edges = series.request.map((request, i) => [
    i ? (series.request[i - 1] + request) / 2 : request - 0.5,
    i + 1 < series.request.length ? (series.request[i + 1] + request) / 2 : request + 0.5]);
  const none = series.sent.map(() => 0), both = series.cached.map((cached, i) => cached + series.written[i]);
  const layers = [["cached", none, series.cached], ["written", series.cached, both], ["uncached", both, series.sent]];
  for (const [name, low, high] of layers) {
    if (high.some((value, i) => value > low[i]))
      root.append(svg("path", { class: "area " + name, d: steps(edges, low, high, x, y) }));
  }
  return root;
}

function steps(edges, low, high, x, y) {
  const top = edges.map(([from, to], i) => `L${point(x(from))} ${point(y(high[i]))}H${point(x(to))}`).join("");
  const back = edges.map(([from, to], i) => `L${point(x(to))} ${point(y(low[i]))}H${point(x(from))}`).reverse().join("");
  return "M" + top.slice(1) + back + "Z";
}

// Cost against regret; what no other policy beats in both is joined by a line.
function frontierChart(width, told, styles) {
  const wide = width > 640, height = wide ? 300 : 260, box = frame(width, height, 24);
  const points = told.points, costs = points.map((each) => each.cost);
  const xTicks = ticks(Math.max(...costs, told.best || 0), wide ? 6 : 3);
  const yTicks = ticks(Math.max(0.01, ...points.map((each) => each.regret)), 4);
  const x = scale(0, xTicks[xTicks.length - 1], box.left, box.right);
  const y = scale(0, yTicks[yTicks.length - 1], box.bottom, box.top);
  const root = canvas(width, height, frontierWords(told));
  const group = axes(box, [], yTicks, x, y, (value) => (100 * value).toFixed(yTicks[1] < 0.01 ? 1 : 0) + " %", null);
  for (const value of xTicks)
    group.append(svg("text", { x: x(value), y: box.bottom + 17, "text-anchor": "middle" }, dollars(value)));
  root.append(group);
  if (told.best !== null) {
    root.append(svg("line", { class: "rule", x1: x(told.best), x2: x(told.best), y1: box.top, y2: box.bottom }),
      svg("text", { class: "unit", x: x(told.best) + 5, y: box.top + 10 }, "cheapest with hindsight"));
  }
  const best = frontier(points);
  root.append(svg("path", { class: "frontier", d: line(best.map((p) => x(p.cost)), best.map((p) => y(p.regret))) }));
  const taken = [];
  const asked = points.filter((each) => each.asked), others = points.filter((each) => !each.asked);
  for (const each of [...others, ...asked]) {
    const style = each.asked ? styles[each.name] : "other", cx = x(each.cost), cy = y(each.regret);
    root.append(svg("circle", { class: "dot " + style, cx, cy, r: each.asked ? 6 : 4 },
      svg("title", {}, `${each.name}: ${dollars(each.cost, 4)}, ${percent(each.regret)} out of sight`)));
  }
  const order = [...asked, ...others];
  for (const each of order) {
    if (!each.asked && !best.includes(each)) continue;
    const label = pointLabel(each, x(each.cost), y(each.regret), box, taken, styles);
    if (label) root.append(label);
  }
  return root;
}

// A name beside its point, where there is room for it.
function pointLabel(each, cx, cy, box, taken, styles) {
  const text = clip(each.name, 26), length = 6.7 * text.length;
  const places = [[10, 4, "start"], [-10, 4, "end"], [10, -10, "start"], [-10, -10, "end"], [10, 18, "start"], [-10, 18, "end"]];
  for (const [dx, dy, anchor] of places) {
    const left = anchor === "start" ? cx + dx : cx + dx - length, at = cy + dy;
    const inside = left > box.left && left + length < box.right + 20 && at < box.bottom + 2 && at > 8;
    if (!inside || taken.some(([l, r, t]) => left < r && left + length > l && Math.abs(t - at) < 13)) continue;
    taken.push([left, left + length, at]);
    return svg("text", { class: each.asked ? "end ink " + styles[each.name] : "unit", x: cx + dx, y: at, "text-anchor": anchor }, text);
  }
  return null;
}

function frontier(points) {
  const sorted = [...points].sort((a, b) => a.cost - b.cost || a.regret - b.regret);
  const found = [];
  for (const each of sorted) if (!found.length || each.regret < found[found.length - 1].regret) found.push(each);
  return found;
}

function frontierWords(told) {
  const rows = told.points.map((each) => `${each.name} ${dollars(each.cost, 4)}, ${percent(each.regret)}`);
  return "Cost and regret of each policy: " + rows.join("; ");
}
