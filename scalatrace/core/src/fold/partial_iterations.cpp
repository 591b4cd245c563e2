/* partial_iterations.cpp - fold partial iterations until nothing changes. */
#include "fold/partial_iterations.hpp"

namespace st {

namespace {

/* Folds the neighbours of loops in one body. */
class Folder {
  public:
    Folder(NodePool &pool, CodeOrder &order, Body &body) : pool_(pool), order_(order), body_(body) {}

    /* Each loop of the body once, then neighbouring loops. Return whether something has changed. */
    bool pass() {
        bool changed = false;
        for (size_t i = 0; i < body_.size(); ++i) {
            if (body_[i]->leaf()) continue;
            changed |= fold_last(i);
            const size_t before = body_.size();
            changed |= fold_first(i);
            i -= before - body_.size();
        }
        for (size_t i = 0; i + 1 < body_.size();)
            if (join_next(i))
                changed = true;
            else
                ++i;
        return changed;
    }

  private:
    NodePool &pool_;
    CodeOrder &order_;
    Body &body_;

    /* A new one each time, since an aligner caches scores of nodes, and folding changes these. */
    Aligner aligner() { return Aligner(AlignRules(order_)); }

    /* Remove body[from...end) and return it. */
    Body take(size_t from, size_t end) {
        const auto begin = body_.begin();
        Body part(begin + static_cast<ptrdiff_t>(from), begin + static_cast<ptrdiff_t>(end));
        body_.erase(begin + static_cast<ptrdiff_t>(from), begin + static_cast<ptrdiff_t>(end));
        return part;
    }

    /* Is body[from...end) part of an iteration: each node matches one of the loop's, and the repeats of 0 of the
     * others take less space? Then `out` aligns both. `swapped`: the part is the left side. */
    bool is_part(const Node *loop, size_t from, size_t end, bool swapped, Alignment &out) {
        if (from == end) return false;
        const Body part(body_.begin() + static_cast<ptrdiff_t>(from), body_.begin() + static_cast<ptrdiff_t>(end));
        out = swapped ? aligner().align(part, loop->kids) : aligner().align(loop->kids, part);
        for (const Step &s : out.steps) {
            const bool of_part = swapped ? s.na : s.nb, of_loop = swapped ? s.nb : s.na;
            if (s.na > 1 || s.nb > 1 || (of_part && !of_loop)) return false;
        }
        return out.worth();
    }

    /* Make the nodes behind the loop at `i` its last iteration: as many as match nodes of the loop, in their order. */
    bool fold_last(size_t i) {
        Node *loop = body_[i];
        const size_t from = i + 1;
        if (from == body_.size() || order_.step(loop, body_[from]).way != CodeStep::kBack) return false;
        size_t end = from;
        for (const Node *kid : loop->kids)
            if (end < body_.size() && aligner().can_match(kid, body_[end])) ++end;
        Alignment steps;
        if (!is_part(loop, from, end, false, steps)) return false;
        Body part = take(from, end);
        as_iteration(part);
        append_body(pool_, order_, loop, std::move(part), 1, steps);
        ++loop->count;
        return true;
    }

    /* Make the nodes before the loop at `i` its first iteration. */
    bool fold_first(size_t i) {
        Node *loop = body_[i];
        if (i == 0 || order_.step(body_[i - 1], loop).way != CodeStep::kBack) return false;
        size_t from = i;
        for (size_t k = loop->kids.size(); k-- > 0 && from > 0;)
            if (aligner().can_match(body_[from - 1], loop->kids[k])) --from;
        Alignment steps;
        if (!is_part(loop, from, i, true, steps)) return false;
        Node *whole = begin_loop(pool_, take(from, i));
        append_body(pool_, order_, whole, std::move(loop->kids), loop->runs, steps);
        whole->count += loop->count;
        close_iteration(order_, whole, 1);
        pool_.release_shell(loop);
        body_[from] = whole;
        return true;
    }

    bool join_next(size_t i) {
        if (!join_loops(pool_, order_, body_[i], body_[i + 1])) return false;
        body_.erase(body_.begin() + static_cast<ptrdiff_t>(i) + 1);
        return true;
    }
};

} // namespace

bool join_loops(NodePool &pool, CodeOrder &order, Node *loop, Node *next) {
    if (loop->leaf() || next->leaf()) return false;
    const CodeStep seam = order.seam(loop);
    const bool same_event = CodeOrder::last_signature(loop) == CodeOrder::first_signature(next);
    if (!seam.in_loop_of(order.seam(next)) || !(same_event || seam.in_loop_of(order.step(loop, next)))) return false;
    const Alignment alignment = Aligner(AlignRules(order)).align(loop->kids, next->kids);
    if (!alignment.worth()) return false;
    for (const Step &s : alignment.steps)
        if (s.na > 1 || s.nb > 1) return false;
    const uint64_t past = loop->runs;
    append_body(pool, order, loop, std::move(next->kids), next->runs, alignment);
    loop->count += next->count;
    close_iteration(order, loop, past);
    pool.release_shell(next);
    return true;
}

bool fold_partial_iterations(NodePool &pool, CodeOrder &order, Body &body) {
    bool changed = false;
    while (Folder(pool, order, body).pass()) changed = true;
    return changed;
}

} // namespace st
