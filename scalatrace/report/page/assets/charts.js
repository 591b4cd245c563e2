// Bars of histograms, of operations, and times by rank.
const BARS = { width: 520, height: 190, left: 62, bottom: 34, top: 10 };

// `most`: the value at the top of the axis; pages of two traces give both the same one.
function barChart(title, entries, shown, fillName, most = 0) {
  const { height, bottom, top } = BARS, width = chartWidth(BARS.width);
  most = axisTop(Math.max(most, ...entries.map((one) => one.value), 1e-9));
  const ticks = roundTicks(0, most).filter((value) => shown !== number || Number.isInteger(value)); // calls are whole
  const left = Math.max(BARS.left, axisRoom(ticks.map(shown))), room = width - left - 8, wide = room / Math.max(entries.length, 4);
  const shapes = ticks.map((value) => {
    const y = top + (1 - value / most) * (height - top - bottom);
    return [s("line", { class: "axis", x1: left, x2: width, y1: y, y2: y }), s("text", { class: "dim", x: left - 5, y: y + 4, "text-anchor": "end" }, value ? shown(value) : "0")];
  });
  entries.forEach((one, i) => {
    const tall = (height - top - bottom) * one.value / most;
    shapes.push(tip(s("rect", { tabindex: 0, role: "img", "aria-label": `${one.label}: ${one.text}`, x: left + i * wide + 1, y: height - bottom - Math.max(tall, one.value > 0 ? 1.5 : 0), width: Math.max(1, wide - 2), height: Math.max(tall, one.value > 0 ? 1.5 : 0), style: { fill: `var(--${fillName})` } }), `${one.label}\n${one.text}`));
    const every = Math.ceil(58 / wide);
    if (i % every === 0 && left + i * wide + 7 * one.tick.length < width) shapes.push(s("text", { class: "dim", x: left + i * wide + 1, y: height - bottom + 14 }, one.tick));
  });
  return h("figure", {}, h("figcaption", {}, title), s("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, width, role: "group", "aria-label": title }, shapes));
}

function sizeView(place, trace) {
  const bins = trace.sizes.bins, common = trace.page.flatMap((one) => one.sizes.bins);
  if (!bins.length) { place.append(h("p", {}, "There are no point-to-point messages.")); return; }
  const last = Math.max(...common.map((one) => one.below)), entries = (key, shown) => {
    const all = [];
    const known = new Map(bins.map((one) => [one.below, one]));
    for (let below = Math.min(...common.map((one) => one.below)); below <= last; below *= 2) {
      const one = known.get(below) || { above: below / 2, below, messages: 0, nbytes: 0 };
      const range = below === 1 ? "0 B" : `${binaryBytes(one.above)} to below ${binaryBytes(below)}`;
      all.push({ value: one[key], label: range, text: `${number(one.messages)} messages, ${bytes(one.nbytes)}`, tick: below === 1 ? "0 B" : binaryBytes(one.above) });
    }
    return barChart(key === "messages" ? "Messages by size" : "Bytes by size of the message", all, shown, "send", Math.max(...common.map((one) => one[key])));
  };
  const count = bins.reduce((total, one) => total + one.messages, 0), volume = bins.reduce((total, one) => total + one.nbytes, 0);
  place.append(h("h3", {}, "Message sizes"), h("p", {}, `${number(count)} messages, ${bytes(volume)}, mean ${bytes(count ? volume / count : 0)}`), trace.sizes.exact ? "" : h("p", { class: "note" }, "estimated from a sample"),
    h("div", { class: "charts" }, entries("messages", number), entries("nbytes", bytes)));
}

// The views of all traces, which have common axes: of the calls that each of them shows.
const deltaViews = [];

function deltaView(place, trace) {
  const all = trace.deltas;
  if (!all.length) { place.append(h("p", {}, "The trace has no times.")); return; }
  const name = (one) => (one.operation ? `${one.operation}  ${shortSites(one.site)}` : "all calls");
  const choice = h("select", { "aria-label": "Call site" }, all.map((one, i) => h("option", { value: i }, name(one))));
  const weight = h("select", { "aria-label": "Height of the bars" }, h("option", { value: "samples" }, "number of calls"), h("option", { value: "total_ns" }, "their time"));
  const drawing = h("div", { class: "charts" });
  const chart = (title, bins, fillName, common, key) => {
    if (!bins.length) return h("figure", {}, h("figcaption", {}, `${title}: none`));
    const known = new Map(bins.map((one) => [one.index, one])), entries = [];
    const indices = common.flatMap((one) => one.bins.map((bin) => bin.index)), last = Math.max(...indices);
    for (let index = Math.min(...indices); index <= last; index += 1) {
      const one = known.get(index) || { samples: 0, total_ns: 0 };
      const range = index < 0 ? "below 1 ns" : `${duration(10 ** (index / 4))} to ${duration(10 ** ((index + 1) / 4))}`;
      entries.push({ value: one[key], label: range, text: `${number(one.samples)} calls, ${duration(one.total_ns)}`, tick: index < 0 ? "0" : duration(Number((10 ** (index / 4)).toPrecision(2))) });
    }
    const most = Math.max(...common.filter((one) => one.key === key).flatMap((one) => one.bins.map((bin) => bin[key])));
    return barChart(title, entries, key === "samples" ? number : duration, fillName, most);
  };
  const shown = () => all[Number(choice.value)];
  const draw = () => {
    const common = (part) => deltaViews.map((view) => ({ bins: view.shown()[part], key: view.weight.value }));
    drawing.replaceChildren(chart("Computation before calls", shown().before, "compute", common("before"), weight.value),
      chart("Time in calls", shown().inside, "collective", common("inside"), weight.value));
  };
  deltaViews.push({ shown, weight, draw });
  const drawAll = () => deltaViews.forEach((view) => view.draw());
  choice.addEventListener("change", drawAll);
  weight.addEventListener("change", drawAll);
  place.append(h("h3", {}, "Times before and in calls"), h("div", { class: "controls" }, choice, weight), drawing);
  drawAll();
}

// Where the time goes: one bar over computation and the operations.
function shareView(place, trace) {
  const rows = trace.operations.filter((row) => row.mpi_ns !== null);
  if (!rows.length) return;
  const compute = rows.reduce((sum, row) => sum + (row.compute_ns || 0), 0);
  shareBar(place, "Where the time goes", [["computation", compute, "compute"], ...rows.map((row) => [row.operation, row.mpi_ns, categoryColor(trace.category.get(row.operation))])]);
}

// parts: [name, ns, fill]; all: time of the whole bar in ns, if the parts are less.
function shareBar(place, title, parts, all = 0) {
  const sum = parts.reduce((total, part) => total + part[1], 0);
  if (all > 1.002 * sum) parts.push(["after a rank ends", all - sum, "line"]);
  const whole = parts.reduce((sum, part) => sum + part[1], 0), width = chartWidth(900);
  let x = 0;
  const shapes = parts.filter((part) => part[1] > 0).flatMap(([name, ns, fillName]) => {
    const wide = width * ns / whole, left = x;
    x += wide;
    if (wide < 0.5) return [];
    const box = tip(s("rect", { tabindex: 0, role: "img", "aria-label": `${name} ${percent(ns, whole)}`, x: left, y: 0, width: wide, height: 26, style: { fill: `var(--${fillName})`, fillOpacity: 0.6, stroke: "var(--bg)" } }), `${name}\n${duration(ns)}, ${percent(ns, whole)} of all time`);
    const text = `${name} ${percent(ns, whole)}`;
    return [box, text.length * 6.3 < wide ? s("text", { x: left + 5, y: 17 }, text) : name.length * 6.3 < wide ? s("text", { x: left + 4, y: 17 }, name) : ""];
  });
  const listed = parts.filter(([, ns]) => ns >= whole / 200).map(([name, ns, fillName]) =>
    h("li", {}, h("span", { class: "swatch", style: { background: `var(--${fillName})` } }), `${name} ${percent(ns, whole)}`));
  place.append(h("h3", {}, title), h("ul", { class: "legend" }, listed), boxed(s("svg", { class: "chart", viewBox: `0 0 ${width} 28`, width, role: "group", "aria-label": "Time in computation and operations" }, shapes)));
}

function rankView(place, trace) {
  const all = trace.page.flatMap((one) => one.ranks).flatMap((one) => [one.compute_ns[2], one.comm_ns[2]]);
  if (trace.ranks.length) rankBars(place, "Times by rank", trace.ranks, [0, axisTop(Math.max(...all, 1))]); // else the notes say why
}

// What the ranks of two runs differ by; runs on other numbers of ranks cannot be compared so.
function rankDifferences(place, [a, b]) {
  const isSame = a.ranks.length && a.ranks.length === b.ranks.length && a.ranks.every((one, i) => one.first === b.ranks[i].first && one.last === b.ranks[i].last);
  if (!isSame || a.simulated !== b.simulated) return; // recorded and simulated times cannot be compared
  const means = (one, other) => [0, 1, 2].map(() => other[1] - one[1]);
  const bins = a.ranks.map((one, i) => ({ first: one.first, last: one.last, compute_ns: means(one.compute_ns, b.ranks[i].compute_ns), comm_ns: means(one.comm_ns, b.ranks[i].comm_ns) }));
  const values = bins.flatMap((one) => [one.compute_ns[1], one.comm_ns[1]]);
  const [first, second] = roundTicks(0, Math.max(...values.map(Math.abs), 1)), step = second - first;
  rankBars(place, `Differences by rank: B minus A${a.simulated ? ", simulated" : ""}`, bins, [Math.floor(Math.min(...values, 0) / step) * step, Math.ceil(Math.max(...values, 0) / step) * step]);
}

// bins: consecutive ranks with least, mean and most of their times in ns; low, high: ends of the axis.
function rankBars(place, title, bins, [low, high]) {
  const width = chartWidth(900, place), height = 220, ticks = roundTicks(low, high), left = axisRoom(ticks.map(duration)), top = 12, bottom = 28;
  const last = bins[bins.length - 1].last, first = bins[0].first;
  const wide = (width - left - 8) / bins.length, y = (ns) => top + (high - ns) / (high - low || 1) * (height - top - bottom);
  const shapes = ticks.map((ns) => [s("line", { class: "axis", x1: left, x2: width, y1: y(ns), y2: y(ns) }), s("text", { class: "dim", x: left - 5, y: y(ns) + 4, "text-anchor": "end" }, ns ? duration(ns) : "0")]);
  bins.forEach((one, i) => {
    const about = `rank ${span(one.first, one.last)}\ncomputation ${coarseDuration(one.compute_ns[1])}, in MPI ${coarseDuration(one.comm_ns[1])}`;
    const bar = (values, fillName, shift) => s("rect", { x: left + i * wide + shift * wide * 0.45 + 0.5, y: y(Math.max(values[1], 0)), width: Math.max(0.8, wide * 0.42), height: y(Math.min(values[1], 0)) - y(Math.max(values[1], 0)), style: { fill: `var(--${fillName})` } });
    const range = (values, shift) => (one.first === one.last ? "" : s("line", { x1: left + i * wide + (shift * 0.45 + 0.21) * wide, x2: left + i * wide + (shift * 0.45 + 0.21) * wide, y1: y(values[0]), y2: y(values[2]), style: { stroke: "var(--text)" } }));
    shapes.push(tip(s("g", { tabindex: 0, role: "img", "aria-label": about.replace("\n", ", ") }, bar(one.compute_ns, "compute", 0), bar(one.comm_ns, "recv", 1), range(one.compute_ns, 0), range(one.comm_ns, 1)), about));
  });
  if (bins.length <= 16) {
    bins.forEach((one, i) => shapes.push(s("text", { class: "dim", x: left + (i + 0.44) * wide, y: height - 10, "text-anchor": "middle" }, `${i || wide < 48 ? "" : "rank "}${span(one.first, one.last)}`)));
  } else {
    shapes.push(s("text", { class: "dim", x: left, y: height - 10 }, `rank ${number(first)}`), s("text", { class: "dim", x: width - 8, y: height - 10, "text-anchor": "end" }, number(last)));
  }
  place.append(h("h3", {}, title), h("ul", { class: "legend" }, [["compute", "computation"], ["recv", "in MPI"]].map(([name, text]) => h("li", {}, h("span", { class: "swatch", style: { background: `var(--${name})` } }), text)), bins.every((one) => one.compute_ns[0] === one.compute_ns[2]) ? "" : h("li", {}, "bars: means of consecutive ranks, lines: least to most")),
    boxed(s("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, width, role: "group", "aria-label": title }, shapes)));
}
