// Elements, numbers, keys. Text of transcripts only ever becomes text nodes.

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

const whole = (value) => Math.round(value).toLocaleString("en-US");
const fixed = (value, places) =>
  value.toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places });
const percent = (share) => fixed(100 * share, 1) + "\u00a0%";

// Small amounts have as many places as tell them apart.
function dollars(nano) {
  const value = nano / 1e9;
  return "$" + fixed(value, value === 0 || value >= 1 ? 2 : value >= 0.01 ? 3 : 4);
}

function short(value) {
  const size = Math.abs(value);
  if (size >= 1e6) return trim(value / 1e6) + "M";
  if (size >= 1e3) return trim(value / 1e3) + "k";
  return trim(value);
}

const trim = (value) => String(Number(value.toFixed(Math.abs(value) < 10 ? 1 : 0)));
const clip = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);

function counted(count, one, many) {
  return whole(count) + "\u00a0" + (count === 1 ? one : many);
}

const swatch = (style) => el("span", { class: "swatch " + style });
const hint = (text) => el("p", { class: "hint" }, text);

// Nothing done is grey; the others have a colour each, whatever is hidden.
const STYLES = 7;
function stylesOf(policies) {
  const styles = Object.create(null);
  let next = 0;
  for (const { name } of policies) styles[name] = name === "none" ? "c0" : "c" + (1 + (next++ % STYLES));
  return styles;
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
