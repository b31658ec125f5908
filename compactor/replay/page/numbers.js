// The numbers behind a chart as a table: for who cannot see it, and who wants them exactly.

function asTable(name, heads, rows) {
  const host = el("details", { class: "numbers" }, el("summary", {}, "As a table"));
  host.addEventListener("toggle", () => {
    if (host.open && host.children.length === 1) host.append(tableOf(name, heads, rows()));
  });
  return host;
}

function tableOf(name, heads, rows) {
  const cells = ([first, ...others]) => el("tr", {}, el("th", { scope: "row" }, first), ...others.map((text) => el("td", {}, text)));
  return el("div", { class: "wide", tabindex: 0, role: "region", "aria-label": name },
    el("table", {}, el("caption", { class: "sr" }, name),
      el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", { scope: "col" }, head)))),
      el("tbody", {}, ...rows.map(cells))));
}

function requestTable(policy) {
  const heads = ["request", "entries", "tokens", "cached", "written", "uncached", "cost so far", "pass"];
  return asTable(`Requests under ${policy.name}`, heads, () => {
    const series = policy.series, passes = new Map(policy.passes.map((pass) => [pass.request, pass]));
    return series.request.map((request, i) => {
      const uncached = series.sent[i] - series.cached[i] - series.written[i], pass = passes.get(request);
      const sizes = [series.entries[i], series.sent[i], series.cached[i], series.written[i], uncached].map(whole);
      return [whole(request), ...sizes, dollars(series.cost[i]), pass ? changeWords(pass) : ""];
    });
  });
}

function frontierTable(points) {
  return asTable("Cost against regret", ["policy", "cost", "regret", "over the window"], () =>
    points.map((each) => [each.name, dollars(each.cost), percent(each.regret), whole(each.overflow)]));
}
