// Ranks that others wait for: on the grid of ranks, darker the longer others wait; arrows from a rank to the one that it waits for.
const CAUSE_CELL = 34, MAX_CAUSE_ARROWS = 8;

// Column and row of a rank, several planes beside each other; without a grid in rows of `wide` ranks.
function placesOfRanks(dims, count) {
  const known = dims.length > 1 && dims.reduce((product, n) => product * n, 1) === count && dims[dims.length - 2] <= 4 * dims[dims.length - 1];
  const wide = known ? dims[dims.length - 1] : Math.min(count, 32), high = known ? dims[dims.length - 2] : Math.ceil(count / wide);
  return { wide, high, planes: Math.ceil(count / (wide * high)), of: (rank) => {
    const plane = Math.floor(rank / (wide * high)), within = rank % (wide * high);
    return [plane * (wide + 1) + within % wide, Math.floor(within / wide)];
  } };
}

function causeView(place, trace) {
  const { by_rank: ranks, pairs } = trace.causes || { by_rank: [], pairs: [] };
  const most = Math.max(0, ...ranks.map((one) => one[2]));
  if (!most) return;
  const places = placesOfRanks(trace.grid.dims, ranks.length), columns = places.planes * (places.wide + 1) - 1;
  const side = Math.max(8, Math.min(CAUSE_CELL, Math.floor(860 / columns)));
  const shapes = ranks.map(([rank, waits, caused]) => {
    const [x, y] = places.of(rank), about = `rank ${number(rank)}\nothers wait for it ${coarseDuration(caused)}\nit waits ${coarseDuration(waits)}`;
    return [tip(s("rect", { x: x * side, y: y * side, width: side - 1, height: side - 1, rx: 2, tabindex: caused ? 0 : null, role: "img", "aria-label": about.replaceAll("\n", ", "), style: { fill: caused ? "var(--worse)" : "var(--panel)", fillOpacity: caused ? 0.12 + 0.88 * caused / most : 1, stroke: "var(--line)" } }), about),
      side >= 20 ? s("text", { class: "dim", x: (x + 0.5) * side, y: (y + 0.5) * side + 4, "text-anchor": "middle", style: { pointerEvents: "none" } }, String(rank)) : ""];
  });
  const longest = pairs.length ? pairs[0][2] : 1;
  const arrows = pairs.slice(0, MAX_CAUSE_ARROWS).map(([waits, late, ns]) => {
    const [[ax, ay], [bx, by]] = [places.of(waits), places.of(late)].map(([x, y]) => [(x + 0.5) * side, (y + 0.5) * side]);
    const away = Math.hypot(bx - ax, by - ay) || 1, [ux, uy] = [(bx - ax) / away, (by - ay) / away];
    const [tx, ty] = [bx - ux * side * 0.3, by - uy * side * 0.3], wide = 1 + 2.5 * ns / longest;
    const head = [[tx, ty], [tx - 7 * ux + 4 * uy, ty - 7 * uy - 4 * ux], [tx - 7 * ux - 4 * uy, ty - 7 * uy + 4 * ux]];
    const text = `rank ${number(waits)} waits ${coarseDuration(ns)} for rank ${number(late)}`;
    return tip(s("g", { role: "img", "aria-label": text, style: { stroke: "var(--text)", fill: "var(--text)", opacity: 0.75 } },
      s("line", { x1: ax, y1: ay, x2: tx - 4 * ux, y2: ty - 4 * uy, style: { strokeWidth: wide } }), s("polygon", { points: head.map((point) => point.join(",")).join(" "), style: { strokeWidth: 0 } })), text);
  });
  place.append(h("figure", {}, h("figcaption", {}, "Darker: others wait longer for this rank. Arrows: the longest waits, from a rank to the one that it waits for."),
    h("div", { class: "scroll" }, s("svg", { class: "causes", width: columns * side + 2, height: places.high * side + 2, role: "group", "aria-label": "Ranks that others wait for" }, shapes, arrows))));
}
