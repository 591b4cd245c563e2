// A simulated run: the parts of its longest path, and its time over factors on the platform.
const PATH_PARTS = [["computation", "compute"], ["latency", "recv"], ["bytes", "send"], ["overheads", "completion"]];
const CURVES = { latency: ["latency", "recv"], bandwidth: ["bandwidth", "send"], compute: ["computation times", "compute"] };

// Where the predicted time of all ranks goes.
function predictedView(place, trace) {
  const rows = trace.prediction.operations, sum = (key) => rows.reduce((total, row) => total + row[key], 0);
  const parts = rows.map((row) => [row.operation, row.transfer_ns + row.waiting_ns, categoryColor(trace.category.get(row.operation))]);
  shareBar(place, "Where the predicted time goes", [["computation", sum("compute_ns"), "compute"], ...parts], trace.prediction.time_ns * trace.tree.root.nranks);
}

function pathView(place, trace) {
  const { path, time_ns: whole } = trace.prediction;
  const width = chartWidth(900);
  let x = 0;
  const shapes = PATH_PARTS.flatMap(([name, fillName], i) => {
    const wide = whole ? width * path[i] / whole : 0, left = x;
    x += wide;
    if (wide < 0.5) return [];
    const text = `${name} ${coarsePercent(path[i], whole)}`;
    const box = tip(s("rect", { tabindex: 0, role: "img", "aria-label": text, x: left, y: 0, width: wide, height: 26, style: { fill: `var(--${fillName})`, fillOpacity: 0.6, stroke: "var(--bg)" } }), `${text}\n${coarseDuration(path[i])}`);
    return [box, text.length * 6.6 < wide ? s("text", { x: left + 5, y: 17 }, text) : ""];
  });
  place.append(boxed(s("svg", { class: "chart", viewBox: `0 0 ${width} 28`, width, role: "group", "aria-label": "Parts of the longest path" }, shapes)));
}

function sensitivityView(place, trace) {
  const whole = trace.prediction.time_ns;
  place.append(h("div", { class: "charts" }, trace.prediction.curves.map((curve) => {
    const [name, fillName] = CURVES[curve.parameter];
    const points = curve.points.map(([factor, ns]) => [factor, ns, `${name} × ${factor}\n${coarseDuration(ns)}, ${whole ? (ns / whole).toFixed(3) : "–"} of the time of the run that is shown`]);
    return lineChart({ title: `Run time over a factor on the ${name}`, series: [{ name, fill: fillName, points }], shownX: (factor) => `× ${factor}`, nameX: `factor on the ${name}`, nameY: "run time", shownY: duration, logX: true, zero: true });
  })));
}
