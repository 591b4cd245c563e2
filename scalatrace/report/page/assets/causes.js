// Ranks that others wait for: on the grid of ranks, darker the longer others wait; arrows from a rank to the one that it waits for.
const CAUSE_CELL = 64, MAX_CAUSE_ARROWS = 5, LEAST_CAUSE = 0.25; // arrows below this part of the longest wait are not drawn

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
  const side = Math.max(8, Math.min(CAUSE_CELL, Math.floor(860 / columns))), isNumbered = side >= 20;
  const disc = isNumbered ? Math.min(13, side * 0.36) : 0, gap = Math.min(14, side * 0.2), margin = 44;
  const centre = (rank) => places.of(rank).map((at) => margin + (at + 0.5) * side);
  const shapes = ranks.map(([rank, waits, caused]) => {
    const [x, y] = centre(rank), wide = side - gap, about = `rank ${number(rank)}\nothers wait for it ${coarseDuration(caused)}\nit waits ${coarseDuration(waits)}`;
    return tip(s("rect", { x: x - wide / 2, y: y - wide / 2, width: wide, height: wide, rx: 3, tabindex: caused ? 0 : null, role: "img", "aria-label": about.replaceAll("\n", ", "), style: { fill: caused ? "var(--worse)" : "var(--panel)", fillOpacity: caused ? 0.12 + 0.88 * caused / most : 1, stroke: "var(--line)" } }), about);
  });
  // Numbers on light discs, above the arrows.
  const numbers = isNumbered ? ranks.map(([rank]) => {
    const [x, y] = centre(rank);
    return s("g", { class: "number", style: { pointerEvents: "none" } }, s("circle", { cx: x, cy: y, r: disc, style: { fill: "var(--bg)", fillOpacity: 0.9 } }), s("text", { x, y: y + 4, "text-anchor": "middle" }, String(rank)));
  }) : "";
  const longest = pairs.length ? pairs[0][2] : 1, drawn = pairs.slice(0, MAX_CAUSE_ARROWS).filter(([, , ns]) => ns >= LEAST_CAUSE * longest);
  const arrows = drawn.map(([waits, late, ns]) => causeArrow(centre(waits), centre(late), disc || side * 0.3, 1.5 + 2.5 * ns / longest, `rank ${number(waits)} waits ${coarseDuration(ns)} for rank ${number(late)}`));
  place.append(h("figure", {}, h("figcaption", {}, `Darker: others wait longer for this rank. Arrows: the ${drawn.length === 1 ? "longest wait" : `${drawn.length} longest waits`}, from a rank to the one that it waits for.`),
    h("div", { class: "scroll" }, s("svg", { class: "causes chart", viewBox: `0 0 ${columns * side + 2 * margin} ${places.high * side + 2 * margin}`, width: columns * side + 2 * margin, role: "group", "aria-label": "Ranks that others wait for" }, shapes, arrows, numbers))));
}

// A bent arrow between two discs, so that it passes beside the ranks between them, with a light edge.
function causeArrow([ax, ay], [bx, by], radius, wide, text) {
  const away = Math.hypot(bx - ax, by - ay) || 1, bend = Math.min(0.5 * away, 80);
  const cx = (ax + bx) / 2 + bend * (by - ay) / away, cy = (ay + by) / 2 - bend * (bx - ax) / away;
  const towards = (x, y, distance) => { const far = Math.hypot(cx - x, cy - y) || 1; return [x + distance * (cx - x) / far, y + distance * (cy - y) / far]; };
  const long = 6 + 1.5 * wide, [x1, y1] = towards(ax, ay, radius), [tx, ty] = towards(bx, by, radius), [x2, y2] = towards(bx, by, radius + long);
  const ux = (tx - x2) / long, uy = (ty - y2) / long, half = 0.55 * long;
  const head = [[tx, ty], [x2 + half * uy, y2 - half * ux], [x2 - half * uy, y2 + half * ux]].map((point) => point.map((at) => at.toFixed(1)).join(",")).join(" ");
  const path = `M${x1.toFixed(1)},${y1.toFixed(1)} Q${cx.toFixed(1)},${cy.toFixed(1)} ${x2.toFixed(1)},${y2.toFixed(1)}`;
  return tip(s("g", { role: "img", "aria-label": text },
    s("path", { d: path, style: { fill: "none", stroke: "var(--bg)", strokeWidth: wide + 3 } }), s("polygon", { points: head, style: { fill: "var(--text)", stroke: "var(--bg)", strokeWidth: 1.5 } }),
    s("path", { d: path, style: { fill: "none", stroke: "var(--text)", strokeWidth: wide } })), text);
}
