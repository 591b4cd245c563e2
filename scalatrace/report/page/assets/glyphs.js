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

const square = (i) => 18 + 32 * i;

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
    if (pattern.dims <= 1) {
      const at = [[12, 50], [37, 50], [63, 50], [88, 50]];
      return [[0, 1, 2].map((i) => [arrow(...at[i], ...at[i + 1]), arrow(...at[i + 1], ...at[i])]), dots(at)];
    }
    const at = [0, 1, 2].flatMap((i) => [0, 1, 2].map((j) => [square(i), square(j)]));
    const ends = [[0, 1], [2, 1], [1, 0], [1, 2]].map(([i, j]) => [square(i), square(j)]);
    if (pattern.dims > 2) ends.push([square(2) - 5, square(0) + 5], [square(0) + 5, square(2) - 5]);
    return [ends.map(([x, y]) => [arrow(50, 50, x, y), arrow(x, y, 50, 50)]), dots(at)];
  },
  wavefront() {
    const at = [0, 1, 2].flatMap((i) => [0, 1, 2].map((j) => [square(i), square(j)]));
    const links = at.flatMap(([x, y]) => [x < 80 ? arrow(x, y, x + 32, y) : [], y < 80 ? arrow(x, y, x, y + 32) : []]);
    const fronts = [[34, 2, 2, 34], [66, 2, 2, 66], [98, 2, 2, 98]].map(([x1, y1, x2, y2]) => s("line", { class: "soft", x1, y1, x2, y2, "stroke-width": 2 }));
    return [fronts, links, dots(at)];
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
  const draw = GLYPHS[pattern.kind] || GLYPHS.irregular;
  return s("svg", { class: "glyph", viewBox: "0 0 100 100", width: size, height: size, role: "img", "aria-label": patternText(pattern) },
    s("title", {}, patternText(pattern)), draw(pattern).flat(3));
}

function patternCards(place, trace, goto) {
  const found = [];
  walkTree(trace.tree.root, (node) => { if (node.pattern) found.push(node); });
  const direct = (node) => node.children.reduce((sum, child) => sum + (child.op ? timeOf(child) : 0), 0);
  const own = (node) => node.pattern.nested ? timeOf(node) : direct(node); // of the calls whose pattern it is
  found.sort((a, b) => own(b) - own(a) || b.pattern.messages - a.pattern.messages);
  const whole = timeOf(trace.tree.root), places = sitesAmong(trace.tree, found);
  if (!found.length) place.append(h("p", {}, "No loop sends messages or calls collectives."));
  place.append(h("div", { class: "cards" }, found.slice(0, 24).map((node) => {
    const pattern = node.pattern;
    const facts = pattern.messages ? `${number(pattern.messages)} messages, ${bytes(pattern.nbytes)}` : "";
    const time = trace.tree.timed ? `${duration(own(node))}, ${percent(own(node), whole)} of all time` : "";
    return h("div", { class: "card", "data-kind": pattern.kind }, glyph(pattern, 92), h("div", {},
      h("strong", {}, pattern.kind), h("div", {}, pattern.detail), h("div", {}, facts), h("div", {}, time),
      pattern.collectives.length ? h("div", {}, `collectives: ${pattern.collectives.join(", ")}`) : "",
      h("div", { class: "dim" }, node.number ? `${titleOf(node)}  ${places.get(node)}${node.pattern.nested ? "  calls of the loops in it" : ""}` : "calls outside loops"),
      node.number ? h("button", { type: "button", onclick: () => goto(node.number) }, "Show in the program") : ""));
  })));
  if (found.length > 24) place.append(h("p", { class: "dim" }, `${found.length - 24} more loops with less time are marked in the program.`));
}
