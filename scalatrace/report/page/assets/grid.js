// The grid of ranks with its groups; equal consecutive rows and columns are one cell.
const HUES = ["#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2", "#ff9da6", "#9d755d", "#eeca3b", "#8cd17d", "#79706e", "#d37295"];
const GRID_CELL = 34;

function gridView(place, trace) {
  const grid = trace.grid;
  const axes = grid.axes, names = ["x", "y", "z", "w"].slice(0, axes.length);
  const columns = axes[axes.length - 1].cells, rows = axes.length > 1 ? axes[axes.length - 2].cells : [[0, 0]];
  const planes = axes.length > 2 ? axes.slice(0, -2).reduce((all, axis) => all.flatMap((at) => axis.cells.map((cell) => [...at, cell])), [[]]) : [[]];
  const side = Math.max(10, Math.min(GRID_CELL, Math.floor((chartWidth(864) - 144) / Math.max(columns.length, rows.length))));
  place.append(h("p", {}, `${grid.dims.length > 1 ? `${grid.dims.map(number).join(" × ")} ranks` : rankCount(grid.dims[0])} (${grid.source})${grid.exact ? "" : "; not all ranks or call sites are compared"}`));
  const drawings = planes.slice(0, 12).map((plane, p) => {
    const where = plane.map((cell, i) => `${names[i]} = ${span(...cell)}`).join(", ");
    const left = 74, top = 26;
    const shapes = [], labels = [];
    columns.forEach((cell, j) => {
      if (side >= 22 || j % Math.ceil(26 / side) === 0) shapes.push(s("text", { class: "dim", x: left + j * side + 2, y: j % 2 && columns.length > 2 ? 12 : 22 }, columns.length < 24 ? span(...cell) : number(cell[0])));
    });
    rows.forEach((rowCell, i) => {
      if (axes.length > 1) shapes.push(s("text", { class: "dim", x: left - 6, y: top + i * side + side / 2 + 4, "text-anchor": "end" }, span(...rowCell)));
      columns.forEach((cell, j) => {
        const group = grid.cells[(p * rows.length + i) * columns.length + j];
        const count = (rowCell[1] - rowCell[0] + 1) * (cell[1] - cell[0] + 1) * plane.reduce((n, c) => n * (c[1] - c[0] + 1), 1);
        const places = [...plane, ...(axes.length > 1 ? [rowCell] : []), cell].map((c, k) => `${names[k]} = ${span(...c)}`).join(", ");
        const about = group < 0 ? `${places}\nnot in the trace` : `${places}\n${number(count)} ${count === 1 ? "rank" : "ranks"}, group ${group + 1} of ${grid.groups.length}`;
        const numbered = group >= 0 && grid.groups.length > HUES.length && side >= 20;
        if (numbered) labels.push(s("text", { x: left + (j + 0.5) * side, y: top + (i + 0.5) * side + 4, "text-anchor": "middle", style: { fill: "#000", pointerEvents: "none" } }, `${group + 1}`));
        shapes.push(tip(s("rect", { x: left + j * side, y: top + i * side, width: side, height: side, rx: 3, style: { fill: group < 0 ? "var(--line)" : HUES[group % HUES.length] } }), about));
      });
    });
    return h("figure", {}, s("svg", { class: "ranks chart", viewBox: `0 0 ${left + columns.length * side + 70} ${top + rows.length * side + 4}`, width: left + columns.length * side + 70, role: "img",
      "aria-label": `Ranks by group, ${grid.groups.length} groups${where ? `, ${where}` : ""}` }, shapes, labels), where ? h("figcaption", {}, where) : "");
  });
  const nested = grid.groups.some((group) => group.ranks.includes("<"));
  place.append(h("div", { class: "charts" }, drawings, h("div", {}, h("h3", {}, `${grid.groups.length} ${grid.groups.length === 1 ? "group" : "groups"}`),
    h("div", { class: "scroll" }, h("table", {}, h("tbody", {}, grid.groups.map((group, i) => h("tr", {},
      h("td", {}, h("span", { class: "swatch", style: { background: HUES[i % HUES.length] } }), `${i + 1}`),
      h("td", { class: "n" }, `${number(group.count)} ${group.count === 1 ? "rank" : "ranks"}`), h("td", { class: "site" }, group.ranks)))))),
    nested ? h("p", { class: "dim" }, "<dimensions first (length stride) …>: ranks from the first on, so many of each stride, nested") : "")));
}
