// The loop tree by time, from the program downwards.
const FLAME_ROW = 20, MAX_FLAME_WIDTH = 1200, FLAME_DEPTH = 24, FLAME_MIN = 1;

class FlameView {
  constructor(place, trace, goto) {
    this.tree = trace.tree;
    this.goto = goto;
    if (!this.tree.timed) {
      place.append(h("p", { class: "note" }, "the trace has no times: widths are numbers of calls"));
    }
    this.value = this.tree.timed ? timeOf : (node) => node.calls;
    this.text = this.tree.timed ? duration : (n) => `${number(n)} calls`;
    this.place = place;
    this.path = [this.tree.root];
    this.back = h("button", { type: "button", onclick: () => this.up() }, "Back");
    this.where = h("span", { class: "dim", "aria-live": "polite" });
    this.drawing = h("div", {});
    place.append(h("div", { class: "controls" }, this.back, this.where), this.drawing);
    place.addEventListener("keydown", (event) => { if (event.key === "Escape") this.up(); });
    this.draw();
  }

  up() {
    if (this.path.length > 1) this.path.pop();
    this.draw();
  }

  draw() {
    const node = this.path[this.path.length - 1], room = chartWidth(MAX_FLAME_WIDTH);
    const rects = [];
    let depth = 0;
    const put = (one, x, width, level) => {
      if (width < FLAME_MIN || level >= FLAME_DEPTH) return;
      depth = Math.max(depth, level);
      rects.push([one, x, width, level]);
      const whole = this.value(one) || 1;
      let at = x;
      for (const child of one.children) {
        const wide = width * this.value(child) / whole;
        put(child, at, wide, level + 1);
        at += wide;
      }
    };
    put(node, 0, room, 0);
    const total = this.value(this.tree.root);
    const groups = rects.map(([one, x, width, level]) => this.rect(one, x, width, level, total));
    const svg = s("svg", { class: "flame chart", viewBox: `0 0 ${room} ${(depth + 1) * FLAME_ROW}`, width: room,
      role: "group", "aria-label": "Flame graph" }, groups);
    this.drawing.replaceChildren(boxed(svg));
    this.where.textContent = this.path.length > 1 ? `${titleOf(node)}: ${this.text(this.value(node))}, ${percent(this.value(node), total)} of all` : "";
    this.back.disabled = this.path.length < 2;
  }

  rect(one, x, width, level, total) {
    const site = shortSite(placeOf(this.tree, one)), text = `${titleOf(one)}  ${site}`.trim();
    const shown = `${titleOf(one)}  ${functionFirst(site)}`.trim();
    const fillName = one.op ? categoryColor(one.category) : one.number < 0 ? "line" : "panel";
    const share = one.op && this.tree.timed && timeOf(one) ? one.compute_ns / timeOf(one) : 0;
    const block = (from, wide, name, fillOpacity) => s("rect", { x: from, y: level * FLAME_ROW, width: wide, height: FLAME_ROW, rx: 2,
      style: { fill: `var(--${name})`, fillOpacity, stroke: "var(--bg)" } });
    const before = width * share; // computation, then the call
    const parts = [];
    if (before > 0) parts.push(block(x, before, "compute", 0.45));
    if (width > before) parts.push(block(x + before, width - before, fillName, one.op ? 0.45 : 1));
    const label = (from, wide, words) => {
      const room = Math.floor((wide - 8) / 6.6);
      if (room > 3) parts.push(s("text", { x: from + 4, y: level * FLAME_ROW + 12.5 }, words.length > room ? `${words.slice(0, room - 1)}…` : words));
    };
    if (before > width / 2) label(x, before, `computation before ${shown}`);
    else label(x + before, width - before, shown);
    const facts = [text, `${this.text(this.value(one))}, ${percent(this.value(one), total)} of all`];
    if (this.tree.timed) facts.push(`${duration(one.comm_ns)} in MPI, ${duration(one.compute_ns)} computation`);
    const group = s("g", { tabindex: 0, role: "button", "aria-label": facts.join(", ") }, parts);
    const zoom = () => {
      if (!one.children.length) { this.goto(one.number); return; }
      if (one === this.path[this.path.length - 1]) this.up();
      else { this.path.push(one); this.draw(); }
    };
    group.addEventListener("click", zoom);
    group.addEventListener("keydown", (event) => { if (event.key === "Enter") zoom(); });
    return tip(group, facts.join("\n"));
  }
}
