// A history of runs: overview, evolution of factors, efficiencies.
const SIGNS = [[1e-4, "#", "=", 0.95], [1e-2, "+", "-", 0.5]];

// Sign, colour and strength of a run; null: not tested.
function mark(value, low, high, likelihood) {
  if ([value, low, high, likelihood].includes(null)) return null;
  const slower = value > (low + high) / 2;
  const found = SIGNS.find(([limit]) => likelihood < limit);
  return found ? { sign: slower ? found[1] : found[2], fill: slower ? "worse" : "better", strength: found[3], text: slower ? "slower" : "faster" } : { sign: "", fill: "dim", strength: 0.16, text: "as before" };
}

function marksOf(each) {
  return each.values.map((value, i) => mark(value, each.low[i], each.high[i], each.likelihood[i]));
}

function overviewView(place, data) {
  const left = 320, size = Math.max(10, Math.min(26, 760 / Math.max(1, data.runs.length))), high = 20;
  for (const [each, title] of [[data.evolution, "Single runs"], [data.window_evolution, `Means of ${data.window_evolution.length ? data.window_evolution[0].window : 1} runs`]]) {
    const shapes = each.flatMap((one, row) => [
      tip(s("text", { x: left - 6, y: row * high + 14, "text-anchor": "end" }, one.factor.length > 46 ? `…${one.factor.slice(-45)}` : one.factor), one.factor),
      ...marksOf(one).map((found, i) => {
        const what = `${data.runs[i]}\n${one.factor}\n${found ? found.text : "not tested"}`;
        return [tip(s("rect", { x: left + i * size, y: row * high + 1, width: size - 2, height: high - 3, tabindex: found && found.sign ? 0 : null, role: "img", "aria-label": what.replaceAll("\n", ", "), style: { fill: found ? `var(--${found.fill})` : "none", fillOpacity: found ? found.strength : 1, stroke: "var(--line)" } }), what),
          found && found.sign ? s("text", { x: left + i * size + size / 2 - 1, y: row * high + 14, "text-anchor": "middle", style: { pointerEvents: "none" } }, found.sign) : ""];
      }),
    ]);
    const width = left + data.runs.length * size + 4;
    place.append(h("h3", {}, title), h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": title },
      s("svg", { viewBox: `0 0 ${width} ${each.length * high + 4}`, width, height: each.length * high + 4, role: "group", "aria-label": title }, shapes)));
  }
  place.append(h("p", { class: "help" }, "# + slower, = - faster; # and = have a likelihood below 0.01 %."));
}

function evolutionView(place, data) {
  const shown = data.in_ns ? duration : (value) => String(Number(value.toPrecision(5)));
  place.append(h("div", { class: "charts" }, data.evolution.map((each) => {
    const found = marksOf(each);
    const points = each.values.flatMap((value, i) => (value === null ? [] : [[i, value, `${data.runs[i]}\n${shown(value)}${found[i] && found[i].sign ? `, ${found[i].text}` : ""}`, found[i] && found[i].sign ? found[i].fill : "accent"]]));
    // Of few runs, the interval is many times as wide as the values: what lies far beyond them is cut off.
    const ys = points.map((point) => point[1]), least = Math.min(...ys), most = Math.max(...ys), room = Math.max(most - least, most / 2);
    const band = each.low.flatMap((low, i) => (low === null ? [] : [[i, Math.max(low, least - room), Math.min(each.high[i], most + room)]]));
    return lineChart({ title: each.factor, series: [{ name: each.factor, fill: "accent", points }], band, shownX: (i) => data.runs[i].split("/").pop(), shownY: shown });
  })));
}

function efficiencyView(place, data) {
  const rows = data.efficiency, series = [["parallel_efficiency", "accent"], ["load_balance", "compute"], ["communication_efficiency", "recv"]].map(([key, fillName]) => ({
    name: key.replace("_", " "), fill: fillName,
    points: rows.flatMap((row, i) => (typeof row[key] === "number" ? [[i, row[key], `${row.run}\n${key.replace("_", " ")} ${coarsePercent(row[key], 1)}`]] : [])),
  }));
  const times = rows.flatMap((row, i) => (typeof row.run_time_ns === "number" ? [[i, row.run_time_ns, `${row.run}\nrun time ${coarseDuration(row.run_time_ns)}`]] : []));
  const shownX = (i) => rows[i].run.split("/").pop();
  place.append(h("div", { class: "charts" },
    lineChart({ title: "POP efficiencies of the runs", series, shownX, shownY: (share) => percent(share, 1) }),
    lineChart({ title: "Run time", series: [{ name: "run time", fill: "accent", points: times }], shownX, shownY: duration })));
}

function startHistory() {
  const data = JSON.parse(document.getElementById("data").textContent);
  const draw = (name, view) => document.querySelectorAll(`.${name}`).forEach((place) => view(place, data));
  draw("overview-view", overviewView);
  draw("evolution-view", evolutionView);
  draw("efficiency-view", efficiencyView);
  ready();
}

startHistory();
