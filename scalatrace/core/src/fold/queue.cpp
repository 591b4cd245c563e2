/* queue.cpp - the cursor and the search of queue.hpp.
 *
 * append()    a block takes the event, if it is expected; else place_event(), and a look for an exact repetition
 *
 * place_event()
 *             the cursor takes the event, if it is expected: advance()
 *             else all loops are left: spill()
 *             then the search looks for a loop that ends with the queue's last event: detect()
 *             a loop that is found may expect the new event, so the cursor is tried again
 *             else the event becomes a node of the queue: push()
 *
 * detect()    runs when a new event has ended a possible iteration. It tries, for each target tail, from the cheapest:
 *             equal shapes, trailing iterations of the last loop, an alignment, an alignment with an incomplete first
 *             iteration.
 */
#include "fold/queue.hpp"

#include <algorithm>

namespace st {

namespace {
constexpr size_t kNone = SIZE_MAX;
constexpr size_t kWindow = 8192;                 // nodes between match tail and target tail
constexpr int kMaxEqualCandidates = 16;          // target tails that are tried for equality ...
constexpr int kMaxSimilarCandidates = 4;         // ... and for alignment
constexpr int kMaxHeads = 3;                     // target heads tried per tail
constexpr int64_t kCellsPerEvent = 300;          // credit of an event: mean cost of the search, some microseconds ...
constexpr int64_t kMaxCredit = int64_t{1} << 21; // ... and what can be saved up for long iterations
constexpr int64_t kFailedCellsPerHalving = int64_t{1} << 16;        // of alignments: halve the credit of an event ...
constexpr int64_t kMaxFailedCells = 4 * kFailedCellsPerHalving - 1; // ... down to an eighth
constexpr int64_t kCellsRestoredPerMatch = 8;                       // cells that a matched event takes off again ...
constexpr int64_t kCellsRestoredPerExpected = 8;                    // ... and one that the cursor expected
constexpr uint64_t kMaxEventsAfterSearch = 1024;                    // in which anchors are noted
constexpr size_t kMaxSkipped = 256;                                 // nodes that the cursor passes over at once

size_t entry(const Body &kids, size_t from, uint64_t key);

/* Does the event occur in the node? */
bool contains(const Node *n, uint64_t key) {
    if (n->leaf()) return n->first == key;
    return std::any_of(n->kids.begin(), n->kids.end(), [key](const Node *kid) { return contains(kid, key); });
}

/* Can an execution of the node begin with this event? */
bool accepts(const Node *n, uint64_t key) { return n->leaf() ? n->first == key : entry(n->kids, 0, key) != kNone; }

/* Index from `from` on of the child that can begin with this event, passing only over children that were skipped
 * before; kNone: there is none. */
size_t entry(const Body &kids, size_t from, uint64_t key) {
    for (size_t i = from; i < std::min(kids.size(), from + kMaxSkipped); ++i) {
        if (accepts(kids[i], key)) return i;
        if (!kids[i]->skipped) return kNone;
    }
    return kNone;
}
} // namespace

void Queue::abandon() {
    frames_.clear();
    nodes_.clear();
    queue_.clear();
    block_.abandon();
}

/* Append a node, and link it with the last entries that begin and end with the same events. */
void Queue::push(Node *n) {
    Places &ends = latest_[n->last], &begins = n->leaf() ? ends : latest_[n->first];
    const CodeStep step = queue_.empty() ? CodeStep{} : order_.step(nodes_.back(), n);
    nodes_.push_back(n);
    queue_.push_back({{begins.begins, ends.ends}, step});
    begins.begins = ends.ends = static_cast<uint32_t>(queue_.size());
}

/* Remove entries in reverse order, so that `latest_` is right after each. */
Body Queue::pop_from(size_t index) {
    for (size_t i = queue_.size(); i-- > index;) {
        const Node *n = nodes_[i];
        Places &ends = latest_[n->last];
        (n->leaf() ? ends : latest_[n->first]).begins = queue_[i].before.begins;
        ends.ends = queue_[i].before.ends;
    }
    Body out(nodes_.begin() + static_cast<ptrdiff_t>(index), nodes_.end());
    nodes_.resize(index);
    queue_.resize(index);
    return out;
}

void Queue::append(Node *event) {
    if (block_.active()) {
        if (block_.append(pool_, order_, event)) return;
        leave_block();
    }
    const bool searched = place_event(event);
    if (!align_loops) return;
    if (searched) last_search_ = periods_.size();
    if (periods_.size() - last_search_ > kMaxEventsAfterSearch) return;
    periods_.note(searched);
    if (!searched || periods_.size() < next_try_) return;
    const Repetition found = periods_.find();
    if (found.period) repeat_exactly(found);
}

/* Append an event to a run of the same event. */
void Queue::continue_run(Node *run, Node *event) {
    ++run->count;
    append_content(pool_, order_, run, event);
}

bool Queue::place_event(Node *event) {
    credit_ = std::min(credit_ + credit_per_event(), kMaxCredit);
    next_ = nullptr;
    if (!frames_.empty()) {
        if (advance(event)) {
            failed_cells_ = std::max<int64_t>(0, failed_cells_ - kCellsRestoredPerExpected);
            return false;
        }
        spill();
    }
    next_ = event;
    while (detect()) { // a loop that ends may complete an iteration of the loop around it
        next_ = nullptr;
        if (advance(event)) return true;
        spill();
        next_ = event;
    }
    next_ = nullptr;
    if (Node *run = running(event->first)) {
        continue_run(run, event);
        return true;
    }
    push(event);
    return true;
}

/* A loop that ends may complete another one, and partial iterations may become whole: repeat until nothing changes. */
void Queue::finish() {
    if (block_.active()) leave_block();
    spill();
    while (detect()) spill();
    while (align_loops && fold(0))
        while (detect()) spill();
}

Body Queue::take() { return pop_from(0); }

Body Queue::copy(NodePool &pool) const {
    Body out;
    for (const Node *n : nodes_) out.push_back(pool.clone(n));
    for (size_t f = 0; f < frames_.size(); ++f)
        for (const Node *p : frames_[f].pending)
            if (p->count) out.push_back(pool.clone(p)); // 0: an inner loop whose first iteration is not complete
    const Body pending = block_.pending(pool);
    out.insert(out.end(), pending.begin(), pending.end());
    return out;
}

size_t Queue::nbytes() const {
    size_t n = nodes_.capacity() * sizeof(Node *) + queue_.capacity() * sizeof(Entry);
    for (const Node *node : nodes_) n += tree_bytes(node);
    for (const Frame &f : frames_)
        for (const Node *p : f.pending) n += tree_bytes(p);
    return n + block_.nbytes() + periods_.nbytes();
}

/* --- the cursor ------------------------------------------------------------------------------------------------ */

/* All nodes that are missing in the pending iteration have been skipped before. */
bool Queue::completable(const Frame &f) const {
    if (f.pending.empty()) return false;
    for (size_t i = f.next; i < f.loop->kids.size(); ++i)
        if (!f.loop->kids[i]->skipped) return false;
    return true;
}

/* From the innermost frame out, the event may continue a run of the same event (kRun), be the next one in the body
 * (kForward), or begin the next iteration (kWrap). A frame can be left only between iterations. */
bool Queue::advance(Node *event) {
    const uint64_t key = event->first;
    enum { kRun, kForward, kWrap } how = kRun;
    size_t f = frames_.size(), index = kNone;
    bool fits = false, run_possible = false;
    while (f-- > 0) {
        Frame &frame = frames_[f];
        const Body &kids = frame.loop->kids;
        if (f + 1 == frames_.size() && !frame.pending.empty() && frame.pending.back()->leaf() &&
            frame.pending.back()->first == key) {
            run_possible = true;
            if (kids[frame.at.back()]->multiple) {
                fits = true;
                break;
            }
        }
        index = entry(kids, frame.next, key);
        if (index != kNone) {
            how = kForward;
            fits = true;
            break;
        }
        const bool whole = completable(frame);
        if (whole && (index = entry(kids, 0, key)) != kNone) {
            how = kWrap;
            fits = true;
            break;
        }
        if (!whole && !frame.pending.empty()) break; // within an iteration: the frames around it cannot take the event
    }
    if (!fits) {
        if (!run_possible) return false;
        f = frames_.size() - 1;
        how = kRun;
    }
    while (frames_.size() > f + 1) {
        if (!frames_.back().pending.empty()) commit(frames_.back());
        frames_.pop_back();
    }
    if (how == kRun) {
        Node *run = frames_[f].pending.back();
        continue_run(run, event);
        return true;
    }
    if (how == kWrap) commit(frames_[f]);
    place(f, index, event);
    return true;
}

/* Make the event pending in a frame, and open frames for the loops that begin with it. */
void Queue::place(size_t f, size_t index, Node *event) {
    for (;;) {
        Frame &frame = frames_[f];
        Node *kid = frame.loop->kids[index];
        frame.next = index + 1;
        frame.at.push_back(static_cast<uint32_t>(index));
        if (kid->leaf()) {
            frame.pending.push_back(event);
            break;
        }
        Node *inner = pool_.clone_shape(kid);
        frame.pending.push_back(inner);
        open(inner);
        f = frames_.size() - 1;
        index = entry(inner->kids, 0, event->first);
    }
    Frame &frame = frames_[f];
    if (frame.next == frame.loop->kids.size() && frame.loop->kids.back()->leaf() && !frame.loop->kids.back()->multiple)
        commit(frame); // the iteration is complete and cannot be longer
}

/* Nodes of the body that the iteration skipped get repeat 0. */
void Queue::commit(Frame &frame) {
    Body &kids = frame.loop->kids;
    size_t p = 0;
    for (size_t i = 0; i < kids.size(); ++i) {
        Node *kid = kids[i];
        if (p == frame.at.size() || frame.at[p] != i) {
            kid->repeat.vec.append(0);
            continue;
        }
        Node *node = frame.pending[p++];
        kid->repeat.vec.append(static_cast<int64_t>(node->count));
        kid->multiple |= node->count > 1;
        append_content(pool_, order_, kid, node);
    }
    ++frame.loop->count;
    ++frame.loop->runs;
    frame.next = 0;
    frame.pending.clear();
    frame.at.clear();
}

void Queue::open(Node *loop) {
    frames_.emplace_back();
    frames_.back().loop = loop;
}

/* Leave all loops. The nodes of an iteration that is not complete go behind the loop in which it began. */
void Queue::spill() {
    Body loose;
    for (size_t f = frames_.size(); f-- > 0;) {
        Frame &frame = frames_[f];
        if (completable(frame)) {
            commit(frame);
        } else {
            loose.insert(loose.begin(), frame.pending.begin(), frame.pending.end());
        }
        if (frame.loop->count == 0) { // its first iteration is not complete; it is the outer frame's last pending node
            frames_[f - 1].pending.pop_back();
            frames_[f - 1].at.pop_back();
            frames_[f - 1].next = frames_[f - 1].at.empty() ? 0 : frames_[f - 1].at.back() + 1;
            pool_.release(frame.loop);
        }
    }
    frames_.clear();
    for (Node *n : loose) push(n);
}

/* --- finding loops --------------------------------------------------------------------------------------------- */

/* Search for two neighbouring runs of nodes that end with the queue's last event. Return true when a loop was made or
 * extended; it is then the last node, and the cursor stands in it. */
bool Queue::detect() {
    const size_t n = queue_.size();
    if (n < 2) return false;
    int tried = 0;
    for (size_t tail = queue_[n - 1].before.ends; tail && tried < kMaxEqualCandidates; ++tried) {
        const size_t length = n - tail; // of the nodes behind the target tail
        if (length > kWindow) break;
        if (join_equal(tail - 1, length)) return true;
        tail = queue_[tail - 1].before.ends;
    }
    if (size_t tail = queue_[n - 1].before.ends; tail && join_trailing(tail - 1)) return true;
    tried = 0;
    if (!align_loops) return false;
    for (size_t tail = queue_[n - 1].before.ends; tail && tried < kMaxSimilarCandidates; ++tried) {
        const size_t length = n - tail;
        if (length > kWindow) break;
        if (join_similar(tail - 1, length)) return true;
        tail = queue_[tail - 1].before.ends;
    }
    return false;
}

/* Can the step to the entry at `first` lead from one iteration to the next, in a loop of all entries from `head` on? */
bool Queue::seam(size_t head, size_t first) const {
    const CodeStep &step = queue_[first].step;
    if (step.way == CodeStep::kAhead) return false;
    for (size_t i = head + 1; step.way == CodeStep::kBack && i < queue_.size(); ++i)
        if (i != first && !step.encloses(queue_[i].step)) return false;
    return true;
}

/* Is the iteration that began at `from` or later incomplete, because the next event is further ahead in it? */
bool Queue::continues(size_t from) {
    if (!next_ || order_.step(nodes_.back(), next_).way != CodeStep::kAhead) return false;
    for (size_t i = queue_.size(); i-- > from;)
        if (contains(nodes_[i], next_->first)) return true;
    return false;
}

/* Fold partial iterations in the queue from an entry on. */
bool Queue::fold(size_t from) {
    bool loops = false;
    for (size_t i = from; i < queue_.size(); ++i) loops |= !nodes_[i]->leaf();
    if (!loops) return false;
    Body nodes = pop_from(from);
    const bool changed = fold_partial_iterations(pool_, order_, nodes);
    for (Node *n : nodes) push(n);
    return changed;
}

/* Join two runs of nodes of equal shapes: a loop and its next iteration, or two iterations of a new loop. */
bool Queue::join_equal(size_t tail, size_t length) {
    Node *before = nodes_[tail];
    const size_t first = tail + 1;
    if (length == 1 && nodes_[first]->shape == before->shape) { // the same loop, or run of one event, continued
        Node *later = pop_from(first).front();
        before->count += later->count;
        append_content(pool_, order_, before, later);
        if (!before->leaf()) open(before);
        return true;
    }
    if (!before->leaf()) {
        if (before->kids.size() == length) {
            size_t i = 0;
            while (i < length && before->kids[i]->shape == nodes_[first + i]->shape) ++i;
            if (i == length && seam(tail, first) && !continues(tail)) {
                extend(tail, nullptr);
                return true;
            }
        }
    }
    if (first < length) return false;
    const size_t head = first - length;
    for (size_t i = length; i-- > 0;)
        if (nodes_[head + i]->shape != nodes_[first + i]->shape) return false;
    if (!seam(head, first) || continues(head)) return false;
    repeat_from(head, first, nullptr);
    return true;
}

/* Make all nodes behind the loop at `index` its next iteration, along an alignment; null: align them first. */
void Queue::extend(size_t index, const Alignment *alignment) {
    const bool folded = align_loops && fold(index + 1);
    Body later = pop_from(index + 1);
    Node *loop = pop_from(index).front();
    as_iteration(later);
    Alignment pairs;
    if (folded || !alignment) {
        pairs = Aligner{AlignRules(order_)}.align(loop->kids, later);
        alignment = &pairs;
    }
    const uint64_t began = loop->first;
    append_body(pool_, order_, loop, std::move(later), 1, *alignment);
    ++loop->count;
    push(loop);
    // With another beginning, the node just before it may be one of its iterations.
    if (align_loops && loop->first != began) fold(index ? index - 1 : 0);
    open(nodes_.back());
}

/* Trailing iterations (Figure 5.2): the nodes behind the loop repeat the end of its body. So this end is a loop of
 * its own, which ran once more in the last iteration. */
bool Queue::join_trailing(size_t tail) {
    Node *outer = nodes_[tail];
    const size_t length = queue_.size() - tail - 1;
    Body spine; // the loops whose last iteration ends the queue, outermost first
    for (Node *loop = outer; !loop->leaf(); loop = loop->kids.back()) {
        if (loop != outer && loop->repeat.vec.last() == 0) break;
        spine.push_back(loop);
        Body &kids = loop->kids;
        if (kids.size() < length || (loop == outer && kids.size() == length)) continue;
        const size_t from = kids.size() - length;
        size_t i = 0;
        while (i < length && kids[from + i]->shape == nodes_[tail + 1 + i]->shape) ++i;
        if (i < length || !seam(tail, tail + 1) || continues(tail + 1)) continue;
        Body later = pop_from(tail + 1);
        pop_from(tail);
        as_iteration(later);
        Node *inner = loop;
        if (from > 0 && length == 1) { // one node: its own repeat grows
            inner = kids.back();
            inner->repeat.vec.add_to_last(static_cast<int64_t>(later[0]->count));
            inner->multiple = true;
            append_content(pool_, order_, inner, later[0]);
        } else {
            if (from > 0) { // the end of the body becomes a loop with repeat 1 so far
                Body end(kids.begin() + static_cast<ptrdiff_t>(from), kids.end());
                kids.resize(from);
                inner = make_sequence(pool_, std::move(end));
                inner->repeat.vec.append_run(1, loop->runs);
                inner->runs = loop->runs;
                kids.push_back(inner);
            }
            inner->repeat.vec.add_to_last(1);
            inner->multiple = true;
            for (i = 0; i < length; ++i) {
                Node *kid = inner->kids[i];
                kid->repeat.vec.append(static_cast<int64_t>(later[i]->count));
                kid->multiple |= later[i]->count > 1;
                append_content(pool_, order_, kid, later[i]);
            }
            ++inner->runs;
        }
        for (size_t k = spine.size(); k-- > 0;) update_shape(spine[k]);
        push(outer);
        open(outer);
        return true;
    }
    return false;
}

/* Reduce the credit by the cost of some work. Return false when it does not suffice: the work must not be done. */
bool Queue::pay(size_t work) {
    if (static_cast<int64_t>(work) > credit_) return false;
    credit_ -= static_cast<int64_t>(work);
    return true;
}

/* Align two iterations, paid from the credit. The result is not worth it where the credit does not suffice. */
Alignment Queue::aligned(Nodes before, Nodes later) {
    const int64_t paid = credit_;
    const Alignment found = Aligner(AlignRules(order_), &credit_).align(before, later);
    failed_cells_ = found.worth() ? std::max<int64_t>(0, failed_cells_ - kCellsRestoredPerMatch * found.matched)
                                  : std::min(failed_cells_ + paid - credit_, kMaxFailedCells);
    return found;
}

/* Cells that an event adds to the credit: fewer where alignments have failed again and again. */
int64_t Queue::credit_per_event() const { return kCellsPerEvent >> (failed_cells_ / kFailedCellsPerHalving); }

/* Join a loop and its next iteration, or two iterations of a new loop, whose alignment takes less space. */
bool Queue::join_similar(size_t tail, size_t length) {
    const size_t first = tail + 1;
    Node *before = nodes_[tail];
    const uint64_t begins = nodes_[first]->first;
    if (queue_[first].step.way == CodeStep::kAhead) return false;
    const auto again = [&] { return before->first == begins || order_.seam(before).same_loop(queue_[first].step); };
    if (!before->leaf() && again() && pay(length + before->kids.size()) && seam(tail, first) && !continues(tail)) {
        const Alignment a = aligned(before->kids, stretch(first, queue_.size()));
        if (a.worth()) {
            extend(tail, &a);
            return true;
        }
    }
    int heads = 0;
    const size_t reach = first > 2 * length + 64 ? first - 2 * length - 64 : 0;
    for (size_t from = queue_[first].before.begins; from > reach && heads < kMaxHeads;) {
        const size_t head = from - 1;
        from = queue_[head].before.begins;
        if (!pay(2 * length + first - head)) return false;
        if (!seam(head, first) || continues(head)) continue;
        ++heads;
        const Alignment a = aligned(stretch(head, first), stretch(first, queue_.size()));
        if (!a.worth()) continue;
        repeat_from(head, first, &a);
        return true;
    }
    return join_missing_head(first, length, reach);
}

/* Head of the iteration that ends before `first`, where it lacks the beginning that the next iteration has: it
 * includes the nodes that are, in the loop's function, at or behind the statement to which the loop leads back. */
size_t Queue::iteration_head(size_t first, size_t reach) {
    const CodeStep &back = queue_[first].step;
    const uint64_t begin = CodeOrder::first_signature(nodes_[first]);
    size_t head = first;
    while (head > reach) {
        const CodeStep from_begin = order_.step(begin, CodeOrder::first_signature(nodes_[head - 1]));
        const bool behind = from_begin.depth == back.depth && from_begin.way == CodeStep::kAhead &&
                            from_begin.to.function == back.to.function;
        if (!behind && from_begin.depth <= back.depth) break;
        const CodeStep &into = queue_[--head].step;
        if (into.depth < back.depth || (into.depth == back.depth && into.way != CodeStep::kAhead)) break;
    }
    return head;
}

/* Join two iterations of which the first lacks its beginning. */
bool Queue::join_missing_head(size_t first, size_t length, size_t reach) {
    if (queue_[first].step.way != CodeStep::kBack || !pay(2 * length)) return false;
    const size_t head = iteration_head(first, reach);
    if (head == first || !pay(first - head) || !seam(head, first) || continues(head)) return false;
    const Alignment a = aligned(stretch(head, first), stretch(first, queue_.size()));
    if (!a.worth()) return false;
    repeat_from(head, first, &a);
    return true;
}

/* Make a loop: the entries head...first are its first iteration, those from `first` on its second. */
void Queue::repeat_from(size_t head, size_t first, const Alignment *alignment) {
    Body later = pop_from(first);
    const bool folded = align_loops && fold(head);
    Node *loop = begin_loop(pool_, pop_from(head));
    push(loop);
    for (Node *n : later) push(n);
    extend(head, folded ? nullptr : alignment);
    if (!align_loops || queue_.size() < 2) return;
    Body loops = pop_from(queue_.size() - 2);
    if (join_loops(pool_, order_, loops[0], loops[1])) {
        frames_.back().loop = loops[0];
        loops.pop_back();
    }
    for (Node *n : loops) push(n);
}

} // namespace st
