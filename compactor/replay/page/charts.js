// Charts over the requests of one recording: lines with passes below, and what the cache served.

const GAP = 12;

// options: series [{name, style, x, y}], last, unit, yName, label, height, rule {at, name}, lanes
function lineChart(width, options) {
  const wide = width > 520, lanes = options.lanes || [], below = lanes.length ? GAP + LANE * lanes.length : 0;
  const height = options.height + below, box = frame(width, height, wide ? 150 : 14, below);
  const most = Math.max(0, ...options.series.map((each) => Math.max(0, ...each.y)));
  const ruled = options.rule && options.rule.at < 1.6 * most;
  const yTicks = ticks(0, ruled ? Math.max(most, options.rule.at) : most, 4), last = Math.max(options.last, 2);
  const x = scale(1, last, box.left, box.right), y = scale(0, yTicks[yTicks.length - 1], box.bottom, box.top);
  const root = canvas(width, height, options.label);
  root.append(axes(box, { at: x, ticks: requestTicks(options.last, box.right - box.left), name: "request", format: short },
    { at: y, ticks: yTicks, name: options.yName, format: ticksIn(yTicks, options.unit) }));
  if (ruled) root.append(...rule(box, y(options.rule.at), options.rule.name));
  for (const each of options.series) {
    root.append(svg("path", { class: "curve " + each.style, d: line(each.x.map(x), each.y.map(y)) }));
    if (each.x.length === 1)
      root.append(svg("circle", { class: "dot " + each.style, cx: x(each.x[0]), cy: y(each.y[0]), r: 3 }));
  }
  lanes.forEach((lane, i) => root.append(...passLane(lane, box, box.bottom + GAP + LANE * i, x, wide, i === 0)));
  if (wide) root.append(...endLabels(box, options.series, y));
  const cursor = svg("line", { class: "cursor", y1: box.top, y2: box.names, x1: -9, x2: -9 });
  root.append(cursor);
  const place = (request) => { for (const end of ["x1", "x2"]) cursor.setAttribute(end, x(request)); };
  return { root, place, request: (at) => Math.round(1 + ((at - box.left) / (box.right - box.left)) * (last - 1)) };
}

// Names at the ends of lines, pushed apart.
function endLabels(box, series, y) {
  const rows = series.map((each) => ({ name: each.name, style: each.style, at: y(each.y[each.y.length - 1]) }));
  rows.sort((a, b) => a.at - b.at);
  for (let i = 1; i < rows.length; i += 1) rows[i].at = Math.max(rows[i].at, rows[i - 1].at + LINE);
  const over = rows.length ? rows[rows.length - 1].at - box.bottom : 0;
  if (over > 0) for (const row of rows) row.at -= over;
  for (let i = rows.length - 2; i >= 0; i -= 1) rows[i].at = Math.min(rows[i].at, rows[i + 1].at - LINE);
  return rows.map((row) =>
    svg("text", { class: "end ink " + row.style, x: box.right + 8, y: row.at + 4 }, clip(row.name, 20)));
}

// Cached, written and uncached of each request, on top of each other.
function areaChart(width, series, last, most, label) {
  const height = 180, box = frame(width, height, 10), yTicks = ticks(0, most, 3);
  const x = scale(0.5, last + 0.5, box.left, box.right), y = scale(0, yTicks[yTicks.length - 1], box.bottom, box.top);
  const root = canvas(width, height, label);
  root.append(axes(box, { at: x, ticks: requestTicks(last, box.right - box.left), name: "request", format: short },
    { at: y, ticks: yTicks, name: "tokens", format: short }));
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
