// Runs on several numbers of ranks: speed-up, efficiencies, growth of call sites.
const shownRanks = (n) => number(Math.round(n));

function speedupView(place, data) {
  const rows = data.efficiencies, base = rows[0].ranks;
  const name = data.weak ? "scaled speed-up" : "speed-up";
  const line = (key, text) => rows.map((row) => [row.ranks, row[key], `${shownRanks(row.ranks)} ranks\n${text(row)}`]);
  place.append(h("div", { class: "charts" },
    lineChart({ title: data.weak ? "Scaled speed-up" : "Speed-up", logX: true, zero: true, nameX: "ranks", nameY: `over ${base} ranks`, shownX: shownRanks, shownY: (value) => value.toPrecision(3),
      series: [{ name, fill: "accent", points: line("speedup", (row) => `${name} ${row.speedup.toPrecision(3)}`) }, { name: "perfect", fill: "dim", points: rows.map((row) => [row.ranks, row.ranks / base, `${shownRanks(row.ranks)} ranks\nperfect: ${(row.ranks / base).toPrecision(3)}`]) }] }),
    lineChart({ title: "Run time", logX: true, zero: true, nameX: "ranks", nameY: "", shownX: shownRanks, shownY: duration, series: [{ name: "run time", fill: "accent", points: line("run_time_ns", (row) => `run time ${coarseDuration(row.run_time_ns)}`) }] })));
}

const POP_LINES = [["parallel_efficiency", "accent"], ["load_balance", "compute"], ["serialisation", "completion"], ["transfer", "collective"], ["computation_scalability", "send"]];

function popView(place, data) {
  const series = POP_LINES.map(([key, fillName]) => ({ name: key.replace("_", " "), fill: fillName,
    points: data.efficiencies.flatMap((row) => (typeof row[key] === "number" ? [[row.ranks, row[key], `${shownRanks(row.ranks)} ranks\n${key.replace("_", " ")} ${coarsePercent(row[key], 1)}`]] : [])) }));
  place.append(lineChart({ title: "Efficiencies", width: 700, logX: true, zero: true, nameX: "ranks", nameY: "efficiency", shownX: shownRanks, shownY: (share) => percent(share, 1), series: series.filter((one) => one.points.length) }));
}

function growthView(place, data) {
  place.append(h("div", { class: "charts" }, data.growth.map((row) => {
    const title = `${row.kind} ${row.op} ${row.site.split("/").pop()}`;
    const measured = row.ns.flatMap((ns, i) => (ns ? [[data.ranks[i], ns, `${shownRanks(data.ranks[i])} ranks\n${duration(ns)}`]] : []));
    const beyond = row.predicted.map((one) => [one.nranks, one.ns, `${shownRanks(one.nranks)} ranks, predicted\n${coarseDuration(one.ns)}`, "worse"]);
    const band = row.predicted.flatMap((one) => (typeof one.high_ns === "number" && one.high_ns < 20 * Math.max(one.ns, 1) ? [[one.nranks, one.low_ns, one.high_ns]] : []));
    const series = [{ name: "measured", fill: "accent", points: measured }];
    if (beyond.length) series.push({ name: "predicted", fill: "worse", points: beyond });
    return lineChart({ title, logX: true, zero: true, nameX: "ranks", nameY: "time of a rank", shownX: shownRanks, shownY: duration, series, band });
  })));
}

function startScaling() {
  const data = JSON.parse(document.getElementById("data").textContent);
  const draw = (name, view) => document.querySelectorAll(`.${name}`).forEach((place) => view(place, data));
  draw("speedup-view", speedupView);
  draw("efficiency-view", popView);
  draw("growth-view", growthView);
  ready();
}

startScaling();
