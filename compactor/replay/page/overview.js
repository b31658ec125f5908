// All recordings together: what each policy comes to, and which recording to look at.

const FRONTIER = "Lower left is better. The line joins what no other policy beats in both";

function overview() {
  const styles = stylesOf(data.totals);
  const points = data.totals.map(({ name, sums }) => ({ name, cost: sums.cost_nano, regret: sums.regret, overflow: sums.overflow_requests, asked: true }));
  const host = el("div", { id: "allregret", class: "plot" });
  const draw = () => host.replaceChildren(frontierChart(host.clientWidth, points, null, styles));
  return { draw, nodes: [
    el("div", { class: "tiles" }, ...data.totals.map((each) => el("div", { class: "tile" }, ...tileWords(each, styles)))),
    section("allfrontier", "Cost against regret, all recordings", `Sums, and the mean regret. ${FRONTIER}.`, host, frontierTable(points)),
    chooser()] };
}

function chooser() {
  const few = data.recordings.length < data.all ? `One of the ${data.recordings.length} that cost most` : "One recording";
  const options = data.recordings.map((told, at) => el("option", { value: at, selected: at === data.first },
    `${told.name}: ${dollars(told.policies[0].sums.cost_nano)}, ${counted(told.requests, "request", "requests")}`));
  return el("div", { class: "choose" }, el("h2", {}, el("label", { for: "recording" }, few)),
    el("select", { id: "recording", onchange: (event) => choose(data.recordings[Number(event.target.value)]) }, ...options));
}

// Names in the table of sums lead to what is shown above it.
function linkSums() {
  for (const group of document.querySelectorAll("tbody[data-at]")) {
    const head = group.querySelector("th"), at = Number(group.dataset.at);
    head.replaceChildren(el("button", { type: "button", class: "link", onclick: () => {
      byId("recording").value = at;
      choose(data.recordings[at]);
      byId("recording").focus();
    } }, head.textContent));
  }
}

function tileWords({ name, sums }, styles) {
  const facts = [counted(sums.passes, "pass", "passes"), counted(sums.breaks, "break", "breaks"), percent(sums.regret) + " regret"];
  const over = sums.overflow_requests;
  return [el("span", { class: "name" }, swatch(styles[name]), name),
    el("span", { class: "price" }, dollars(sums.cost_nano)),
    el("span", { class: "facts" }, name === "none" ? "nothing is changed" : `${sums.cost_to_none.toFixed(2)} × doing nothing`),
    el("span", { class: "facts" }, facts.join(" · ")),
    over ? el("span", { class: "facts warn" }, counted(over, "request", "requests") + " over the window") : null].filter(Boolean);
}
