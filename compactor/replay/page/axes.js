// Scales, ticks and axes. A chart is drawn anew for the width it has, so that its text keeps its size.

const PAD = { left: 52, top: 28, bottom: 42 };
const LINE = 15;

const scale = (from, to, low, high) => (value) =>
  low + (to === from ? 0.5 : (value - from) / (to - from)) * (high - low);
const point = (value) => value.toFixed(1);
const line = (xs, ys) => xs.map((x, i) => (i ? "L" : "M") + point(x) + " " + point(ys[i])).join("");

function canvas(width, height, label) {
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label });
}

// below: room under the plot for more than the names of the axis.
function frame(width, height, right, below = 0) {
  const bottom = height - PAD.bottom - below;
  return { left: PAD.left, right: width - right, top: PAD.top, bottom, names: bottom + below };
}

function stepOf(range, about) {
  const rough = range / about, power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 5, 10].find((each) => each * power >= rough * 0.72);
}

// Round steps from the first at or below `low` to the first at or above `high`.
function ticks(low, high, about) {
  if (!(high > low)) return [low, low + 1];
  const step = stepOf(high - low, about), found = [];
  for (let k = Math.floor(low / step + 1e-6); ; k += 1) {
    found.push(k * step);
    if (k * step >= high - step * 1e-6) return found;
  }
}

// As many places as the step between ticks needs.
function ticksIn(found, unit) {
  const places = (value) => Math.max(0, Math.ceil(-Math.log10(value) - 1e-6));
  const step = found[1] - found[0];
  if (unit === "dollars") return (nano) => "$" + fixed(nano / 1e9, step < 1e9 ? Math.max(2, places(step / 1e9)) : 0);
  if (unit === "share") return (share) => fixed(100 * share, places(100 * step)) + "\u00a0%";
  return short;
}

function requestTicks(last, width) {
  const found = ticks(0, last, Math.max(3, Math.floor(width / 90)));
  return found.filter((value) => value >= 1 && value <= last && Number.isInteger(value));
}

// x, y: { at, ticks, name, format }
function axes(box, x, y) {
  const group = svg("g", { class: "axes", "aria-hidden": "true" });
  for (const value of y.ticks) {
    group.append(svg("line", { class: "grid", x1: box.left, x2: box.right, y1: y.at(value), y2: y.at(value) }),
      svg("text", { x: box.left - 8, y: y.at(value) + 4, "text-anchor": "end" }, y.format(value)));
  }
  for (const value of x.ticks)
    group.append(svg("text", { x: x.at(value), y: box.names + 17, "text-anchor": "middle" }, x.format(value)));
  group.append(svg("text", { class: "unit", x: 0, y: box.top - 14 }, y.name),
    svg("text", { class: "unit", x: box.right, y: box.names + 35, "text-anchor": "end" }, x.name));
  return group;
}

function rule(box, at, name) {
  return [svg("line", { class: "rule", x1: box.left, x2: box.right, y1: at, y2: at }),
    svg("text", { class: "unit", x: box.left + 4, y: at - 5 }, name)];
}
