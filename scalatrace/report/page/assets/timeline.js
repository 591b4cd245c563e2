// The time line: a row per rank, or per thread of a rank, on a canvas; zoom and move by wheel, drag, buttons and keys.
const LANE = 26, LOW_LANE = 14, MAX_HIGH_LANES = 64, LANE_TOP = 22, LABEL = 84, MAX_ARROWS = 300, MAX_EDGED = 60;
const START = 0, LENGTH = 1, PLACE = 2, PEER = 3, NBYTES = 4;

class TimeLineView {
  constructor(place, trace) {
    this.data = trace.timeline;
    this.lines = this.data.lines;
    this.lane = this.lines.length > MAX_HIGH_LANES ? LOW_LANE : LANE;
    const ends = this.lines.flatMap((line) => line.bars.length ? [line.bars[line.bars.length - 1]] : []).map((bar) => bar[START] + bar[LENGTH]);
    const starts = this.lines.flatMap((line) => line.bars.length ? [line.bars[0][START]] : []);
    this.first = Math.min(...starts, Infinity);
    this.last = Math.max(...ends, 0);
    if (!(this.last > this.first)) {
      place.append(h("p", {}, this.data.note || "No calls in this window."));
      return;
    }
    this.chosen = [0, -1];
    this.canvas = h("canvas", { tabindex: 0, role: "application", "aria-label": "Time line: left and right go from call to call, up and down to other ranks, plus and minus zoom" });
    this.detail = h("p", { class: "detail", "aria-live": "polite" }, "Point at a call, or focus the drawing and use the arrow keys.");
    const button = (text, label, action) => h("button", { type: "button", "aria-label": label, onclick: action }, text);
    this.runTime = trace.runTime || 0;
    const dashed = this.data.arrows.length ? h("p", { class: "dim" }, "Arrows are messages; dashed ones seem to arrive before they are sent, since times are means.") : "";
    place.append(
      h("div", { class: "controls" }, button("+", "Zoom in", () => this.zoom(0.5)), button("−", "Zoom out", () => this.zoom(2)),
        button("←", "Earlier", () => this.move(-0.3)), button("→", "Later", () => this.move(0.3)), button("All", "Show all", () => this.all()),
        h("input", { type: "search", placeholder: "Waitall, halo.py:129, rank:3", "aria-label": "Search in the time line; Enter goes to the next call", oninput: (event) => this.search(event.target.value), onkeydown: (event) => { if (event.key === "Enter") this.next(); } }),
        this.span = h("span", { class: "dim" }), this.hidden = h("span", { class: "dim" }), this.found = h("span", { class: "dim", "aria-live": "polite" })),
      legend(this.data.places.map((one) => one[1]), "computation: gaps"), this.canvas, this.detail, dashed,
      this.data.simulated ? h("p", { class: "dim" }, "Simulated rows are those of the run in the section Prediction: each call has its own time. Gaps are computation, long calls wait for others.") : "",
      this.data.threads ? h("p", { class: "dim" }, this.data.threads) : "",
      this.data.chosen ? h("p", { class: "dim" }, this.data.chosen) : "",
      this.lines.some((line) => line.cut) ? h("p", { class: "note" }, "the calls that fit into the page are shown; choose a later window with --window") : "",
      this.data.timed ? "" : h("p", { class: "note" }, "the trace has no times: all calls have the same length"));
    this.from = this.first;
    this.to = this.last;
    this.connect();
    new ResizeObserver(() => this.draw()).observe(place);
    redraws.push(() => this.draw());
    this.begin();
  }

  // First show as much as can be read: about 30 calls of the first rank, in the middle; where there is a simulated
  // row, the first ones of both rows, which may be fast and slow.
  begin() {
    const bars = this.lines[0].bars, below = this.lines[1];
    if (bars.length > 60) {
      const end = (bar) => bar[START] + bar[LENGTH];
      const at = Math.floor(bars.length / 2);
      const isPair = below && below.simulated && !this.lines[0].simulated && below.bars.length > 30;
      this.from = isPair ? Math.min(bars[0][START], below.bars[0][START]) : bars[at - 15][START];
      this.to = Math.max(isPair ? Math.max(end(bars[30]), end(below.bars[30])) : end(bars[at + 15]), this.from + 1);
    }
    this.draw();
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
        this.selected = [down.x, event.offsetX].sort((a, b) => a - b).map((x) => this.timeAt(Math.max(x, LABEL)));
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
      if (hit) { showTip(this.describe(...hit), event.clientX, event.clientY); this.detail.textContent = this.describe(...hit).replaceAll("\n", "; "); }
      else hideTip();
    });
    this.canvas.addEventListener("mouseleave", hideTip);
    this.canvas.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const [line, bar] = this.chosen;
    const step = (to) => this.choose(line, Math.max(0, Math.min(this.lines[line].bars.length - 1, to)));
    const lane = (to) => {
      const next = Math.max(0, Math.min(this.lines.length - 1, to));
      const here = this.lines[line].bars[Math.max(bar, 0)];
      const near = this.lines[next].bars.findIndex((one) => one[START] + one[LENGTH] >= (here ? here[START] : this.from));
      this.choose(next, Math.max(0, near));
    };
    const inView = () => this.lines[line].bars.findIndex((one) => one[START] + one[LENGTH] >= this.from);
    const actions = {
      ArrowRight: () => step(bar < 0 ? inView() : bar + 1), ArrowLeft: () => step(bar < 0 ? inView() : bar - 1),
      ArrowUp: () => lane(line - 1), ArrowDown: () => lane(line + 1), "+": () => this.zoom(0.5), "=": () => this.zoom(0.5),
      "-": () => this.zoom(2), Home: () => this.all(),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  }

  choose(line, bar) {
    this.chosen = [line, bar];
    const one = this.lines[line].bars[bar];
    if (!one) return;
    if (one[START] < this.from || one[START] + one[LENGTH] > this.to) {
      const wide = this.to - this.from;
      this.from = one[START] - wide / 3;
      this.to = this.from + wide;
    }
    this.draw();
    this.detail.textContent = this.describe(line, bar).replaceAll("\n", "; ");
  }

  // Words of a search: parts of an operation or call site, and ranks. All must hold for a call.
  search(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const ranks = words.filter((word) => word.startsWith("rank:")).map((word) => word.slice(5)), parts = words.filter((word) => !word.startsWith("rank:"));
    const places = this.data.places.map(([op, , site]) => parts.every((part) => `${op} ${site}`.toLowerCase().includes(part)));
    this.matches = words.length ? (line, bar) => places[bar[PLACE]] && ranks.every((rank) => rank === String(this.lines[line].rank)) : null;
    const count = this.matches ? this.lines.reduce((sum, line, i) => sum + line.bars.filter((bar) => this.matches(i, bar)).length, 0) : 0;
    this.found.textContent = words.length ? `${number(count)} ${count === 1 ? "call" : "calls"}` : "";
    this.draw();
  }

  // Go to the next call that the search has, in this line and then in those below.
  next() {
    if (!this.matches) return;
    const [line, bar] = this.chosen;
    for (let step = 0; step <= this.lines.length; step++) {
      const at = (line + step) % this.lines.length, from = step ? 0 : bar + 1;
      const hit = this.lines[at].bars.findIndex((one, i) => i >= from && this.matches(at, one));
      if (hit >= 0) { this.choose(at, hit); return; }
    }
  }

  all() { this.from = this.first; this.to = this.last; this.draw(); }

  zoom(factor, around = (this.from + this.to) / 2) {
    const wide = Math.min(Math.max((this.to - this.from) * factor, 10), 1.1 * (this.last - this.first));
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

  timeAt(x) { return this.from + (x - LABEL) / this.width * (this.to - this.from); }

  x(ns) { return LABEL + (ns - this.from) / (this.to - this.from) * this.width; }

  hit(x, y) {
    const line = Math.floor((y - LANE_TOP) / this.lane);
    if (x < LABEL || !this.lines[line]) return null;
    let best = null, near = 4;
    this.lines[line].bars.forEach((bar, i) => {
      const left = this.x(bar[START]), right = Math.max(left + 2, this.x(bar[START] + bar[LENGTH]));
      const away = x < left ? left - x : x > right ? x - right : 0;
      if (away < near || (away === 0 && near === 0)) { best = [line, i]; near = away; }
    });
    return best;
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

  describe(line, bar) {
    const one = this.lines[line].bars[bar], place = this.data.places[one[PLACE]];
    const [op, , site] = place;
    const peer = one[PEER] >= 0 ? `peer ${number(one[PEER])}` : one[PEER] === -2 ? "peer: any" : "";
    const size = one[NBYTES] ? bytes(one[NBYTES]) : "";
    const when = this.data.timed ? `from ${coarseDuration(one[START])}, ${coarseDuration(one[LENGTH])} long` : `call ${bar + 1}`;
    return [`${this.rank(line)}${this.lines[line].simulated ? ", simulated" : ""}: ${op}`, [peer, size].filter(Boolean).join(", "), when, site ? shortSite(site) : ""].filter(Boolean).join("\n");
  }

  draw() {
    const ratio = devicePixelRatio || 1, wide = Math.max(320, this.canvas.parentElement.clientWidth - 2);
    const high = LANE_TOP + this.lane * this.lines.length + 6;
    this.width = wide - LABEL - 8;
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
    const compute = color("compute");
    this.lines.forEach((line, i) => {
      const top = LANE_TOP + i * this.lane;
      pen.fillStyle = color(line.simulated ? "dim" : "text");
      pen.fillText(this.label(i), 4, top + this.lane / 2 + 3);
      pen.save();
      pen.beginPath();
      pen.rect(LABEL, top, this.width, this.lane);
      pen.clip();
      pen.fillStyle = compute;
      pen.globalAlpha = 0.28;
      if (line.bars.length) {
        const end = line.bars[line.bars.length - 1];
        pen.fillRect(this.x(0), top + 0.3 * this.lane, this.x(end[START] + end[LENGTH]) - this.x(0), 0.4 * this.lane);
      }
      pen.globalAlpha = 1;
      line.bars.forEach((bar, j) => {
        const left = this.x(bar[START]), right = this.x(bar[START] + bar[LENGTH]);
        if (right < LABEL || left > wide) return;
        pen.fillStyle = colors[bar[PLACE]];
        pen.globalAlpha = this.matches && !this.matches(i, bar) ? 0.15 : 1;
        pen.fillRect(left, top + 3, Math.max(1.5, right - left), this.lane - 6);
        pen.globalAlpha = 1;
        if (this.chosen[0] === i && this.chosen[1] === j) {
          pen.strokeStyle = color("text");
          pen.lineWidth = 2;
          pen.strokeRect(left - 1, top + 2, Math.max(3, right - left) + 2, this.lane - 4);
        }
      });
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
    const part = this.data.timed && here < 0.95 * this.runTime ? ` in this page; the run takes ${duration(this.runTime)}` : "";
    this.span.textContent = `shown: ${duration(this.to - this.from)} of ${duration(here)}${part}`;
  }

  // Operations over the arrows, on the bars that have room for them.
  names(pen, wide) {
    if (this.lane < LANE) return;
    this.lines.forEach((line, i) => {
      for (const bar of line.bars) {
        const left = Math.max(this.x(bar[START]), LABEL), right = Math.min(this.x(bar[START] + bar[LENGTH]), wide);
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
    const seen = this.data.arrows.filter(([a, i, b, j]) => {
      const [from, to] = this.ends(a, i, b, j);
      return Math.max(from, to) >= this.from && Math.min(from, to) <= this.to;
    });
    this.hidden.textContent = seen.length > MAX_ARROWS ? `${number(seen.length)} messages: zoom in to see them` : "";
    if (seen.length > MAX_ARROWS) return;
    pen.save();
    pen.beginPath();
    pen.rect(LABEL, 0, this.width, 1e5);
    pen.clip();
    pen.strokeStyle = color("text");
    pen.globalAlpha = seen.length > MAX_EDGED ? 0.55 : 0.85;
    pen.lineWidth = 1;
    for (const [a, i, b, j] of seen) {
      const [from, to] = this.ends(a, i, b, j);
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
    pen.restore();
  }

  // A message goes from the start of its send to the end of the call that completes its receive.
  ends(a, i, b, j) {
    const receive = this.lines[b].bars[j];
    const done = receive[5] >= 0 ? this.lines[b].bars[receive[5]] : receive;
    return [this.lines[a].bars[i][START], done[START] + done[LENGTH]];
  }
}

function niceStep(x) {
  const power = 10 ** Math.floor(Math.log10(x));
  return [1, 2, 5, 10].map((f) => f * power).find((step) => step >= x) || 10 * power;
}
