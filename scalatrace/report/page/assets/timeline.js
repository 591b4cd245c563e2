// The time line: a row per rank, or per thread of a rank, on a canvas; zoom and move by wheel, drag, buttons and keys.
const LANE = 26, LOW_LANE = 14, MAX_HIGH_LANES = 64, LANE_TOP = 22, MAX_ARROWS = 300, MAX_EDGED = 60;
const LEAST_LABEL = 84, LETTER = 6.6; // pixels of the names of rows
const GAP_OPACITY = 0.28; // of computation between calls
const LEAST_PERIOD = 6; // pixels of a repetition whose calls are drawn

const timeLines = []; // those of the page

const longestTime = () => Math.max(...timeLines.map((view) => view.last - view.first));
const sumOf = (list, value) => list.reduce((sum, one) => sum + value(one), 0);
const startOf = (item) => isLoop(item) ? item.start_ns : item[START];
const outlineEnd = (outline) => outline.start_ns + outline.width_ns * outline.shares.length;

// The bins of a row that overlap a window: their numbers, and parts as category and thousandths of a bin.
function binsIn({ start_ns: start, width_ns: width, categories, shares }, from, to) {
  const first = Math.max(0, Math.floor((from - start) / width)), last = Math.min(shares.length - 1, Math.floor((to - start) / width));
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => ({ number: first + i, parts: shares[first + i].map((share, at) => [categories[at], share]).filter(([, share]) => share) }));
}

class TimeLineView {
  constructor(place, trace) {
    this.data = trace.timeline;
    this.name = trace.name;
    this.lines = this.data.lines;
    this.lines.forEach((line) => completeItems(line.items));
    this.lane = this.lines.length > MAX_HIGH_LANES ? LOW_LANE : LANE;
    const starts = this.lines.flatMap((line) => line.items.slice(0, 1)).map(startOf);
    const outlines = this.lines.map((line) => line.outline).filter(Boolean);
    this.first = Math.min(...starts, ...outlines.map((outline) => outline.start_ns), Infinity);
    this.last = Math.max(...this.lines.map((line) => line.items.length ? line.end_ns : 0), ...outlines.map(outlineEnd), 0);
    if (!(this.last > this.first)) {
      place.append(h("p", {}, this.data.note || "No calls in this window."));
      return;
    }
    this.edge = Math.max(LEAST_LABEL, 12 + LETTER * Math.max(...this.lines.map((line, i) => this.label(i).length)));
    this.chosen = { line: 0, bar: null, start: 0 };
    this.shown = [];
    const [op, , site] = this.data.places[this.data.places.length - 1];
    const example = `${op}${site ? ` ${shortSite(site).split(/[: ]/).slice(0, 2).join(":")}` : ""} rank:${this.lines[0].rank}`;
    const hasLoops = this.lines.some((line) => line.items.some(isLoop));
    this.canvas = h("canvas", { tabindex: 0, role: "application", "aria-label": "Time line: left and right go from call to call, up and down to other ranks, plus and minus zoom" });
    this.detail = h("p", { class: "detail", "aria-live": "polite" }, "Point at a call, or focus the drawing and use the arrow keys.");
    const button = (text, label, action) => h("button", { type: "button", "aria-label": label, onclick: action }, text);
    this.runTime = trace.runTime || 0;
    const isReconstructed = this.data.timed && this.lines.some((line) => !line.simulated);
    const hasMessages = this.lines.some((line) => sumCalls(line.items, (bar) => bar[SENT][0] >= 0 ? 1 : 0));
    const messageNote = hasMessages ? h("p", { class: "dim" }, `Arrows are messages. ${isReconstructed ? "A dashed arrow goes back in time, since times are means. " : ""}An arrow to or from a rank without a row ends at the edge of the other rank’s row.`) : "";
    place.append(
      isReconstructed ? h("p", { class: "help" }, "Reconstructed from mean times: a trace has no time stamps. The order of calls of a rank is exact; times, and the order between ranks, are not.") : "",
      this.data.simulated_note ? h("p", { class: "help" }, this.data.simulated_note) : "",
      h("div", { class: "controls" }, button("+", "Zoom in", () => this.zoom(0.5)), button("−", "Zoom out", () => this.zoom(2)),
        button("←", "Earlier", () => this.move(-0.3)), button("→", "Later", () => this.move(0.3)), button("All", "Show all", () => this.all()),
        h("input", { type: "search", size: Math.ceil(1.2 * example.length) + 3, placeholder: example, "aria-label": "Search in the time line; Enter goes to the next call", oninput: (event) => this.search(event.target.value), onkeydown: (event) => { if (event.key === "Enter") this.next(); } }),
        this.span = h("span", { class: "dim" }), this.hidden = h("span", { class: "dim" }), this.found = h("span", { class: "dim", "aria-live": "polite" })),
      legend([...this.data.places.map((one) => one[1]), ...outlines.flatMap((outline) => outline.categories.slice(1))], "computation: gaps", GAP_OPACITY), this.canvas, this.detail, messageNote,
      this.data.threads ? h("p", { class: "dim" }, this.data.threads) : "",
      hasLoops ? h("p", { class: "dim" }, "Where iterations are too short to draw, bars show how their time is divided; zoom in to see their calls.") : "",
      this.data.chosen ? h("p", { class: "dim" }, this.data.chosen, this.lines.some((line) => line.alike) ? " The number below a rank is that of ranks with equal numbers of calls and equal partners." : "") : "",
      outlines.length ? this.beyond = h("p", { class: "note" }) : "",
      this.data.timed ? "" : h("p", { class: "note" }, "The trace has no times: all calls have the same length."));
    this.from = this.first;
    this.to = this.last;
    timeLines.push(this);
    this.connect();
    new ResizeObserver(() => this.draw()).observe(place);
    redraws.push(() => this.draw());
    this.begin();
  }

  // First show a whole iteration of the main loop, in the middle of the run, and at least about 30 calls of the first rank;
  // where there is a simulated row, the first ones of both rows, which may be fast and slow. Short runs are shown as a whole.
  begin() {
    const [first, below] = this.lines;
    if (this.data.window.length) [this.from, this.to] = this.data.window;
    else if (sumCalls(first.items, () => 1) > 60) {
      const isPair = below && below.simulated && !first.simulated && sumCalls(below.items, () => 1) > 30;
      const [from, end] = this.reach(first, isPair ? 0 : (this.first + first.end_ns) / 2);
      const [fromBelow, endBelow] = isPair ? this.reach(below, 0) : [from, end];
      this.from = Math.min(from, fromBelow);
      this.to = Math.max(end, endBelow, this.from + 1);
      const { iteration_ns: iteration } = this.data;
      if (2 * iteration > this.last - this.first) [this.from, this.to] = [this.first, this.last];
      else if (iteration && !isPair) {
        const start = this.iterationStart(first, this.from);
        this.from = start === null ? this.from : start - 0.05 * iteration;
        this.to = Math.max(this.to, this.from + (start === null ? 2 : 1.15) * iteration);
      } else if (iteration) this.to = Math.max(this.to, this.from + 2 * iteration);
      const beyond = this.to - this.last;
      if (beyond > 0) [this.from, this.to] = [Math.max(this.first, this.from - beyond), this.last];
    }
    this.to = this.from + Math.max(...timeLines.map((view) => view.to - view.from));
    this.draw();
  }

  // Where the next iteration of the main loop starts in a row; null: its calls do not show that.
  iterationStart(line, from) {
    const [begins, ends] = this.data.iteration_ends;
    let previous = null;
    for (const { bar, start } of callsOf(line.items, from, from + 2.5 * this.data.iteration_ns)) {
      if (previous === ends && bar[PLACE] === begins && start >= from) return start;
      previous = bar[PLACE];
    }
    return null;
  }

  // Start and end of the next 30 calls of a row.
  reach(line, from) {
    const calls = [];
    for (const call of callsOf(line.items, from, Infinity)) if (calls.push(call) > 30) break;
    return calls.length ? [calls[0].start, Math.max(...calls.map((call) => call.start + call.bar[LENGTH]))] : [this.first, this.last];
  }

  connect() {
    let down = null;
    this.canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.shiftKey && document.activeElement !== this.canvas) return; // the page scrolls
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.timeAt(event.offsetX));
    }, { passive: false });
    // Dragging moves; on the axis, or with Shift, it selects what to zoom to.
    this.canvas.addEventListener("mousedown", (event) => { down = { x: event.offsetX, from: this.from, to: this.to, selects: event.shiftKey || event.offsetY < LANE_TOP }; });
    addEventListener("mouseup", () => {
      if (down && down.selects && this.selected && this.selected[1] - this.selected[0] > 10) [this.from, this.to] = this.selected;
      down = this.selected = null;
      this.draw();
    });
    this.canvas.addEventListener("mousemove", (event) => {
      if (down && down.selects) {
        this.selected = [down.x, event.offsetX].sort((a, b) => a - b).map((x) => this.timeAt(Math.max(x, this.edge)));
        this.draw();
        return;
      }
      if (down) {
        const shift = (down.x - event.offsetX) / this.width * (down.to - down.from);
        this.from = down.from + shift;
        this.to = down.to + shift;
        this.draw();
        return;
      }
      const hit = this.hit(event.offsetX, event.offsetY);
      if (hit) { showTip(this.describe(hit), event.clientX, event.clientY); this.detail.textContent = this.describe(hit).replaceAll("\n", "; "); }
      else hideTip();
    });
    this.canvas.addEventListener("mouseleave", hideTip);
    this.canvas.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const { line } = this.chosen;
    const lane = (to) => {
      const next = Math.max(0, Math.min(this.lines.length - 1, to));
      this.choose(next, this.after(next, this.showsChosen() ? this.chosen.start : this.from));
    };
    const step = (find) => this.choose(line, this.showsChosen() ? find() : this.after(line, this.from));
    const actions = {
      ArrowRight: () => step(() => this.following()), ArrowLeft: () => step(() => this.preceding()),
      ArrowUp: () => lane(line - 1), ArrowDown: () => lane(line + 1), "+": () => this.zoom(0.5), "=": () => this.zoom(0.5),
      "-": () => this.zoom(2), Home: () => this.all(),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  }

  // The first call of a row that ends at a time or later.
  after(line, from) { return callsOf(this.lines[line].items, from, Infinity).next().value; }

  showsChosen() {
    const { bar, start } = this.chosen;
    return bar && start <= this.to && start + bar[LENGTH] >= this.from;
  }

  isChosen(call) { return call.bar === this.chosen.bar && call.start === this.chosen.start; }

  // The call behind the chosen one.
  following() {
    let isBehind = false;
    for (const call of callsOf(this.lines[this.chosen.line].items, this.chosen.start, Infinity)) {
      if (isBehind) return call;
      isBehind = this.isChosen(call);
    }
    return null;
  }

  // The call before the chosen one.
  preceding() {
    const { line, start } = this.chosen;
    const [around] = this.chosen.around[this.chosen.around.length - 1] || [{ period_ns: this.chosen.bar[LENGTH] }];
    for (let back = Math.max(1, around.period_ns); ; back *= 4) {
      let last = null;
      for (const call of callsOf(this.lines[line].items, start - back, start)) {
        if (this.isChosen(call)) break;
        last = call;
      }
      if (last || start - back < this.first) return last;
    }
  }

  choose(line, call) {
    if (!call && this.lines[line].outline) this.showDivision(line);
    if (!call) return;
    this.chosen = { line, ...call };
    const { start } = call, end = start + call.bar[LENGTH];
    if (start < this.from || end > this.to) {
      const wide = this.to - this.from;
      this.from = start - wide / 3;
      this.to = this.from + wide;
    }
    const [loop] = call.around[call.around.length - 1] || [];
    if (loop && loop.period_ns < this.leastPeriod() * Math.max(1, ncalls(loop) / 6)) { // its calls are not drawn: show some repetitions
      this.from = start - 2 * loop.period_ns;
      this.to = start + 4 * loop.period_ns;
    }
    this.draw();
    this.detail.textContent = this.describe({ line, call }).replaceAll("\n", "; ");
  }

  // Describe how the time of a row in the window is divided, where its calls are not in the page.
  showDivision(line) {
    this.chosen = { line, bar: null, start: 0 };
    this.detail.textContent = this.describe({ line, bins: binsIn(this.lines[line].outline, this.from, this.to) }).replaceAll("\n", "; ");
    this.draw();
  }

  // Words of a search: parts of an operation or call site, and ranks. All must hold for a call.
  search(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const ranks = words.filter((word) => word.startsWith("rank:")).map((word) => word.slice(5)), parts = words.filter((word) => !word.startsWith("rank:"));
    const places = this.data.places.map(([op, , site]) => parts.every((part) => `${op} ${site}`.toLowerCase().includes(part)));
    this.matches = words.length ? (line, bar) => places[bar[PLACE]] && ranks.every((rank) => rank === String(this.lines[line].rank)) : null;
    const count = this.matches ? this.lines.reduce((sum, line, i) => sum + sumCalls(line.items, (bar) => this.matches(i, bar) ? 1 : 0), 0) : 0;
    this.found.textContent = words.length ? `${number(count)} ${count === 1 ? "call" : "calls"}` : "";
    this.draw();
  }

  // Go to the next call that the search has, in this line and then in those below.
  next() {
    if (!this.matches) return;
    const { line, bar, start } = this.chosen;
    for (let step = 0; step <= this.lines.length; step++) {
      const at = (line + step) % this.lines.length, isBehind = !step && bar;
      const enters = (loop) => sumCalls(loop.items, (inner) => this.matches(at, inner) ? 1 : 0) > 0;
      for (const call of callsOf(this.lines[at].items, isBehind ? start : -Infinity, Infinity, enters)) {
        if (!this.matches(at, call.bar) || (isBehind && (call.start < start || this.isChosen(call)))) continue;
        this.choose(at, call);
        return;
      }
    }
  }

  all() {
    this.from = this.first;
    this.to = this.first + longestTime();
    this.draw();
  }

  zoom(factor, around = (this.from + this.to) / 2) {
    const wide = Math.min(Math.max((this.to - this.from) * factor, 10), 1.1 * longestTime());
    const share = (around - this.from) / (this.to - this.from);
    this.from = around - share * wide;
    this.to = this.from + wide;
    this.draw();
  }

  move(share) {
    const shift = (this.to - this.from) * share;
    this.from += shift;
    this.to += shift;
    this.draw();
  }

  timeAt(x) { return this.from + (x - this.edge) / this.width * (this.to - this.from); }

  x(ns) { return this.edge + (ns - this.from) / (this.to - this.from) * this.width; }

  leastPeriod() { return LEAST_PERIOD / this.width * (this.to - this.from); }

  // The call or loop that is drawn at a place: its line, and `call` or `loop`.
  hit(x, y) {
    const line = Math.floor((y - LANE_TOP) / this.lane);
    if (x < this.edge || !this.shown[line]) return null;
    let best = null, near = 4;
    for (const call of this.shown[line].calls) {
      const left = this.x(call.start), right = Math.max(left + 2, this.x(call.start + call.bar[LENGTH]));
      const away = x < left ? left - x : x > right ? x - right : 0;
      if (away < near || (away === 0 && near === 0)) { best = { line, call }; near = away; }
    }
    const loop = this.shown[line].loops.find((one) => this.x(one.start) <= x && x <= this.x(one.end));
    if (best || loop) return best || { line, loop: loop.loop };
    const { outline } = this.lines[line], at = this.timeAt(x);
    const [bin] = outline && !this.holds(line, at) ? binsIn(outline, at, at) : [];
    return bin ? { line, bins: [bin] } : null;
  }

  // Whether the page has the calls of a row at a time.
  holds(line, at) {
    const { items, end_ns: end } = this.lines[line];
    return items.length > 0 && startOf(items[0]) <= at && at <= end;
  }

  // The rank, or its thread: "2.1".
  rank(line) {
    const { rank, name } = this.lines[line];
    return `rank ${this.data.threads ? name : number(rank)}`;
  }

  // A simulated row below a recorded one of the same rank needs no number.
  label(line) {
    const above = this.lines[line - 1];
    return this.lines[line].simulated && above && !above.simulated ? "simulated" : this.rank(line);
  }

  describe({ line, call, loop, bins }) {
    const who = `${this.rank(line)}${this.lines[line].simulated ? ", simulated" : ""}`;
    if (loop) {
      const calls = number(ncalls(loop));
      const parts = [...shares(loop, this.data.places)].map(([category, ns]) => `${category} ${percent(ns, loop.period_ns)}`);
      return [`${who}: iterations ${number(1 + loop.skipped)} to ${number(loop.times + loop.skipped)} of ${number(loop.total)}, ${calls} calls each`, `each ${coarseDuration(loop.period_ns)}: ${parts.join(", ")}`, "zoom in to see the calls"].join("\n");
    }
    if (bins) {
      const { start_ns: start, width_ns: width } = this.lines[line].outline, all = sumOf(bins, (bin) => sumOf(bin.parts, ([, share]) => share)) || 1;
      const names = [...new Set(bins.flatMap(({ parts }) => parts.map(([name]) => name)))];
      const parts = names.map((name) => [name, sumOf(bins, (bin) => sumOf(bin.parts, ([other, share]) => other === name ? share : 0))]).filter(([, share]) => share);
      const [from, to] = bins.length ? [start + width * bins[0].number, start + width * (bins[bins.length - 1].number + 1)] : [0, 0];
      return [`${who}: from ${coarseDuration(from)} to ${coarseDuration(to)}`, parts.map(([name, share]) => `${name} ${percent(share, all)}`).join(", ") || "no calls", "the calls are not in this page"].join("\n");
    }
    const { bar, start, around } = call, [op, , site] = this.data.places[bar[PLACE]];
    const peer = bar[PEER] >= 0 ? `peer ${number(bar[PEER])}` : bar[PEER] === -2 ? "peer: any" : "";
    const size = bar[NBYTES] ? bytes(bar[NBYTES]) : "";
    const when = this.data.timed ? `from ${duration(start)}, ${coarseDuration(bar[LENGTH])} long` : "";
    const repeated = around.map(([each, k]) => `iteration ${number(k + 1 + each.skipped)} of ${number(each.total)}`).join(", in ");
    return [`${who}: ${op}`, [peer, size].filter(Boolean).join(", "), when, repeated, site ? shortSite(site) : ""].filter(Boolean).join("\n");
  }

  // Windows of all time lines of a page have the same length, so that their bars can be compared.
  draw() {
    this.paint();
    const wide = this.to - this.from;
    for (const view of timeLines.filter((one) => one.to - one.from !== wide)) {
      const middle = (view.from + view.to) / 2;
      view.from = Math.max(view.first, Math.min(middle - wide / 2, view.last - wide));
      view.to = view.from + wide;
      view.paint();
    }
  }

  paint() {
    const ratio = devicePixelRatio || 1, wide = Math.max(320, this.canvas.parentElement.clientWidth - 2);
    const high = LANE_TOP + this.lane * this.lines.length + 6;
    this.width = wide - this.edge - 8;
    this.canvas.width = wide * ratio;
    this.canvas.height = high * ratio;
    this.canvas.style.width = `${wide}px`;
    this.canvas.style.height = `${high}px`;
    const pen = this.canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.clearRect(0, 0, wide, high);
    pen.font = "11px system-ui, sans-serif";
    this.axis(pen, wide, high);
    const colors = this.data.places.map(([, category]) => color(categoryColor(category)));
    const compute = color("compute"), margin = (this.to - this.from) / 2; // of calls whose messages may be seen
    this.shown = this.lines.map((line) => shownItems(line.items, this.from - margin, this.to + margin, this.leastPeriod()));
    this.lines.forEach((line, i) => {
      const top = LANE_TOP + i * this.lane;
      pen.fillStyle = color(line.simulated ? "dim" : "text");
      const isCounted = line.alike > 1 && this.lane === LANE && this.label(i) !== "simulated";
      pen.fillText(this.label(i), 4, top + this.lane / 2 + (isCounted ? -1 : 3));
      if (isCounted) {
        pen.fillStyle = color("dim");
        pen.fillText(`×${number(line.alike)}`, 4, top + this.lane / 2 + 10);
      }
      pen.save();
      pen.beginPath();
      pen.rect(this.edge, top, this.width, this.lane);
      pen.clip();
      pen.fillStyle = compute;
      pen.globalAlpha = GAP_OPACITY;
      const begin = line.outline ? line.outline.start_ns : 0, end = line.outline ? outlineEnd(line.outline) : line.end_ns;
      if (line.items.length) pen.fillRect(this.x(begin), top + 0.3 * this.lane, this.x(end) - this.x(begin), 0.4 * this.lane);
      pen.globalAlpha = 1;
      if (line.outline) this.drawOutline(pen, line, top);
      for (const { loop, start, end } of this.shown[i].loops) this.drawLoop(pen, i, loop, this.x(start), this.x(end), top);
      for (const call of this.shown[i].calls) {
        const left = this.x(call.start), right = this.x(call.start + call.bar[LENGTH]);
        if (right < this.edge || left > wide) continue;
        pen.fillStyle = colors[call.bar[PLACE]];
        pen.globalAlpha = this.matches && !this.matches(i, call.bar) ? 0.15 : 1;
        pen.fillRect(left, top + 3, Math.max(1.5, right - left), this.lane - 6);
        pen.globalAlpha = 1;
        if (this.chosen.line === i && this.isChosen(call)) {
          pen.strokeStyle = color("text");
          pen.lineWidth = 2;
          pen.strokeRect(left - 1, top + 2, Math.max(3, right - left) + 2, this.lane - 4);
        }
      }
      pen.restore();
    });
    this.arrows(pen);
    this.names(pen, wide);
    if (this.selected) {
      pen.fillStyle = color("accent");
      pen.globalAlpha = 0.2;
      pen.fillRect(this.x(this.selected[0]), 0, this.x(this.selected[1]) - this.x(this.selected[0]), high);
      pen.globalAlpha = 1;
    }
    const here = this.last - this.first;
    const part = this.data.timed && !this.lines.every((line) => line.simulated) && here < 0.95 * this.runTime ? ` in this page; the run takes ${duration(this.runTime)}` : "";
    this.span.textContent = `shown: ${duration(Math.min(this.to - this.from, here))} of ${duration(here)}${part}`;
    if (this.beyond) this.noteBeyond();
  }

  // Say how to get a page with the calls of the window, if this one lacks them.
  noteBeyond() {
    const from = Math.max(this.from, this.first), to = Math.min(this.to, this.last), digits = Math.min(9, Math.max(0, 2 - Math.floor(Math.log10((to - from) / 1e9))));
    const has = this.lines.every((line, i) => this.holds(i, from) && this.holds(i, to));
    const held = Math.max(...this.lines.map(({ items, end_ns: end }) => items.length ? end - startOf(items[0]) : 0)), isShort = to - from <= held;
    const window = `--window ${Math.max(from / 1e9, 0).toFixed(digits)}-${(to / 1e9).toFixed(digits)}`;
    this.beyond.textContent = has
      ? "The page has the calls of this window. Further on, bars show how time is divided: move there for the command that shows the calls."
      : `The page does not have all calls of this window: where they are missing, bars show how time is divided. ${isShort ? `To see them: scalatrace report ${this.name} ${window}` : "Zoom in for the command that shows them."}`;
  }

  // Where the page lacks the calls of a row, shares of the time in bins, one above the other; the remainder is computation.
  drawOutline(pen, line, top) {
    const { outline, items, end_ns: end } = line, high = this.lane - 6, held = items.length ? [startOf(items[0]), end] : [0, 0];
    for (const { number: bin, parts } of binsIn(outline, this.from, this.to)) {
      const from = outline.start_ns + bin * outline.width_ns, to = from + outline.width_ns;
      const pieces = [[from, Math.min(to, held[0])], [Math.max(from, held[1]), to]].filter(([left, right]) => left < right);
      for (const [left, right] of held[1] ? pieces : [[from, to]]) {
        let bottom = top + 3 + high;
        for (const [category, share] of parts) {
          if (category === "compute") continue;
          pen.fillStyle = color(categoryColor(category));
          pen.fillRect(this.x(left), bottom - high * share / 1000, this.x(right) - this.x(left) + 0.3, high * share / 1000);
          bottom -= high * share / 1000;
        }
      }
    }
  }

  // Shares of the time of a loop, one above the other; the remainder is computation.
  drawLoop(pen, line, loop, left, right, top) {
    const high = this.lane - 6, from = Math.max(left, this.edge - 1), wide = Math.max(1.5, Math.min(right, this.edge + this.width + 9) - from);
    pen.globalAlpha = this.matches && !sumCalls(loop.items, (bar) => this.matches(line, bar) ? 1 : 0) ? 0.15 : 1;
    let bottom = top + 3 + high;
    for (const [category, ns] of shares(loop, this.data.places)) {
      const part = high * ns / loop.period_ns;
      pen.fillStyle = color(categoryColor(category));
      pen.fillRect(from, bottom - part, wide, part);
      bottom -= part;
    }
    pen.globalAlpha = 1;
    pen.strokeStyle = color("line");
    pen.lineWidth = 1;
    pen.strokeRect(from, top + 3, wide, high);
  }

  // Operations over the arrows, on the bars that have room for them.
  names(pen, wide) {
    if (this.lane < LANE) return;
    this.lines.forEach((line, i) => {
      for (const { bar, start } of this.shown[i].calls) {
        const left = Math.max(this.x(start), this.edge), right = Math.min(this.x(start + bar[LENGTH]), wide);
        const [op, category] = this.data.places[bar[PLACE]], room = right - left - 8;
        if (room < 24) continue;
        const needed = pen.measureText(op).width;
        if (needed > room) continue;
        pen.fillStyle = color(categoryColor(category));
        pen.fillRect(left + 3, LANE_TOP + i * this.lane + 6, needed + 2, 14);
        pen.fillStyle = color("bg");
        pen.fillText(op, left + 4, LANE_TOP + i * this.lane + 17);
      }
    });
  }

  axis(pen, wide, high) {
    const step = niceStep((this.to - this.from) / 8);
    const ticks = [];
    for (let at = Math.ceil(this.from / step) * step; at <= this.to && ticks.length < 20; at += step) ticks.push(at);
    const unit = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]].find(([, factor]) => step >= factor * 0.01) || ["ns", 1];
    const digits = Math.max(0, Math.min(9, -Math.floor(Math.log10(step / unit[1]) + 1e-9)));
    pen.strokeStyle = color("line");
    pen.fillStyle = color("dim");
    for (const at of ticks) {
      const x = this.x(at);
      pen.beginPath();
      pen.moveTo(x, 16);
      pen.lineTo(x, high);
      pen.stroke();
      pen.fillText(`${(at / unit[1]).toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })} ${unit[0]}`, Math.min(x + 3, wide - 60), 11);
    }
  }

  arrows(pen) {
    const seen = this.messages().filter(({ from, to }) => Math.max(from, to) >= this.from && Math.min(from, to) <= this.to);
    const ends = this.ends().filter(({ call }) => call.start <= this.to && call.start + call.bar[DONE] >= this.from), count = seen.length + ends.length;
    this.drawn = { arrows: seen.length, ends: ends.length };
    this.hidden.textContent = count > MAX_ARROWS ? `${number(count)} messages: zoom in to see them` : "";
    if (count > MAX_ARROWS) return;
    pen.save();
    pen.beginPath();
    pen.rect(this.edge, 0, this.width, 1e5);
    pen.clip();
    pen.strokeStyle = color("text");
    pen.globalAlpha = seen.length > MAX_EDGED ? 0.55 : 0.85;
    pen.lineWidth = 1;
    for (const { a, b, from, to } of seen) {
      pen.setLineDash(to < from ? [3, 3] : []);
      const x1 = this.x(from), x2 = this.x(to), y1 = LANE_TOP + a * this.lane + this.lane / 2, y2 = LANE_TOP + b * this.lane + this.lane / 2;
      for (const [name, wide] of (seen.length > MAX_EDGED ? [["text", 0.9]] : [["bg", 3.5], ["text", 1.2]])) { // a light edge, so that it is seen on the bars
        pen.strokeStyle = color(name);
        pen.lineWidth = wide;
        pen.beginPath();
        pen.moveTo(x1, y1);
        pen.lineTo(x2, y2);
        pen.stroke();
      }
      const angle = Math.atan2(y2 - y1, x2 - x1);
      pen.beginPath();
      for (const turn of [2.7, -2.7]) {
        pen.moveTo(x2, y2);
        pen.lineTo(x2 + 6 * Math.cos(angle + turn), y2 + 6 * Math.sin(angle + turn));
      }
      pen.stroke();
    }
    this.shortArrows(pen, ends);
    pen.restore();
  }

  // Arrows to the edge of a row, for partners that have no row: towards lower ranks up, towards higher ones down.
  shortArrows(pen, ends) {
    pen.setLineDash([]);
    pen.strokeStyle = pen.fillStyle = color("text");
    pen.lineWidth = 1.2;
    for (const { line, call, receives } of ends) {
      const way = call.bar[PEER] < this.lines[line].rank ? -1 : 1, middle = LANE_TOP + (line + 0.5) * this.lane, edge = middle + way * (this.lane / 2 - 1);
      const x = this.x(receives ? call.start + call.bar[DONE] : call.start), tip = receives ? middle : edge, back = receives ? way : -way;
      pen.beginPath();
      pen.moveTo(x, middle);
      pen.lineTo(x, edge);
      pen.moveTo(x - 3, tip + back * 5);
      pen.lineTo(x, tip);
      pen.lineTo(x + 3, tip + back * 5);
      pen.stroke();
    }
  }

  // Messages of the calls that are shown, wherever their other end is. One goes from the start of its send to the end of the
  // call that completes its receive.
  messages() {
    const found = new Map(), add = (name, a, send, b, receive) => found.set(name, { a, b, from: send.start, to: receive.start + receive.bar[DONE] });
    this.shown.forEach(({ calls }, line) => calls.forEach((call) => {
      for (const [end, other] of [[SENT, RECEIVED], [RECEIVED, SENT]]) {
        const message = messageOf(call, end), name = `${this.lines[line].simulated} ${message}`;
        if (message === null || found.has(name)) continue;
        const far = this.farEnd(other, this.lines[line].simulated, message);
        if (!far) continue;
        if (end === SENT) add(name, line, call, ...far);
        else add(name, ...far, line, call);
      }
    }));
    return [...found.values()];
  }

  // The line and call that send (or receive) a message; null: they are not in the page.
  farEnd(end, simulated, message) {
    if (!this.ended) this.ended = this.indexMessages();
    const known = this.ended.calls[end].get(`${simulated} ${message}`);
    if (known) return known;
    const [channel, n] = message.split(" ").map(Number);
    for (const line of this.ended.lines[end].get(`${simulated} ${channel}`) || []) {
      const call = callOf(this.lines[line].items.filter(isLoop), end, channel, n);
      if (call) return [line, call];
    }
    return null;
  }

  // By message: calls outside of loops; by channel: lines with loops that use it. Of sends and receives.
  indexMessages() {
    const index = { calls: { [SENT]: new Map(), [RECEIVED]: new Map() }, lines: { [SENT]: new Map(), [RECEIVED]: new Map() } };
    this.lines.forEach(({ items, simulated }, line) => {
      for (const end of [SENT, RECEIVED]) {
        for (const bar of items.filter((item) => !isLoop(item) && item[end][0] >= 0)) index.calls[end].set(`${simulated} ${bar[end].join(" ")}`, [line, { bar, start: bar[START], around: [] }]);
        for (const channel of channelsOf(items.filter(isLoop), end)) {
          const key = `${simulated} ${channel}`;
          index.lines[end].set(key, [...(index.lines[end].get(key) || []), line]);
        }
      }
    });
    return index;
  }

  // Calls that are shown whose partner has no row: the line, the call, and whether it receives.
  ends() {
    const rows = new Set(this.lines.map((line) => line.rank));
    return this.shown.flatMap(({ calls }, line) => calls.filter(({ bar }) => bar[PEER] >= 0 && !rows.has(bar[PEER]) && (bar[SENT][0] >= 0 || bar[RECEIVED][0] >= 0))
      .map((call) => ({ line, call, receives: call.bar[SENT][0] < 0 })));
  }
}

function niceStep(x) {
  const power = 10 ** Math.floor(Math.log10(x));
  return [1, 2, 5, 10].map((f) => f * power).find((step) => step >= x) || 10 * power;
}
