/* repeat_exactly.cpp - the part of queue.hpp that makes loops of exact repetitions.
 *
 *     events     x  a b b a c  a b b a c  a b b a c          the last three periods are equal
 *     queue      x  a [b] a c [a [b] ..] a c ...             folded in one way or another: unfolded from x on
 *                x  [loop 3: a [loop 2: b] a c]              one period folded on its own; it takes the others
 */
#include "fold/iterate.hpp"
#include "fold/queue.hpp"
#include "fold/unfold.hpp"

#include <algorithm>

namespace st {

namespace {
constexpr uint64_t kMaxUnfoldedPeriods = 8;          // older ones stay as they are
constexpr uint64_t kMaxUnfolded = uint64_t{1} << 15; // events, unless two periods have more: each takes half a kB
constexpr uint64_t kMaxEarlierEvents = 4096;         // in nodes that began before the repetition
constexpr uint64_t kMinEventsBetweenTries = 64;
} // namespace

/* The cursor takes the events of the block that is not complete, as far as it can. */
void Queue::leave_block() {
    const Body pending = block_.end(pool_);
    open(nodes_.back());
    for (Node *event : pending) place_event(event);
}

void Queue::repeat_exactly(const Repetition &found) {
    next_try_ = periods_.size() + std::max(found.period, kMinEventsBetweenTries);
    if (!can_unfold(found)) return;
    spill();
    const Body events = unfold_last(found);
    const uint64_t ago = std::min<uint64_t>(events.size(), periods_.size() - found.start);
    const size_t head = block_head(events, events.size() - ago, found.period), second = head + found.period;
    const auto part = [&events](size_t from, size_t end) {
        return Body(events.begin() + static_cast<ptrdiff_t>(from), events.begin() + static_cast<ptrdiff_t>(end));
    };
    for (Node *node : folded_apart(part(0, head))) push(node);
    begin_block(part(head, second));
    size_t i = second;
    while (i < events.size() && block_.active() && block_.append(pool_, order_, events[i])) ++i;
    if (i < events.size() && block_.active()) leave_block();
    while (i < events.size()) place_event(events[i++]);
}

/* Events of the repetition that are unfolded, at most. */
uint64_t Queue::max_unfolded(const Repetition &found) const {
    const uint64_t longest = std::max(2 * found.period, std::min(kMaxUnfoldedPeriods * found.period, kMaxUnfolded));
    return std::min(periods_.size() - found.start, longest);
}

/* Have the queue's last nodes, with the cursor's iteration, the repeated blocks and not too many other events? After a
 * search this iteration has few events. */
bool Queue::can_unfold(const Repetition &found) const {
    const uint64_t max_events = max_unfolded(found);
    uint64_t n = 0;
    for (const Frame &frame : frames_)
        for (const Node *node : frame.pending) {
            if (!has_all_values(node)) return false;
            n += count_events(node);
        }
    for (size_t from = queue_.size(); from > 0 && n < max_events;) {
        const Node *node = nodes_[--from];
        if (!has_all_values(node)) return false;
        n += count_events(node);
    }
    return n >= 2 * found.period && n <= max_events + std::max(kMaxEarlierEvents, max_events);
}

/* Unfold the queue's last nodes, which have the repeated blocks, and some events before them. */
Body Queue::unfold_last(const Repetition &found) {
    const uint64_t max_events = max_unfolded(found);
    size_t from = queue_.size();
    for (uint64_t n = 0; from > 0 && n < max_events;) n += count_events(nodes_[--from]);
    Body events;
    uint64_t before = from ? nodes_[from - 1]->last : 0;
    for (Node *node : pop_from(from)) {
        const Body more = unfold(pool_, node, before);
        events.insert(events.end(), more.begin(), more.end());
        before = events.back()->first;
    }
    return events;
}

/* Where the block begins, from an event on and less than a period behind it: at the step that leads back furthest in
 * the program's text, the seam of the loop (order.hpp); at `from` if no step encloses all others. */
size_t Queue::block_head(const Body &events, size_t from, uint64_t period) {
    std::vector<CodeStep> steps;
    for (size_t i = from; i < from + period; ++i)
        steps.push_back(order_.step(events[(i > from ? i : from + period) - 1]->signature, events[i]->signature));
    size_t seam = 0;
    for (size_t i = 1; i < steps.size(); ++i)
        if (steps[i].way == CodeStep::kBack && !(steps[seam].way == CodeStep::kBack && steps[seam].encloses(steps[i])))
            seam = i;
    for (size_t i = 0; i < steps.size(); ++i)
        if (steps[seam].way != CodeStep::kBack || (i != seam && !steps[seam].encloses(steps[i]))) return from;
    return from + seam;
}

/* Fold events on their own. */
Body Queue::folded_apart(const Body &events) {
    Queue inner(pool_, order_);
    for (Node *event : events) {
        if (Node *run = inner.next(event->first))
            inner.continue_run(run, event);
        else
            inner.append(event);
    }
    inner.finish();
    return inner.take();
}

/* Fold one period of events, and make it a loop that takes those that follow. */
void Queue::begin_block(const Body &events) {
    const uint64_t period = events.size();
    Body body = folded_apart(events);
    Node *loop = body.size() == 1 ? body.front() : begin_loop(pool_, std::move(body));
    push(loop);
    if (!loop->leaf() && !block_.begin(loop, period)) open(loop);
}

} // namespace st
