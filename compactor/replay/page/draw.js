// Elements, numbers, scales. Text of transcripts only ever becomes text nodes.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

const number = new Intl.NumberFormat("en-US");
const whole = (value) => number.format(Math.round(value));
const dollars = (nano, digits = 2) => {
  const value = nano / 1e9;
  const places = value !== 0 && Math.abs(value) < 1 ? Math.max(digits, 3) : digits;
  return "$" + value.toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places });
};
const percent = (share) => (100 * share).toFixed(1) + "\u00a0%";

function short(value) {
  const size = Math.abs(value);
  if (size >= 1e6) return trim(value / 1e6) + "M";
  if (size >= 1e3) return trim(value / 1e3) + "k";
  return trim(value);
}

const trim = (value) => String(Number(value.toFixed(value < 10 ? 1 : 0)));

function counted(count, one, many) {
  return whole(count) + "\u00a0" + (count === 1 ? one : many);
}

// Round steps from 0 that reach the largest value.
function ticks(largest, about) {
  if (!(largest > 0)) return [0, 1];
  const rough = largest / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 2.5, 5, 10].find((each) => each * power >= rough * 0.999) || 10);
  const found = [];
  for (let k = 0; (k - 1) * step < largest * 0.999 || k < 2; k += 1) found.push(k * step);
  return found;
}

const scale = (from, to, low, high) => (value) =>
  low + (to === from ? 0.5 : (value - from) / (to - from)) * (high - low);

const point = (value) => value.toFixed(1);

function line(xs, ys) {
  return xs.map((x, i) => (i ? "L" : "M") + point(x) + " " + point(ys[i])).join("");
}

// Keys move among children that are one stop of the tab order.
function roving(host, selector, columns) {
  host.addEventListener("keydown", (event) => {
    const all = [...host.querySelectorAll(selector)];
    const at = all.indexOf(document.activeElement);
    if (at < 0) return;
    const row = columns ? columns(all) : 1;
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + row, ArrowUp: at - row,
      Home: 0, End: all.length - 1, PageDown: at + 10 * row, PageUp: at - 10 * row }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    focusOne(all, Math.max(0, Math.min(all.length - 1, to)));
  });
}

function focusOne(all, at) {
  for (const each of all) each.tabIndex = -1;
  all[at].tabIndex = 0;
  all[at].focus();
}
