// The communication matrix as a heat map of blocks.
const MATRIX_PIXELS = 460, MATRIX_LEFT = 70, MATRIX_TOP = 26;
const LEAST_LOG_RANGE = 10; // values closer together have a linear scale, which starts at 0

class MatrixView {
  constructor(place, trace) {
    this.data = trace.blocks;
    this.every = trace.page.flatMap((one) => one.blocks.cells); // colours are common to all traces
    const { size, count, nprocs, cells } = this.data;
    if (cells.length) this.heat(place, size, count, nprocs);
    else place.append(h("p", {}, "There are no messages between ranks, and no collectives that say who sends to whom."));
    if (!this.data.exact) place.append(h("p", { class: "note" }, "numbers are estimated from a sample of the ranks or calls"));
    if (this.data.outside.length) {
      place.append(h("p", {}, "Not in the matrix, since the calls do not say who sends to whom: ", this.data.outside.map((one) =>
        `${number(one.calls)} ${one.operation} that send ${bytes(one.nbytes)}`).join(", "), "."));
    }
  }

  heat(place, size, count, nprocs) {
    const has = (at) => this.data.cells.some((cell) => cell[at]);
    this.both = has(2) && has(4);
    this.calls = [2, 4].filter(has);
    this.table = new Map(this.data.cells.map((cell) => [cell[0] * count + cell[1], cell]));
    this.what = 1;
    this.at = [this.data.cells[0][0], this.data.cells[0][1]];
    const room = Math.min(MATRIX_PIXELS, Math.max(160, place.clientWidth - MATRIX_LEFT - 40)); // of narrow windows
    this.pixel = Math.max(1, Math.floor(room / count * 4) / 4);
    this.canvas = h("canvas", { tabindex: 0, role: "application", "aria-label": "Heat map of messages between ranks: arrow keys move the marked cell" });
    this.detail = h("p", { class: "detail", "aria-live": "polite" }, "Point at a cell, or focus the drawing and use the arrow keys.");
    const choice = h("select", { "aria-label": "What the colours show" }, h("option", { value: 1 }, "bytes"), h("option", { value: 0 }, "messages"));
    choice.addEventListener("change", () => { this.what = Number(choice.value); this.draw(); });
    const kinds = h("select", { "aria-label": "Which calls are counted" }, h("option", { value: "2,4" }, "all calls"), h("option", { value: "2" }, "point to point"), h("option", { value: "4" }, "collectives"));
    kinds.addEventListener("change", () => { this.calls = kinds.value.split(",").map(Number); this.draw(); });
    const scale = h("span", { class: "dim" }, size > 1 ? `${number(nprocs)} ranks in ${count} × ${count} blocks of ${number(size)} ranks` : `${rankCount(nprocs)}, a cell for each pair`);
    place.append(h("div", { class: "controls" }, choice, this.both ? kinds : h("span", { class: "dim" }, has(4) ? "collectives" : "point to point"), scale, this.colors = h("span", { class: "dim" })),
      h("div", { class: "matrix-row" }, h("div", {}, this.canvas, this.detail), this.distances()));
    this.canvas.addEventListener("mousemove", (event) => {
      const cell = this.hit(event.offsetX, event.offsetY);
      if (!cell) { hideTip(); return; }
      showTip(this.describe(...cell), event.clientX, event.clientY);
      this.detail.textContent = this.describe(...cell).replaceAll("\n", "; ");
    });
    this.canvas.addEventListener("mouseleave", hideTip);
    this.canvas.addEventListener("keydown", (event) => {
      const move = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (!move) return;
      event.preventDefault();
      this.at = this.at.map((x, i) => Math.max(0, Math.min(count - 1, x + move[i])));
      this.draw();
      this.detail.textContent = this.describe(...this.at).replaceAll("\n", "; ");
    });
    redraws.push(() => this.draw());
    this.draw();
  }

  hit(x, y) {
    const column = Math.floor((x - MATRIX_LEFT) / this.pixel), row = Math.floor((y - MATRIX_TOP) / this.pixel);
    const inside = (i) => i >= 0 && i < this.data.count;
    return inside(row) && inside(column) ? [row, column] : null;
  }

  ranks(block) {
    const { size, nprocs } = this.data;
    return span(block * size, Math.min((block + 1) * size, nprocs) - 1);
  }

  describe(row, column) {
    const cell = this.table.get(row * this.data.count + column);
    const pair = `from rank ${this.ranks(row)} to rank ${this.ranks(column)}`;
    if (!cell) return `${pair}\nno messages`;
    const parts = [];
    if (cell[2]) parts.push(`point to point: ${number(cell[2])} messages, ${bytes(cell[3])}`);
    if (cell[4]) parts.push(`collectives: ${number(cell[4])} ${cell[4] === 1 ? "call" : "calls"}, ${bytes(cell[5])}`);
    return [pair, ...parts].join("\n");
  }

  amount(cell) {
    return this.calls.reduce((sum, at) => sum + cell[at + this.what], 0);
  }

  draw() {
    const { count, size } = this.data, side = count * this.pixel, ratio = devicePixelRatio || 1;
    const wide = MATRIX_LEFT + side + 8, high = MATRIX_TOP + side + 8;
    this.canvas.width = wide * ratio;
    this.canvas.height = high * ratio;
    this.canvas.style.width = `${wide}px`;
    this.canvas.style.height = `${high}px`;
    const pen = this.canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.font = "11px system-ui, sans-serif";
    pen.fillStyle = color("panel");
    pen.fillRect(MATRIX_LEFT, MATRIX_TOP, side, side);
    const amounts = this.every.map((cell) => this.amount(cell)), most = Math.max(...amounts), least = Math.min(...amounts.map((amount) => amount || most));
    const linear = most < LEAST_LOG_RANGE * least, shown = this.what ? bytes : number;
    this.colors.textContent = linear ? `colours: 0 to ${shown(most)}` : `colours: ${shown(least)} to ${shown(most)}, logarithmic`;
    const low = rgb(color("heat0")), high1 = rgb(color("heat1"));
    for (const cell of this.data.cells) {
      const amount = this.amount(cell);
      const share = linear ? amount / (most || 1) : Math.log(Math.max(amount, least) / least) / Math.log(most / least);
      const at = 0.18 + 0.82 * share;
      pen.fillStyle = amount ? `rgb(${low.map((x, i) => Math.round(x + at * (high1[i] - x))).join(",")})` : color("line");
      pen.fillRect(MATRIX_LEFT + cell[1] * this.pixel, MATRIX_TOP + cell[0] * this.pixel, Math.max(this.pixel - (this.pixel > 5 ? 1 : 0), 1), Math.max(this.pixel - (this.pixel > 5 ? 1 : 0), 1));
    }
    pen.fillStyle = color("dim");
    const step = Math.max(1, Math.ceil(count / 8));
    for (let i = 0; i < count; i += step) {
      pen.textAlign = "right";
      pen.fillText(number(i * size), MATRIX_LEFT - 5, MATRIX_TOP + i * this.pixel + Math.min(11, this.pixel / 2 + 4));
      pen.textAlign = "left";
      if (i % (2 * step) === 0 || size === 1) pen.fillText(number(i * size), MATRIX_LEFT + i * this.pixel, MATRIX_TOP - 5);
    }
    pen.fillText("to →", 4, 12);
    pen.fillText("from ↓", 4, MATRIX_TOP - 2);
    pen.strokeStyle = color("text");
    pen.lineWidth = 1.5;
    pen.strokeRect(MATRIX_LEFT + this.at[1] * this.pixel - 1, MATRIX_TOP + this.at[0] * this.pixel - 1, this.pixel + 2, this.pixel + 2);
  }

  distances() {
    const sign = (d) => (d === null ? "all others" : d > 0 ? `+${number(d)}` : number(d));
    if (!this.data.distances.length) return "";
    return h("div", {}, h("h3", {}, "Messages by distance between ranks"), h("table", {},
      h("thead", {}, h("tr", {}, h("th", { scope: "col", class: "n" }, "receiver − sender"), h("th", { scope: "col", class: "n" }, "messages"), h("th", { scope: "col", class: "n" }, "bytes"))),
      h("tbody", {}, this.data.distances.map((one) => h("tr", {}, h("th", { scope: "row", class: "n" }, sign(one.distance)),
        h("td", { class: "n" }, number(one.messages)), h("td", { class: "n" }, bytes(one.nbytes)))))));
  }
}

function rgb(text) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.fillStyle = text;
  const hex = pen.fillStyle;
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
}
