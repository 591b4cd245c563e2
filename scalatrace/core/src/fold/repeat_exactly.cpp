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
constexpr uint64_t kMaxPeriods = 8; // that are unfolded; older ones stay as they are
constexpr uint64_t kSpare = 4096;   // events in nodes that began before the repetition, and are unfolded with it
} // namespace

/* The events of the block that is not complete are appended like any other. */
void Queue::leave_block() {
    for (Node *event : block_.end(pool_)) place_event(event);
}

void Queue::repeat_exactly(const Repetition &found) {
    if (periods_.size() < next_try_) return;
    next_try_ = periods_.size() + found.period;
    spill();
    const Body events = unfold_last(found);
    if (events.empty()) return;
    const uint64_t ago = std::min<uint64_t>(events.size(), periods_.size() - found.start);
    const size_t head = block_head(events, events.size() - ago, found.period), second = head + found.period;
    size_t i = 0;
    while (i < head) place_event(events[i++]);
    spill();
    begin_block(Body(events.begin() + static_cast<ptrdiff_t>(head), events.begin() + static_cast<ptrdiff_t>(second)));
    i = second;
    while (i < events.size() && block_.active() && block_.append(pool_, order_, events[i])) ++i;
    if (i < events.size() && block_.active()) leave_block();
    while (i < events.size()) place_event(events[i++]);
}

/* Unfold the queue's last nodes, which have the repeated blocks, but about kMaxPeriods at most. Return no
 * events, and change nothing, where too many others are in these nodes. */
Body Queue::unfold_last(const Repetition &found) {
    const uint64_t most = std::min(periods_.size() - found.start, kMaxPeriods * found.period);
    uint64_t n = 0;
    size_t from = queue_.size();
    while (from > 0 && n < most) {
        const Node *node = queue_[--from].node;
        if (!has_all_values(node)) return {};
        n += count_events(node);
    }
    if (n < 2 * found.period || n > most + std::max(kSpare, most)) return {};
    Body events;
    uint64_t before = from ? queue_[from - 1].node->last : 0;
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

/* Fold one period of events on its own, and make it a loop that takes those that follow. */
void Queue::begin_block(Body &&events) {
    Queue inner(pool_, order_);
    const uint64_t period = events.size();
    for (Node *event : events) {
        if (Node *run = inner.next(event->first)) {
            ++run->count;
            append_content(pool_, order_, run, event);
        } else {
            inner.append(event);
        }
    }
    inner.finish();
    Body body = inner.take();
    Node *loop = body.size() == 1 ? body.front() : begin_loop(pool_, std::move(body));
    push(loop);
    if (!loop->leaf() && !block_.begin(loop, period)) open(loop);
}

} // namespace st
