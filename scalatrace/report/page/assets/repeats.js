// Rows of the time line: calls, and loops whose repetitions start period_ns after each other.
const START = 0, LENGTH = 1, PLACE = 2, PEER = 3, NBYTES = 4, DONE = 5, SENT = 6, RECEIVED = 7;

const UNNUMBERED = [-1, 0]; // of calls without a message, which the page leaves out

const isLoop = (item) => !Array.isArray(item);

// Give all calls both ends of messages.
function completeItems(items) {
  for (const item of items) {
    if (isLoop(item)) completeItems(item.items);
    else if (item.length <= SENT) item.push(UNNUMBERED, UNNUMBERED);
  }
}

// The repetitions of a loop that overlap an interval: the first one, and the one behind the last.
function overlapping(loop, from, to) {
  if (!(loop.period_ns > 0)) return [0, loop.times];
  const begin = Math.max(0, Math.floor((from - loop.start_ns) / loop.period_ns));
  return [begin, Math.min(loop.times, Math.floor((to - loop.start_ns) / loop.period_ns) + 1)];
}

// Yield the calls that overlap an interval: bar, start in ns, and around it each loop with the number of the repetition.
// `enters`: whether a loop is of interest.
function* callsOf(items, from, to, enters = () => true, shift = 0, around = []) {
  for (const item of items) {
    if (!isLoop(item)) {
      const start = item[START] + shift;
      if (start <= to && start + item[LENGTH] >= from) yield { bar: item, start, around };
    } else if (enters(item)) {
      const [begin, end] = overlapping(item, from - shift, to - shift);
      for (let k = begin; k < end; k++) yield* callsOf(item.items, from, to, enters, shift + k * item.period_ns, [...around, [item, k]]);
    }
  }
}

// The calls of an interval, and in place of loops whose repetitions are shorter than `least` ns, these.
function shownItems(items, from, to, least, shift = 0, around = [], shown = { calls: [], loops: [] }) {
  for (const item of items) {
    if (!isLoop(item)) {
      const start = item[START] + shift;
      if (start <= to && start + item[LENGTH] >= from) shown.calls.push({ bar: item, start, around });
      continue;
    }
    const start = item.start_ns + shift, end = start + item.times * item.period_ns;
    if (start > to || end < from) continue;
    if (item.period_ns < least * Math.max(1, ncalls(item) / 6)) { // about a pixel for a call
      shown.loops.push({ loop: item, start, end });
      continue;
    }
    const [begin, behind] = overlapping(item, from - shift, to - shift);
    for (let k = begin; k < behind; k++) shownItems(item.items, from, to, least, shift + k * item.period_ns, [...around, [item, k]], shown);
  }
  return shown;
}

// Channel and number of the message of a call, as a key; null: none. `end`: SENT or RECEIVED.
function messageOf(call, end) {
  const [channel, first] = call.bar[end];
  if (channel < 0) return null;
  const each = end === SENT ? "sent" : "received";
  let number = first;
  for (const [loop, k] of call.around) number += k * ((loop[each].find(([name]) => name === channel) || [0, 0])[1]);
  return `${channel} ${number}`;
}

// The call that sends (or receives) the n-th message of a channel; null: it is not there.
function callOf(items, end, channel, n, shift = 0, around = []) {
  const each = end === SENT ? "sent" : "received";
  for (const item of items) {
    if (!isLoop(item)) {
      if (item[end][0] === channel && item[end][1] === n) return { bar: item, start: item[START] + shift, around };
      continue;
    }
    const [, moved] = item[each].find(([name]) => name === channel) || [0, 0];
    if (!moved) continue;
    const k = Math.floor((n - firstMessage(item, end, channel)) / moved);
    if (k < 0 || k >= item.times) continue;
    const call = callOf(item.items, end, channel, n - k * moved, shift + k * item.period_ns, [...around, [item, k]]);
    if (call) return call;
  }
  return null;
}

// Number of the first message of a channel in the first repetition of a loop.
function firstMessage(loop, end, channel) {
  return Math.min(...loop.items.map((item) => isLoop(item) ? firstMessage(item, end, channel) : item[end][0] === channel ? item[end][1] : Infinity));
}

// Channels on which calls send (or receive).
function channelsOf(items, end, channels = new Set()) {
  for (const item of items) {
    if (isLoop(item)) channelsOf(item.items, end, channels);
    else if (item[end][0] >= 0) channels.add(item[end][0]);
  }
  return channels;
}

// Sum f(bar) over the calls of items, with repetitions.
function sumCalls(items, f) {
  return items.reduce((sum, item) => sum + (isLoop(item) ? item.times * sumCalls(item.items, f) : f(item)), 0);
}

// Calls of one repetition.
function ncalls(loop) {
  if (loop.ncalls === undefined) loop.ncalls = sumCalls(loop.items, () => 1);
  return loop.ncalls;
}

// Times of a repetition by category of the calls, ns; the remainder is computation.
function shares(loop, places) {
  if (!loop.shares) addTimes(loop.items, 1, places, loop.shares = new Map());
  return loop.shares;
}

// Add the times of calls that run so many times.
function addTimes(items, times, places, sums) {
  for (const item of items) {
    if (isLoop(item)) {
      addTimes(item.items, times * item.times, places, sums);
      continue;
    }
    const category = places[item[PLACE]][1];
    sums.set(category, (sums.get(category) || 0) + times * item[LENGTH]);
  }
}
