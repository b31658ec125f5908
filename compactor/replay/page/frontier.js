// Cost against regret; what no other policy beats in both is joined by a line.

const TALL = 290;

// points: [{name, cost, regret, asked}], best: what hindsight could have paid, or null
function frontierChart(width, points, best, styles) {
  const wide = width > 640, height = TALL, box = frame(width, height, 24);
  const xTicks = costTicks(points.map((each) => each.cost).concat(best === null ? [] : [best]), wide ? 6 : 3);
  const yTicks = ticks(0, Math.max(0.01, ...points.map((each) => each.regret)), 4);
  const x = scale(xTicks[0], xTicks[xTicks.length - 1], box.left, box.right);
  const y = scale(0, yTicks[yTicks.length - 1], box.bottom, box.top);
  const root = canvas(width, height, frontierWords(points));
  root.append(axes(box, { at: x, ticks: xTicks, name: "cost, US dollars", format: ticksIn(xTicks, "dollars") },
    { at: y, ticks: yTicks, name: "regret: identifiers out of sight", format: ticksIn(yTicks, "share") }));
  const taken = [];
  if (best !== null) {
    const at = x(best), left = at > (box.left + box.right) / 2;
    root.append(svg("line", { class: "rule", x1: at, x2: at, y1: box.top, y2: box.bottom }),
      svg("text", { class: "unit", x: at + (left ? -5 : 5), y: box.top + 10, "text-anchor": left ? "end" : "start" },
        "optimum"));
    taken.push([at - 1, at + 1, box.top, box.bottom], left ? [at - 60, at, box.top, box.top + LINE] : [at, at + 60, box.top, box.top + LINE]);
  }
  const front = frontier(points), asked = points.filter((each) => each.asked);
  const others = points.filter((each) => !each.asked);
  root.append(svg("path", { class: "frontier", d: line(front.map((p) => x(p.cost)), front.map((p) => y(p.regret))) }));
  for (const each of [...others, ...asked]) {
    const cx = x(each.cost), cy = y(each.regret), r = each.asked ? 6 : 4;
    taken.push([cx - r, cx + r, cy - r, cy + r]);
    root.append(svg("circle", { class: "dot " + (each.asked ? styles[each.name] : "other"), cx, cy, r },
      svg("title", {}, `${each.name}: ${dollars(each.cost)}, ${percent(each.regret)} out of sight`)));
  }
  for (const each of [...asked, ...others.filter((other) => front.includes(other))]) {
    const label = pointLabel(each, x(each.cost), y(each.regret), box, taken, styles);
    if (label) root.append(label);
  }
  return root;
}

// From 0 unless all points are far from it.
function costTicks(costs, about) {
  const high = Math.max(...costs, 1), low = Math.min(...costs), range = Math.max(high - low, 0.1 * high);
  const from = low - 0.3 * range < 0.4 * high ? 0 : low - 0.3 * range;
  return ticks(from, high + 0.12 * range, about);
}

// A name beside its point, where there is room for it.
function pointLabel(each, cx, cy, box, taken, styles) {
  const text = clip(each.name, 26), length = (each.asked ? 7 : 6.4) * text.length;
  for (const [dx, dy, anchor] of PLACES) {
    const left = cx + dx - (anchor === "end" ? length : anchor === "middle" ? length / 2 : 0), at = cy + dy;
    const spot = [left, left + length, at - 10, at + 3];
    if (spot[0] < box.left || spot[1] > box.right + 20 || spot[2] < box.top - 10 || spot[3] > box.bottom - 1) continue;
    if (taken.some((other) => spot[0] < other[1] && spot[1] > other[0] && spot[2] < other[3] && spot[3] > other[2])) continue;
    taken.push(spot);
    return svg("text", { class: each.asked ? "end ink " + styles[each.name] : "unit", x: cx + dx, y: at, "text-anchor": anchor }, text);
  }
  return null;
}

const PLACES = [];
for (const dy of [4, -9, 19, -23, 33, -37])
  for (const [dx, anchor] of Math.abs(dy) > 9 ? [[0, "middle"], [8, "start"], [-8, "end"]] : [[11, "start"], [-11, "end"]])
    PLACES.push([dx, dy, anchor]);

function frontier(points) {
  const sorted = [...points].sort((a, b) => a.cost - b.cost || a.regret - b.regret), found = [];
  for (const each of sorted) if (!found.length || each.regret < found[found.length - 1].regret) found.push(each);
  return found;
}

function frontierWords(points) {
  const rows = points.map((each) => `${each.name} ${dollars(each.cost)}, ${percent(each.regret)}`);
  return "Cost and regret of each policy: " + rows.join("; ");
}
