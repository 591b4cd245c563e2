// Charts of lines over numbers: points with tips, a band behind them.

// options: title, width, series ({name, fill, points: [x, y, text]}), band ([x, low, high]), shownX, shownY, logX, zero,
// nameX, nameY: what the axes show.
function lineChart(options) {
  const { title, series, band = [], shownX, shownY, logX = false, zero = false, nameX = "", nameY = "" } = options;
  const width = chartWidth(options.width || 460), height = 200, bottom = nameX ? 38 : 30, top = nameY ? 24 : 12, right = 14;
  const points = series.flatMap((one) => one.points);
  if (!points.length) return h("figure", {}, h("figcaption", {}, title), h("p", { class: "dim" }, "No values."));
  const xs = [...points.map((one) => one[0]), ...band.map((one) => one[0])].map((x) => (logX ? Math.log(x) : x));
  const ys = [...points.map((one) => one[1]), ...band.flatMap((one) => one.slice(1))];
  const x0 = Math.min(...xs), x1 = Math.max(...xs);
  let y0 = zero ? 0 : Math.min(...ys), y1 = Math.max(...ys);
  if (zero) y1 = axisTop(y1);
  const room = (y1 - y0 || Math.abs(y1) || 1) * 0.06, ticks = roundTicks(y0, y1);
  const left = Math.max(70, axisRoom([...ticks.map(shownY), nameY]));
  y0 = zero ? 0 : y0 - room;
  y1 += room;
  const x = (value) => left + ((logX ? Math.log(value) : value) - x0) / (x1 - x0 || 1) * (width - left - right);
  const y = (value) => top + (1 - (value - y0) / (y1 - y0)) * (height - top - bottom);
  const shapes = ticks.map((at) => [
    s("line", { class: "axis", x1: left, x2: width, y1: y(at), y2: y(at) }),
    s("text", { class: "dim", x: left - 5, y: y(at) + 4, "text-anchor": "end" }, at ? shownY(at) : "0")]);
  if (band.length) {
    const low = band.map((one) => `${x(one[0]).toFixed(1)},${y(one[1]).toFixed(1)}`), high = band.map((one) => `${x(one[0]).toFixed(1)},${y(one[2]).toFixed(1)}`);
    shapes.push(s("polygon", { class: "band", points: [...low, ...high.reverse()].join(" ") }));
  }
  for (const one of series) {
    const style = { stroke: `var(--${one.fill})` };
    if (one.points.length > 1) shapes.push(s("polyline", { points: one.points.map((point) => `${x(point[0]).toFixed(1)},${y(point[1]).toFixed(1)}`).join(" "), style: { ...style, fill: "none", strokeWidth: 1.6 } }));
    for (const [at, value, text, fillName] of one.points) {
      shapes.push(tip(s("circle", { cx: x(at), cy: y(value), r: 3.5, tabindex: 0, role: "img", "aria-label": text.replaceAll("\n", ", "), style: { fill: `var(--${fillName || one.fill})` } }), text));
    }
  }
  const ends = [...new Set([points[0][0], points[points.length - 1][0]])], low = height - (nameX ? 20 : 8);
  ends.forEach((at, i) => shapes.push(s("text", { class: "dim", x: x(at), y: low, "text-anchor": i ? "end" : "start" }, shownX(at))));
  if (nameX) {
    let last = left + 25;
    for (const at of [...new Set(points.map((one) => one[0]))].slice(1, -1)) {
      if (x(at) < last + 46 || x(at) > width - right - 66) continue;
      last = x(at);
      shapes.push(s("text", { class: "dim", x: last, y: low, "text-anchor": "middle" }, shownX(at)));
    }
    shapes.push(s("text", { class: "dim", x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }, `${nameX}${logX ? ", logarithmic" : ""}`));
  }
  if (nameY) shapes.push(s("text", { class: "dim", x: left - 5, y: 10, "text-anchor": "end" }, nameY));
  const names = series.length > 1 ? h("ul", { class: "legend" }, series.map((one) => h("li", {}, h("span", { class: "swatch", style: { background: `var(--${one.fill})` } }), one.name))) : "";
  return h("figure", { style: { maxWidth: `${width}px` } }, h("figcaption", {}, title), names,
    s("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, width, role: "group", "aria-label": title }, shapes));
}
