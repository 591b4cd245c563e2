// One small drawing per communication pattern, whatever the number of ranks.
function patternText(pattern) {
  const parts = [`${pattern.kind}: ${pattern.detail}`];
  if (pattern.collectives.length) parts.push(pattern.collectives.join(", "));
  return parts.join("; ");
}

function arrow(x1, y1, x2, y2, gap = 7) {
  const dx = x2 - x1, dy = y2 - y1, length = Math.hypot(dx, dy) || 1;
  const ux = dx / length, uy = dy / length;
  const ax = x1 + ux * gap, ay = y1 + uy * gap, bx = x2 - ux * gap, by = y2 - uy * gap;
  const left = `${bx - 6 * ux + 3.4 * uy},${by - 6 * uy - 3.4 * ux}`, right = `${bx - 6 * ux - 3.4 * uy},${by - 6 * uy + 3.4 * ux}`;
  return [s("line", { class: "link", x1: ax, y1: ay, x2: bx - 3 * ux, y2: by - 3 * uy }), s("polygon", { class: "head", points: `${bx},${by} ${left} ${right}` })];
}

function dots(places) {
  return places.map(([x, y]) => s("circle", { class: "node", cx: x, cy: y, r: 5 }));
}

function around(count, radius = 34) {
  return Array.from({ length: count }, (_, i) => [50 + radius * Math.sin(2 * Math.PI * i / count), 50 - radius * Math.cos(2 * Math.PI * i / count)]);
}

// The distances of a pattern as columns and rows of the drawing; a third dimension goes to the upper right.
function drawnVectors(pattern) {
  return pattern.vectors.map((vector) => {
    const [x = 0, y = 0, z = 0] = [...vector].reverse();
    return [x + 0.5 * z, y - 0.5 * z];
  });
}

// Up to 3 x 3 ranks of the grid, with an arrow for each direction; `fronts`: lines that work crosses one after another.
function gridLinks(pattern, vectors, fronts) {
  const [wide = 3, high = 1] = [...pattern.sides].reverse(), flat = vectors.every(([, y]) => !y), thin = vectors.every(([x]) => !x);
  const columns = thin ? 1 : Math.min(wide, 3), rows = flat ? 1 : Math.min(high, 3);
  const place = (i, j) => [50 + 32 * (i - (columns - 1) / 2), 50 + 32 * (j - (rows - 1) / 2)];
  const places = Array.from({ length: columns * rows }, (_, k) => [k % columns, Math.floor(k / columns)]);
  const links = places.flatMap(([i, j]) => vectors.map(([x, y]) => [i + x, j + y]).filter(([x, y]) => x >= 0 && x < columns && y >= 0 && y < rows).map((to) => arrow(...place(i, j), ...place(...to))));
  const [dx, dy] = vectors.reduce(([a, b], [x, y]) => [a + x, b + y], [0, 0]), away = Math.hypot(dx, dy);
  const lines = fronts && away ? [-0.5, 0.5].map((at) => {
    const [ux, uy] = [dx / away, dy / away], shift = (flat || thin ? 32 : 26) * at, [cx, cy] = [50 + shift * ux, 50 + shift * uy];
    return s("line", { class: "soft", x1: cx - 44 * uy, y1: cy + 44 * ux, x2: cx + 44 * uy, y2: cy - 44 * ux, "stroke-width": 2 });
  }) : [];
  return [lines, links, dots(places.map((at) => place(...at)))];
}

// A rank in the middle, with the ranks that it sends to and receives from, at their distances.
function neighbourLinks(vectors) {
  const step = 38 / Math.max(...vectors.flat().map(Math.abs), 1), opposite = vectors.map(([x, y]) => [-x, -y]);
  const place = ([x, y]) => [50 + step * x, 50 + step * y];
  const around = new Map([...vectors, ...opposite].map((vector) => [String(vector), place(vector)]));
  return [vectors.map((vector, i) => [arrow(50, 50, ...place(vector)), arrow(...place(opposite[i]), 50, 50)]), dots([...around.values(), [50, 50]])];
}

const GLYPHS = {
  ring() {
    const at = around(7);
    return [at.map(([x, y], i) => arrow(x, y, ...at[(i + 1) % at.length])), dots(at)];
  },
  star() {
    const at = around(7, 38);
    return [at.map(([x, y]) => [arrow(50, 50, x, y), arrow(x, y, 50, 50)]), dots([...at, [50, 50]])];
  },
  halo(pattern) {
    const vectors = drawnVectors(pattern);
    return vectors.every((vector) => vector.every((x) => Math.abs(x) <= 1 && x === Math.round(x))) ? gridLinks(pattern, vectors, false) : neighbourLinks(vectors);
  },
  wavefront(pattern) {
    return gridLinks(pattern, drawnVectors(pattern).map((vector) => vector.map(Math.sign)), true);
  },
  transpose() {
    const cells = [0, 1, 2, 3].flatMap((i) => [0, 1, 2, 3].map((j) => s("rect", {
      x: 14 + 18 * i, y: 14 + 18 * j, width: 17, height: 17, style: { fill: i === j ? "var(--recv)" : "var(--line)" },
    })));
    return [cells, arrow(70, 24, 24, 70, 2), arrow(24, 70, 70, 24, 2)];
  },
  tree() {
    const at = [[50, 14], [26, 48], [74, 48], [12, 84], [38, 84], [62, 84], [88, 84]];
    return [[1, 2, 3, 4, 5, 6].map((i) => arrow(...at[(i - 1) >> 1], ...at[i])), dots(at)];
  },
  irregular() {
    const at = [[15, 25], [48, 12], [84, 30], [24, 66], [60, 50], [84, 82], [44, 88]];
    return [[[0, 4], [1, 3], [2, 6], [4, 5], [3, 6], [0, 1], [2, 4]].map(([i, j]) => arrow(...at[i], ...at[j])), dots(at)];
  },
};

function glyph(pattern, size) {
  const isDrawn = (pattern.kind !== "halo" && pattern.kind !== "wavefront") || pattern.vectors.length;
  const draw = (isDrawn && GLYPHS[pattern.kind]) || GLYPHS.irregular;
  return s("svg", { class: "glyph", viewBox: "0 0 100 100", width: size, height: size, role: "img", "aria-label": patternText(pattern) },
    s("title", {}, patternText(pattern)), draw(pattern).flat(3));
}

const MAX_CARD_CALLS = 16;

// The size of a call: of a message, or of a rank in a collective call.
function sizeText(call) {
  if (!call.size) return call.sent === 0 && call.received === 0 ? "0 B" : "–";
  const { nbytes, per, is_mean, is_room } = call.size;
  // A mean of buffers has those of calls without a sender, too.
  return `${is_room ? "buffer of " : ""}${bytes(nbytes)} per ${is_room && is_mean ? "call" : per}${is_mean ? ", mean" : ""}`;
}

// The calls of a pattern, each with its ranks, partners and bytes.
function patternCalls(trace, node, goto) {
  const calls = [];
  if (node.pattern.nested) walkTree(node, (child) => { if (child.op) calls.push(child); });
  else calls.push(...node.children.filter((child) => child.op));
  const moving = calls.filter((call) => call.partners || call.category.includes("collective"));
  if (!moving.length) return "";
  const places = sitesAmong(trace.tree, moving);
  const rows = moving.slice(0, MAX_CARD_CALLS).map((call) => {
    return h("tr", {}, h("th", { scope: "row" }, call.op), h("td", { class: "site" }, h("button", { type: "button", class: "link", "aria-label": `Show ${call.op} in the program`, onclick: () => goto(call.number) }, breakable(places.get(call) || "–"))),
      h("td", { title: call.ranks }, shortRanks(call)), h("td", { class: "partners" }, call.partners || "the ranks of its communicator"),
      h("td", { class: "n" }, number(call.calls)), h("td", { class: "n" }, sizeText(call)));
  });
  const heads = ["call", "call site", "ranks", "to or from", "calls", "bytes"];
  return h("div", { class: "scroll calls" }, h("table", {}, h("thead", {}, h("tr", {}, heads.map((text, i) => h("th", { scope: "col", class: i > 3 ? "n" : "" }, text)))), h("tbody", {}, rows)),
    moving.length > MAX_CARD_CALLS ? h("p", { class: "dim" }, `The program lists ${moving.length - MAX_CARD_CALLS} more.`) : "");
}

const MAX_CARDS = 24;
const LITTLE_TIME = 0.01; // share of all time below which the card of a loop is folded

// A text that is equal for loops with the same calls in the same inner loops, however often they repeat.
function structureOf(tree, node) {
  return node.op ? `${node.op} ${tree.sites[node.site] ? tree.sites[node.site].frames.join(" < ") : ""}` : `[${node.children.map((child) => structureOf(tree, child)).join("; ")}]`;
}

// Time of the calls whose pattern a loop has.
function patternTime(node) {
  return node.pattern.nested ? timeOf(node) : node.children.reduce((sum, child) => sum + (child.op ? timeOf(child) : 0), 0);
}

// The loops with a pattern, those that are equal but for their iterations together; those with most time first.
function patternGroups(tree) {
  const groups = new Map();
  walkTree(tree.root, (node, above) => {
    if (!node.pattern) return;
    const key = node.number ? `${node.pattern.kind}; ${node.pattern.detail}; ${node.ranks}; ${structureOf(tree, node)}` : "program";
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push({ node, isListed: above.some((outer) => outer.pattern && outer.pattern.nested) });
  });
  const sum = (loops, amount) => loops.reduce((total, loop) => total + amount(loop.node), 0);
  return [...groups.values()].map((loops) => {
    loops.sort((a, b) => patternTime(b.node) - patternTime(a.node));
    return {
      ...loops[0], count: loops.length, time: sum(loops, patternTime),
      messages: sum(loops, (node) => node.pattern.messages), nbytes: sum(loops, (node) => node.pattern.nbytes), collectiveBytes: sum(loops, (node) => node.pattern.collective_nbytes),
      iterations: loops.every((loop) => loop.node.iterations) ? sum(loops, (node) => node.iterations) : 0,
    };
  }).sort((a, b) => b.time - a.time || b.messages - a.messages);
}

// Iterations and place of the loops of a card.
function loopText(group, place) {
  if (!group.node.number) return "calls outside loops";
  const inner = group.node.pattern.nested ? "  (calls of the loops in it)" : "";
  const equal = group.count === 1 ? "" : ` and ${group.count === 2 ? "an equal loop" : `${group.count - 1} equal loops`} elsewhere${group.iterations ? `, ${number(group.iterations)} iterations in all of them` : ""}`;
  return `${titleOf(group.node)}${equal}  ${place}${inner}`;
}

function patternCard(trace, group, place, goto) {
  const { node } = group, { pattern } = node;
  const typical = pattern.typical_nbytes ? `, half of the bytes${group.count > 1 ? " of the first loop" : ""} in messages of ${bytes(pattern.typical_nbytes)} or more` : "";
  const facts = group.messages ? `${number(group.messages)} messages, ${bytes(group.nbytes)}${typical}` : "";
  const collectives = `collectives: ${pattern.collectives.join(", ")}${group.collectiveBytes ? `, ${bytes(group.collectiveBytes)} sent` : ""}`;
  const time = trace.tree.timed ? `${duration(group.time)}, ${percent(group.time, timeOf(trace.tree.root))} of all time` : "";
  const table = patternCalls(trace, node, goto), calls = group.count > 1 ? "Calls of the first of these loops" : "Calls";
  return h("div", { class: "card", "data-kind": pattern.kind }, h("div", { class: "about" }, glyph(pattern, 92), h("div", {},
    h("strong", {}, pattern.kind), h("div", {}, pattern.detail), h("div", {}, facts), h("div", {}, time),
    pattern.collectives.length ? h("div", {}, collectives) : "", h("div", { class: "dim" }, breakable(loopText(group, place))),
    node.number ? h("button", { type: "button", onclick: () => goto(node.number) }, "Show in the program") : "")),
  // Calls that the card of the loop around lists are folded.
  table && (group.isListed || group.count > 1) ? h("details", { open: !group.isListed }, h("summary", {}, calls), table) : table);
}

function patternCards(place, trace, goto) {
  const groups = patternGroups(trace.tree), shown = groups.slice(0, MAX_CARDS);
  if (!groups.length) place.append(h("p", {}, "No loop sends messages or calls collectives."));
  const places = sitesAmong(trace.tree, shown.map((group) => group.node));
  const cards = (some) => h("div", { class: "cards" }, some.map((group) => patternCard(trace, group, places.get(group.node), goto)));
  const isShort = (group) => trace.tree.timed && group.time < LITTLE_TIME * timeOf(trace.tree.root);
  const short = shown.filter(isShort);
  place.append(cards(shown.filter((group) => !isShort(group))));
  if (short.length) place.append(h("details", {}, h("summary", {}, `${short.length === 1 ? "A loop" : `${short.length} loops`} with less than ${percent(LITTLE_TIME, 1)} of the time${short.length === 1 ? "" : " each"}`), cards(short)));
  if (groups.length > MAX_CARDS) place.append(h("p", { class: "dim" }, `The program marks ${groups.length - MAX_CARDS} more, with less time.`));
}
