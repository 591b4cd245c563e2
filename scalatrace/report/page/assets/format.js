// Numbers with units, as the commands print them.
function number(n) {
  return n === null || n === undefined ? "–" : Math.round(n).toLocaleString("en-US");
}

function significant(x) {
  return x >= 999.95 ? number(x) : String(Number(x.toPrecision(4)));
}

function duration(ns) {
  if (ns === null || ns === undefined) return "–";
  if (Math.abs(ns) >= 1e15) return `${(ns / 1e9).toExponential(3).replace(/\.?0*e\+(\d)$/, "e+0$1").replace(/\.?0+e/, "e")} s`;
  for (const [unit, factor] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]]) {
    if (Math.abs(ns) >= factor * 0.9995) return `${significant(ns / factor)} ${unit}`;
  }
  return `${Number(ns.toPrecision(3))} ns`;
}

// Two or three digits, for numbers that are stored or predicted within some per cent: as `style.coarse`.
function coarse(value) {
  if (!value || !isFinite(value)) return value;
  const leading = Math.abs(value) / 10 ** Math.floor(Math.log10(Math.abs(value)));
  return Number(value.toPrecision(leading < 2 ? 3 : 2));
}

function coarseDuration(ns) {
  return duration(coarse(ns));
}

function coarsePercent(part, whole) {
  return whole && part >= 0.1 * whole ? `${coarse(100 * part / whole)} %` : percent(part, whole);
}

// A number with its interval; the interval alone where it is wider than a factor of 4.
function estimate(value, low, high, shown = coarseDuration, level = 0.95) {
  const end = shown(low) === shown(high) ? duration : shown; // more digits, or the interval seems to be a point
  const interval = `${end(low)} to ${end(high)}`, part = `${Math.round(100 * level)} %`;
  return high > 4 * Math.max(low, 0) ? `${interval} (${part})` : `${shown(value)} (${part}: ${interval})`;
}

function bytes(n) {
  if (n === null || n === undefined) return "–";
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let unit = 0;
  while (Math.abs(n) >= 999.5 && unit < units.length - 1) { n /= 1000; unit += 1; }
  return unit ? `${Number(n.toPrecision(3))} ${units[unit]}` : `${Math.round(n)} B`;
}

function rankCount(n) {
  return n === 1 ? "1 rank" : `${number(n)} ranks`;
}

// Round values between two numbers, about `count` of them; the ends if there is but one.
function roundTicks(low, high, count = 4) {
  const least = (high - low) / count;
  if (!(least > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(least)), step = power * [1, 2, 5, 10].find((factor) => factor * power >= least * (1 - 1e-9));
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i += 1) ticks.push(Number((i * step).toPrecision(12)));
  return ticks.length > 1 ? ticks : [low, high];
}

// The first round value of an axis at or above its largest value.
function axisTop(most) {
  const [first, second] = roundTicks(0, most), step = second - first;
  return step > 0 ? Math.ceil(most / step - 1e-9) * step : most;
}

// Width of the labels of a vertical axis.
function axisRoom(labels) {
  return 12 + 7 * Math.max(...labels.map((text) => text.length));
}

function percent(part, whole) {
  return whole ? `${(100 * part / whole).toFixed(1)} %` : "–";
}

function shortSite(frame) {
  const match = /^(.*):(\d+):(.*)$/s.exec(frame);
  if (match) return `${match[1].split("/").pop()}:${match[2]}:${match[3]}`;
  const plus = frame.lastIndexOf("+0x");
  return plus > 0 ? frame.slice(0, plus).split("/").pop() + frame.slice(plus) : frame.split("/").pop();
}

// A call site with its function first, without name spaces: what is left of a text that is cut at its end.
function functionFirst(frame) {
  const match = /^(.*(?::\d+|\+0x[0-9a-f]+)):(.*)$/is.exec(frame);
  return match ? `${match[2].split("::").pop()}  ${match[1]}` : frame;
}

function shortSites(frames) {
  return frames ? frames.split(" < ").map(shortSite).join(" < ") : "";
}

// The text of a call site, which may be broken within a path, and before a name. As in filters.py.
function breakable(text) {
  return text.replace(/:(?=[A-Za-z_~(<])|\//g, "$&\0").split("\0").map((part, i) => i ? [h("wbr"), part] : part);
}

// Powers of two as they are called: 1024 is 1 KiB.
function binaryBytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  while (n >= 1024 && unit < units.length - 1) { n /= 1024; unit += 1; }
  return `${Number(n.toPrecision(4))} ${units[unit]}`;
}

function span(first, last) {
  return first === last ? number(first) : `${number(first)}–${number(last)}`;
}

// Whether a text of ranks contains a rank: runs (0-3, 8), strides (0-98:2), nests <dims start (length stride)...>.
function hasRank(text, rank) {
  if (text.endsWith("…")) return true; // cut: not known
  if (text.includes("<")) {
    return text.split("|").some((nest) => {
      const numbers = (nest.match(/\d+/g) || []).map(Number);
      return inNest(numbers.slice(2), numbers[1], rank);
    });
  }
  return text.split(",").some((part) => {
    const match = /^\s*(\d+)(?:-(\d+))?(?::(\d+))?\s*$/.exec(part);
    if (!match) return false;
    const first = Number(match[1]), last = Number(match[2] || match[1]), step = Number(match[3] || 1);
    return rank >= first && rank <= last && (rank - first) % step === 0;
  });
}

function inNest(dims, start, rank) {
  if (!dims.length) return start === rank;
  const [length, stride, ...rest] = dims;
  for (let i = 0; i < length; i += 1) {
    const from = start + i * stride;
    if (from > rank) return false;
    if (inNest(rest, from, rank)) return true;
  }
  return false;
}
