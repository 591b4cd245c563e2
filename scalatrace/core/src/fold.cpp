#include "fold.hpp"

namespace st {

namespace {

/* The steps that put body[from...end) into an iteration of the loop, if each node is the same as one of the loop's and the others come
 * cheaper as repeats of 0 than the nodes do. `swapped`: the part is the left side of the alignment. */
bool is_part(const Node *loop, const Body &body, size_t from, size_t end, bool swapped, Alignment &out) {
    const AlignRules rules;
    size_t at = from;
    for (uint32_t i = 0; i < loop->kids.size(); ++i) {
        const Node *kid = loop->kids[i];
        const auto j = static_cast<uint32_t>(at - from);
        if (at < end && kid->shape == body[at]->shape) {
            out.steps.push_back(swapped ? Step{j, 1, i, 1} : Step{i, 1, j, 1});
            out.matched += kid->nleaves;
            out.score += rules.match * kid->nleaves;
            ++at;
        } else {
            out.steps.push_back(swapped ? Step{j, 0, i, 1} : Step{i, 1, j, 0});
            out.score -= (kid->skipped ? rules.known_miss : rules.miss) * kid->nleaves;
            if (!kid->skipped) out.unmatched += kid->nleaves;
        }
    }
    return at == end && out.worth();
}

/* What follows the loop at `i` becomes its last iteration: as many nodes as are, in this order, nodes of the loop. */
bool fold_last(NodePool &pool, CodeOrder &order, Body &body, size_t i) {
    Node *loop = body[i];
    const size_t from = i + 1;
    if (from == body.size() || order.step(loop, body[from]).way != CodeStep::kBack) return false;
    size_t end = from;
    for (const Node *kid : loop->kids)
        if (end < body.size() && kid->shape == body[end]->shape) ++end;
    Alignment steps;
    if (end == from || !is_part(loop, body, from, end, false, steps)) return false;
    Body part(body.begin() + static_cast<ptrdiff_t>(from), body.begin() + static_cast<ptrdiff_t>(end));
    body.erase(body.begin() + static_cast<ptrdiff_t>(from), body.begin() + static_cast<ptrdiff_t>(end));
    as_iteration(part);
    append_body(pool, loop, std::move(part), 1, steps);
    ++loop->count;
    return true;
}

/* What stands before the loop at `i` becomes its first iteration. */
bool fold_first(NodePool &pool, CodeOrder &order, Body &body, size_t i) {
    Node *loop = body[i];
    if (i == 0 || order.step(body[i - 1], loop).way != CodeStep::kBack) return false;
    size_t from = i;
    for (size_t k = loop->kids.size(); k-- > 0 && from > 0;)
        if (loop->kids[k]->shape == body[from - 1]->shape) --from;
    Alignment steps;
    if (from == i || !is_part(loop, body, from, i, true, steps)) return false;
    Body part(body.begin() + static_cast<ptrdiff_t>(from), body.begin() + static_cast<ptrdiff_t>(i));
    Node *whole = begin_loop(pool, std::move(part));
    append_body(pool, whole, std::move(loop->kids), loop->runs, steps);
    whole->count += loop->count;
    pool.release_shell(loop);
    body[i] = whole;
    body.erase(body.begin() + static_cast<ptrdiff_t>(from), body.begin() + static_cast<ptrdiff_t>(i));
    return true;
}

} // namespace

bool fold_partial_iterations(NodePool &pool, CodeOrder &order, Body &body) {
    bool changed = false;
    for (size_t i = 0; i < body.size(); ++i) {
        if (body[i]->leaf()) continue;
        changed |= fold_last(pool, order, body, i);
        const size_t before = body.size();
        changed |= fold_first(pool, order, body, i);
        i -= before - body.size();
    }
    return changed;
}

} // namespace st
