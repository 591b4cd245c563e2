// The loop tree (WAI-ARIA tree): rows are made when they are opened.
const FIRST_ROWS = 120;
const MAX_SITE_FRAMES = 5;
const MAIN = 0.5, MAX_MAIN_ROWS = 500; // share of all time of a main loop, and rows with which it is opened
const CHEAP = 0.001; // share of all time, and of all bytes sent, below which a row is hidden at first

function loopName(node) {
  if (node.thread) return `thread ${node.thread}`;
  const all = node.children, what = all.every((child) => child.op) ? "call" : "part";
  return `loop of ${all.length} ${what}${all.length === 1 ? "" : "s"}`;
}

function titleOf(node) {
  if (node.number === 0) return "program";
  if (node.number < 0) return `… ${number(node.left_out)} nodes left out`;
  const what = node.op || loopName(node);
  const title = node.times ? `${node.times} × ${what}` : what;
  return node.in_all ? `${title}, ${node.in_all} in all` : title;
}

// Where a node is: its call site, or the lines of a loop's calls.
function placeOf(tree, node) {
  const site = tree.sites[node.site];
  return site ? site.shown : node.place;
}

// Ranks as text; long ones are in the details of the node.
function shortRanks(node) {
  return node.ranks.length > 16 || node.ranks.includes("<") ? `${number(node.nranks)} ranks` : node.ranks;
}

// The call site of a call, or the place of a loop, with so many frames of it and of its callers.
function siteWith(tree, node, count) {
  const site = tree.sites[node.site];
  if (!site && !node.place) return "";
  const frames = site ? site.frames.slice(Math.max(0, site.frames.indexOf(site.shown))) : [node.place, ...node.within];
  const short = frames.slice(0, count).map(shortSite);
  return short.length > 1 ? short.map((frame) => frame.replace(/(:[\d-]+):.*$/s, "$1")).join(" < ") : short[0] || "";
}

// Node -> its site, with as many callers as tell it from other nodes of the same kind.
function sitesAmong(tree, nodes) {
  const sites = new Map(), whole = new Map(nodes.map((node) => [node, siteWith(tree, node, MAX_SITE_FRAMES)]));
  let left = nodes;
  for (let count = 1; left.length && count <= MAX_SITE_FRAMES; count += 1) {
    const texts = new Map(left.map((node) => [node, siteWith(tree, node, count)])), kinds = new Map();
    for (const [node, text] of texts) {
      const key = `${node.op} ${text}`;
      kinds.set(key, (kinds.get(key) || new Set()).add(whole.get(node)));
    }
    for (const [node, text] of texts) if (kinds.get(`${node.op} ${text}`).size === 1 || count === MAX_SITE_FRAMES) sites.set(node, text);
    left = left.filter((node) => !sites.has(node));
  }
  return sites;
}

function timeOf(node) {
  return node.comm_ns + node.compute_ns;
}

function walkTree(node, visit, above = []) {
  visit(node, above);
  for (const child of node.children) walkTree(child, visit, [...above, node]);
}

// A search that finds something in this program.
function searchExample(tree) {
  let first = null;
  walkTree(tree.root, (node) => { if (!first && node.op && tree.sites[node.site]) first = node; });
  if (!first) return "Send, rank:0";
  const file = shortSite(tree.sites[first.site].shown).split(/[:+]/)[0];
  return [first.op, file, "rank:0"].filter(Boolean).join(", ");
}

const NOTATION = "{ranks: values; …}: by ranks; [10 8*(2)]: in turn 10, then 2 eight times; ..*: again and again; "
  + "by 3: 3 more each time; <dimensions first (length stride)…>: nested progressions of ranks";

class TreeView {
  constructor(place, trace) {
    this.tree = trace.tree;
    this.simulated = trace.simulated;
    this.source = trace.kind;
    this.whole = timeOf(this.tree.root) || 1;
    this.items = new Map(); // node -> its elements
    this.up = new Map();
    this.sites = new Map(); // parent -> sites of its children
    walkTree(this.tree.root, (node, above) => this.up.set(node, above[above.length - 1]));
    this.search = h("input", { type: "search", size: Math.ceil(1.2 * searchExample(this.tree).length) + 3, placeholder: searchExample(this.tree), "aria-label": "Search the program" });
    this.found = h("span", { class: "dim", "aria-live": "polite" });
    this.search.addEventListener("input", () => this.find(this.search.value.trim()));
    this.cheap = h("button", { type: "button", hidden: true, onclick: () => { this.brief(!this.list.classList.contains("brief")); this.briefAgain = false; } });
    const all = h("button", { type: "button", onclick: () => { this.brief(false); this.briefAgain = false; this.expandTo(5000); } }, "Open all");
    const none = h("button", { type: "button", onclick: () => this.collapse() }, "Close all");
    this.list = h("div", { class: "tree", role: "tree", "aria-label": "Loops and calls" });
    const names = ["loop or call", "MPI + computation", "share", "calls", "sent", "ranks", "call site"];
    const classes = ["", "", "n", "n", "n c-sent", "c-ranks", ""];
    place.append(
      h("div", { class: "controls" }, this.search, this.found, all, none, this.cheap), legend(trace.category.values(), "computation before"),
      h("div", { class: "scroll" }, h("div", { class: "tree-head", "aria-hidden": "true" },
        names.map((name, i) => h("span", { class: classes[i] }, name))), this.list));
    this.add(this.tree.root, this.list, 1);
    this.items.get(this.tree.root).row.tabIndex = 0;
    this.expandTo(FIRST_ROWS);
    this.brief(this.items.size > FIRST_ROWS / 2 && this.cheapTime() < timeOf(this.tree.root) / 10);
    this.list.addEventListener("keydown", (event) => this.key(event));
  }

  add(node, place, level) {
    const twist = h("span", { class: "twist", "aria-hidden": "true" }, node.children.length ? "▸" : "");
    const where = placeOf(this.tree, node);
    const name = h("span", { style: { paddingLeft: `${(level - 1) * 1.1}em` }, title: node.repeat ? `${node.repeat} × ${node.op || "loop"}` : titleOf(node) }, twist,
      node.pattern ? glyph(node.pattern, 18) : "", " ",
      node.times && node.number > 0 ? `${node.times} × ` : "",
      h("span", { class: "op" }, node.op || (node.number > 0 ? loopName(node) : titleOf(node))),
      node.in_all ? h("span", { class: "dim" }, `, ${node.in_all} in all`) : "");
    const row = h("div", {
      class: "row", role: "treeitem", tabindex: -1, "aria-level": level, "data-node": node.number,
      "aria-expanded": node.children.length ? "false" : null,
      "aria-label": `${titleOf(node)}, ${duration(timeOf(node))}, ${number(node.calls)} calls`,
    }, name, h("span", { class: "c-time" }, this.bar(node)), h("span", { class: "n" }, this.tree.timed ? percent(timeOf(node), this.whole) : ""),
    h("span", { class: "n" }, number(node.calls)), h("span", { class: "n c-sent" }, bytes(node.sent)),
    h("span", { class: "c-ranks", title: node.ranks }, shortRanks(node)), h("span", { class: "c-site", title: where }, breakable(this.siteOf(node))));
    const item = { row, twist, level, group: h("div", { role: "group", hidden: true }), filled: false, about: null };
    this.items.set(node, item);
    row.classList.toggle("cheap", this.isCheap(node));
    row.classList.toggle("other", Boolean(this.kept && !this.kept.has(node)));
    row.addEventListener("click", (event) => {
      this.focus(node);
      if (event.target === twist || event.detail === 2) this.toggle(node);
      else this.about(node);
    });
    place.append(row, item.group);
  }

  bar(node) {
    if (!this.tree.timed) return "";
    const wide = (ns) => `${Math.max(ns > 0 ? 1 : 0, 72 * ns / this.whole).toFixed(1)}px`;
    const name = node.op ? categoryColor(node.category) : "collective";
    return [
      h("span", { class: "bar", style: { width: wide(node.comm_ns), background: `var(--${node.op ? name : "accent"})` } }),
      h("span", { class: "bar", style: { width: wide(node.compute_ns), background: "var(--compute)" } }),
      " ", duration(timeOf(node)),
    ];
  }

  fillGroup(node) {
    const item = this.items.get(node);
    if (item.filled) return;
    item.filled = true;
    for (const child of node.children) this.add(child, item.group, item.level + 1);
  }

  open(node, open) {
    const item = this.items.get(node);
    if (!node.children.length) return;
    if (open) this.fillGroup(node);
    item.group.hidden = !open;
    item.twist.textContent = open ? "▾" : "▸";
    item.row.setAttribute("aria-expanded", String(open));
  }

  isOpen(node) {
    return !this.items.get(node).group.hidden;
  }

  toggle(node) {
    this.open(node, !this.isOpen(node));
  }

  // Open the nodes with most time while there is room for the rows; the main loop also with more of them.
  expandTo(rows) {
    const closed = [this.tree.root];
    let count = 1;
    while (closed.length) {
      let most = 0;
      for (let i = 1; i < closed.length; i += 1) if (timeOf(closed[i]) > timeOf(closed[most])) most = i;
      const [node] = closed.splice(most, 1);
      const isMain = timeOf(node) >= MAIN * this.whole && node.children.length <= MAX_MAIN_ROWS;
      if (node !== this.tree.root && count + node.children.length > rows && !isMain) continue;
      this.open(node, true);
      count += node.children.length;
      closed.push(...node.children.filter((child) => child.children.length));
    }
  }

  // The site of a node, with callers where nodes beside it have the same one.
  siteOf(node) {
    const parent = this.up.get(node);
    if (!parent) return "";
    if (!this.sites.has(parent)) this.sites.set(parent, sitesAmong(this.tree, parent.children));
    return this.sites.get(parent).get(node);
  }

  isCheap(node) {
    return this.tree.timed && timeOf(node) < CHEAP * this.whole && (node.sent || 0) <= CHEAP * (this.tree.root.sent || 0);
  }

  cheapTime() {
    let time = 0;
    walkTree(this.tree.root, (node) => { if (node.op && this.isCheap(node)) time += timeOf(node); });
    return time;
  }

  // Hide or show the rows that take little time.
  brief(hide) {
    let count = 0;
    walkTree(this.tree.root, (node) => { if (this.isCheap(node)) count += 1; });
    this.list.classList.toggle("brief", hide && count > 0);
    this.cheap.hidden = !count || !this.tree.timed;
    this.cheap.textContent = `${hide ? "Show" : "Hide"} ${count === 1 ? "1 row" : `${number(count)} rows`} below ${percent(CHEAP, 1)} of the time`;
  }

  collapse() {
    for (const node of this.items.keys()) if (node !== this.tree.root) this.open(node, false);
  }

  focus(node) {
    for (const item of this.items.values()) item.row.tabIndex = -1;
    const row = this.items.get(node).row;
    row.tabIndex = 0;
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  }

  reveal(node) {
    const path = [];
    for (let above = this.up.get(node); above; above = this.up.get(above)) path.unshift(above);
    for (const above of path) this.open(above, true);
    return this.items.get(node);
  }

  show(numberOfNode) {
    this.search.value = "";
    this.find("");
    walkTree(this.tree.root, (node) => {
      if (node.number !== numberOfNode) return;
      if (this.isCheap(node)) this.brief(false);
      this.reveal(node);
      this.focus(node);
      this.items.get(node).row.scrollIntoView({ block: "center" });
      if (!this.items.get(node).about) this.about(node);
    });
  }

  // Open or close what is known of a node, with its source lines.
  about(node) {
    const item = this.items.get(node);
    if (item.about) {
      item.about.remove();
      item.about = null;
      return;
    }
    const facts = [
      [node.op ? "times in a row" : "iterations", node.times && node.repeat.length > node.times.length ? `${node.times}: ${node.repeat}` : node.repeat], ["ranks", node.number >= 0 ? `${node.ranks} (${number(node.nranks)})` : ""], ["parameters", node.params],
      ["time in MPI, all ranks", this.tree.timed ? duration(node.comm_ns) : ""],
      [this.simulated ? `${this.source} in MPI, with shared cores` : "", this.tree.timed ? duration(node.recorded_ns) : ""],
      [this.simulated ? `${this.source} beyond shortest, with shared cores` : "beyond shortest, all ranks", this.tree.timed ? coarseDuration(node.beyond_ns) : ""],
      ["waiting, simulated, all ranks", node.waiting_ns !== null ? coarseDuration(node.waiting_ns) : ""],
      ["computation before, all ranks", this.tree.timed ? duration(node.compute_ns) : ""],
      ["calls", number(node.calls)], ["sent", bytes(node.sent)], ["receive buffers", bytes(node.received)],
    ];
    if (node.pattern) facts.push(["pattern", patternText(node.pattern)]);
    const site = this.tree.sites[node.site];
    if (site) facts.push(["call stack", site.frames.join("  ←  ")]);
    else if (node.place) facts.push(["lines of its calls", node.place]);
    if (/[<[{]/.test(node.ranks + node.repeat)) facts.push(["notation", NOTATION]);
    item.about = h("div", { class: "more-about" },
      h("dl", {}, facts.filter(([name, text]) => name && text).map(([name, text]) => [h("dt", {}, name), h("dd", {}, text)])),
      site && site.source ? sourceBox(site.source, site.shown) : "");
    item.row.after(item.about);
  }

  visible() {
    return [...this.list.querySelectorAll(".row")].filter((row) => row.offsetParent !== null);
  }

  key(event) {
    const row = event.target.closest(".row");
    const node = [...this.items].find(([, item]) => item.row === row)?.[0];
    if (!node) return;
    const rows = this.visible();
    const at = rows.indexOf(row);
    const go = (other) => { const found = [...this.items].find(([, item]) => item.row === other); if (found) this.focus(found[0]); };
    const actions = {
      ArrowDown: () => go(rows[at + 1]), ArrowUp: () => go(rows[at - 1]), Home: () => go(rows[0]), End: () => go(rows[rows.length - 1]),
      ArrowRight: () => (node.children.length && !this.isOpen(node) ? this.open(node, true) : go(rows[at + 1])),
      ArrowLeft: () => (node.children.length && this.isOpen(node) ? this.open(node, false) : this.up.get(node) && this.focus(this.up.get(node))),
      Enter: () => this.about(node), " ": () => this.toggle(node),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  }

  // Hide the rows that are neither found nor around what is found.
  filter(hits) {
    const kept = new Set(hits);
    for (const node of hits) for (let above = this.up.get(node); above; above = this.up.get(above)) kept.add(above);
    this.kept = kept;
    for (const [node, item] of this.items) item.row.classList.toggle("other", !kept.has(node));
  }

  find(text) {
    for (const item of this.items.values()) item.row.classList.remove("hit", "other");
    this.kept = null; // rows that are shown; null: all
    if (text && this.list.classList.contains("brief")) {
      this.brief(false);
      this.briefAgain = true;
    } else if (!text && this.briefAgain) {
      this.brief(true);
      this.briefAgain = false;
    }
    if (!text) {
      this.found.textContent = "";
      return;
    }
    const lower = text.toLowerCase();
    const ranks = [...lower.matchAll(/\brank:\s*(\d+)/g)].map((found) => Number(found[1]));
    const words = lower.replace(/\brank:\s*\d+/g, "").split(/\s+/).filter(Boolean);
    const matches = (node) => {
      if (!ranks.every((rank) => hasRank(node.ranks, rank))) return false;
      const site = this.tree.sites[node.site];
      const parts = [node.op, node.params, ...(site ? site.frames : [])].map((part) => part.toLowerCase());
      return words.every((word) => parts.some((part) => part.includes(word)));
    };
    const hits = [];
    walkTree(this.tree.root, (node) => { if (node.op && matches(node)) hits.push(node); });
    for (const node of hits.slice(0, 500)) this.reveal(node).row.classList.add("hit");
    const time = hits.reduce((sum, node) => sum + timeOf(node), 0);
    const of = ranks.length ? "in these calls on all their ranks" : "on all ranks";
    const times = this.tree.timed && hits.length ? `: ${duration(time)} ${of}, ${percent(time, this.whole)}` : "";
    this.found.textContent = `${number(hits.length)} found${times}`;
    this.filter(new Set(hits));
  }
}

const FORTRAN = /\.(f|for|ftn|f90|f95|f03|f08):\d/i;
const DECLARATION = /^\s*((pure|recursive|elemental|module|integer|real|logical|double\s+precision)\s+)*(subroutine|function|program)\s+\w/i;

function sourceBox(source, frame) {
  const lines = source.lines.map((line, i) => {
    const at = source.first + i;
    const text = `${String(at).padStart(5)}  ${line}\n`;
    return at === source.line ? h("span", { class: "here" }, text) : text;
  });
  return h("div", {}, h("pre", { class: "source" }, lines),
    FORTRAN.test(frame) && DECLARATION.test(source.lines[source.line - source.first] || "") ? h("p", { class: "note" }, "the debug information has the line of the subroutine, not that of the call") : "",
    source.changed ? h("p", { class: "note" }, "this file was changed after the run") : "");
}
