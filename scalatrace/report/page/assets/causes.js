// Ranks that others wait for: on the grid of ranks, a ring, a star or a tree, darker the longer others wait; arrows from a rank to the one that it waits for.
const CAUSE_CELL = 64, MAX_CAUSE_ARROWS = 5, LEAST_CAUSE = 0.25; // arrows below this part of the longest wait are not drawn

// Centres of the ranks in units of cells, and the size of all: on a grid with several planes beside each other, without a grid in rows.
function placesOnGrid(dims, count) {
  const known = dims.length > 1 && dims.reduce((product, n) => product * n, 1) === count && dims[dims.length - 2] <= 4 * dims[dims.length - 1];
  const wide = known ? dims[dims.length - 1] : Math.min(count, 32), high = known ? dims[dims.length - 2] : Math.ceil(count / wide);
  const planes = Math.ceil(count / (wide * high));
  return { wide: planes * (wide + 1) - 1, high, of: (rank) => {
    const plane = Math.floor(rank / (wide * high)), within = rank % (wide * high);
    return [plane * (wide + 1) + within % wide + 0.5, Math.floor(within / wide) + 0.5];
  } };
}

// Around a circle, in the order of the ranks; `hub`: the rank in its middle, or -1.
function placesOnCircle(count, hub) {
  const outside = count - (hub < 0 ? 0 : 1), radius = Math.max(1.5, 1.2 * outside / (2 * Math.PI)), middle = radius + 0.5;
  return { wide: 2 * middle, high: 2 * middle, of: (rank) => {
    if (rank === hub) return [middle, middle];
    const turn = 2 * Math.PI * (rank - (hub >= 0 && rank > hub ? 1 : 0)) / outside;
    return [middle + radius * Math.sin(turn), middle - radius * Math.cos(turn)];
  } };
}

// A tree, its root at the top: leaves beside each other, each other rank above the middle of those below it.
function placesOnTree(parents) {
  const below = parents.map(() => []), at = [], roots = [];
  parents.forEach((parent, rank) => (parent === rank ? roots : below[parent]).push(rank));
  let leaves = 0, deepest = 0;
  const put = (rank, depth) => {
    deepest = Math.max(deepest, depth);
    below[rank].forEach((child) => put(child, depth + 1));
    const across = below[rank].map((child) => at[child][0]);
    at[rank] = [across.length ? (across[0] + across[across.length - 1]) / 2 : 0.5 + leaves, 0.5 + depth * 1.2];
    if (!across.length) leaves += 1;
  };
  roots.forEach((root) => put(root, 0));
  return { wide: leaves, high: 1 + deepest * 1.2, of: (rank) => at[rank] };
}

const LAYOUT_TEXTS = { ring: "The ranks are drawn around a ring, as most messages go. ", tree: "The ranks are drawn as the tree along which most messages go. " };

// Pairs of ranks that are joined by a line, which shows the shape.
function linksOfRanks(layout, count) {
  const ranks = Array.from({ length: count }, (_, rank) => rank);
  if (layout.kind === "ring") return ranks.map((rank) => [rank, (rank + 1) % count]);
  if (layout.kind === "star") return ranks.filter((rank) => rank !== layout.hub).map((rank) => [layout.hub, rank]);
  return layout.kind === "tree" ? ranks.map((rank) => [layout.parents[rank], rank]) : [];
}

function placesOfRanks(layout, dims, count) {
  if (layout.kind === "ring" || layout.kind === "star") return placesOnCircle(count, layout.hub);
  return layout.kind === "tree" ? placesOnTree(layout.parents) : placesOnGrid(dims, count);
}

function causeView(place, trace) {
  const { by_rank: ranks, pairs } = trace.causes || { by_rank: [], pairs: [] };
  const most = Math.max(0, ...ranks.map((one) => one[2]));
  if (!most) return;
  const layout = trace.layout, places = placesOfRanks(layout, trace.grid.dims, ranks.length), columns = places.wide;
  const side = Math.max(layout.kind === "grid" ? 8 : 24, Math.min(CAUSE_CELL, Math.floor(860 / columns))), isNumbered = side >= 20;
  const disc = isNumbered ? Math.min(13, side * 0.36) : 0, gap = Math.min(14, side * 0.2), margin = 44;
  const centre = (rank) => places.of(rank).map((at) => margin + at * side);
  const shapes = ranks.map(([rank, waits, caused]) => {
    const [x, y] = centre(rank), wide = side - gap, about = `rank ${number(rank)}\nothers wait for it ${coarseDuration(caused)}\nit waits ${coarseDuration(waits)}`;
    return tip(s("rect", { x: x - wide / 2, y: y - wide / 2, width: wide, height: wide, rx: 3, tabindex: caused ? 0 : null, role: "img", "aria-label": about.replaceAll("\n", ", "), style: { fill: caused ? `color-mix(in srgb, var(--worse) ${Math.round(12 + 88 * caused / most)}%, var(--bg))` : "var(--panel)", stroke: "var(--line)" } }), about);
  });
  const links = linksOfRanks(layout, ranks.length).map(([a, b]) => {
    const [[x1, y1], [x2, y2]] = [centre(a), centre(b)];
    return s("line", { class: "axis", x1, y1, x2, y2, "stroke-width": 2 });
  });
  // Numbers on light discs, above the arrows.
  const numbers = isNumbered ? ranks.map(([rank]) => {
    const [x, y] = centre(rank);
    return s("g", { class: "number", style: { pointerEvents: "none" } }, s("circle", { cx: x, cy: y, r: disc, style: { fill: "var(--bg)", fillOpacity: 0.9 } }), s("text", { x, y: y + 4, "text-anchor": "middle" }, String(rank)));
  }) : "";
  const longest = pairs.length ? pairs[0][2] : 1, drawn = pairs.slice(0, MAX_CAUSE_ARROWS).filter(([, , ns]) => ns >= LEAST_CAUSE * longest);
  const arrows = drawn.map(([waits, late, ns]) => causeArrow(centre(waits), centre(late), disc || side * 0.3, 1.5 + 2.5 * ns / longest, `rank ${number(waits)} waits ${coarseDuration(ns)} for rank ${number(late)}`));
  place.append(h("figure", {}, h("figcaption", {}, `${layout.kind === "star" ? `Rank ${layout.hub}, with which most messages are exchanged, is in the middle. ` : LAYOUT_TEXTS[layout.kind] || ""}Darker: others wait longer for this rank. Arrows: the ${drawn.length === 1 ? "longest wait" : `${drawn.length} longest waits`}, from a rank to the one that it waits for.`),
    h("div", { class: "scroll" }, s("svg", { class: "causes chart", "data-layout": layout.kind, viewBox: `0 0 ${columns * side + 2 * margin} ${places.high * side + 2 * margin}`, width: columns * side + 2 * margin, role: "group", "aria-label": "Ranks that others wait for" }, links, shapes, arrows, numbers))));
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
