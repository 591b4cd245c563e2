// Fitted times of extrapolated traces: points, curve and interval over the number of ranks.
function fitView(place, trace) {
  const legend = h("p", { class: "dim" }, "Points: recorded runs; line: the fitted model; band: 95 % interval of the mean.");
  place.append(legend, h("div", { class: "charts" }, trace.fits.map(fitChart)));
}

function fitChart(fit) {
  const width = chartWidth(420), height = 230, bottom = 40, top = 10;
  const ranks = [...fit.points, ...fit.curve].map((point) => point[0]);
  const values = [...fit.points.map((point) => point[1]), ...fit.curve.flatMap((point) => point.slice(1))].filter((value) => value >= 1); // less than 1 ns is no time
  if (!values.length) values.push(1);
  const [x0, x1] = [Math.log(Math.min(...ranks)), Math.log(Math.max(...ranks))], [y0, y1] = [Math.log10(Math.min(...values)) - 0.1, Math.log10(Math.max(...values)) + 0.1];
  let ticks = [];
  for (let power = Math.ceil(y0); power <= y1; power += Math.max(1, Math.ceil((y1 - y0) / 5))) ticks.push(10 ** power);
  if (ticks.length < 2) ticks = [...new Set([Math.min(...values), Math.max(...values)])];
  const left = Math.max(66, axisRoom(ticks.map(duration)));
  const x = (p) => left + (Math.log(p) - x0) / (x1 - x0 || 1) * (width - left - 12);
  const y = (ns) => top + (1 - (Math.log10(Math.max(ns, 10 ** y0)) - y0) / (y1 - y0 || 1)) * (height - top - bottom);
  const line = (i) => fit.curve.map((point) => `${x(point[0]).toFixed(1)},${y(point[i]).toFixed(1)}`);
  const shapes = [
    s("polygon", { points: [...line(2), ...line(3).reverse()].join(" "), style: { fill: "var(--accent)", fillOpacity: 0.16 } }),
    s("polyline", { points: line(1).join(" "), style: { fill: "none", stroke: "var(--accent)", strokeWidth: 2 } }),
  ];
  for (const ns of ticks) {
    shapes.push(s("line", { class: "axis", x1: left, x2: width, y1: y(ns), y2: y(ns) }), s("text", { class: "dim", x: left - 5, y: y(ns) + 4, "text-anchor": "end" }, duration(ns)));
  }
  for (const p of [Math.min(...ranks), Math.max(...ranks)]) shapes.push(s("text", { class: "dim", x: x(p), y: height - 22, "text-anchor": p === Math.max(...ranks) ? "end" : "start" }, number(p)));
  shapes.push(s("text", { class: "dim", x: (left + width - 12) / 2, y: height - 6, "text-anchor": "middle" }, "ranks, logarithmic"));
  for (const [p, ns] of fit.points) shapes.push(tip(s("circle", { cx: x(p), cy: y(ns), r: 4, tabindex: 0, role: "img", "aria-label": `${p} ranks: ${duration(ns)}`, style: { fill: "var(--worse)" } }), `${number(p)} ranks: ${duration(ns)}`));
  const end = fit.curve[fit.curve.length - 1];
  const time = (ns) => (ns < 1 ? "less than 1 ns" : coarseDuration(ns));
  const what = fit.stat === "compute_ns" ? "before" : "in";
  const context = [fit.after && `after ${fit.after}`, fit.ranks && `where ${fit.ranks}`, fit.limit].filter(Boolean);
  return h("figure", { style: { maxWidth: `${width}px` } },
    h("figcaption", {}, h("strong", {}, `mean ${fit.stat === "compute_ns" ? "computation before" : "time in"} ${fit.op}`), `  ${shortSites(fit.site)}`, h("br"), context.map((text) => [text, h("br")]), h("code", {}, `${fit.formula} ns`), `, mean deviation from the points ${(100 * fit.error).toFixed(1)} %; at ${number(end[0])} ranks ${estimate(...end.slice(1), time, fit.level)}`),
    s("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, width, role: "group", "aria-label": `Fitted mean time ${what} ${fit.op} over the number of ranks` }, shapes));
}
