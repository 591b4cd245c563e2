#include "fold.hpp"

#include <algorithm>

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
            out.score -= kid->skipped ? rules.known_miss : rules.miss * kid->nleaves;
            if (!kid->skipped) out.unmatched += kid->nleaves;
        }
    }
    return at == end && out.worth();
}

/* body[from...end) runs straight on in the program's text. */
bool straight(CodeOrder &order, const Body &body, size_t from, size_t end) {
    for (size_t i = from; i + 1 < end; ++i)
        if (order.step(body[i], body[i + 1]).way != CodeStep::kAhead) return false;
    return true;
}

/* What follows the loop at `i` becomes its last iteration. */
bool fold_last(NodePool &pool, CodeOrder &order, Body &body, size_t i) {
    Node *loop = body[i];
    const size_t most = std::min(body.size(), i + loop->kids.size());
    for (size_t end = most; end > i + 1; --end) {
        Alignment steps;
        if (!straight(order, body, i + 1, end) || !is_part(loop, body, i + 1, end, false, steps)) continue;
        if (order.step(loop, body[i + 1]).way != CodeStep::kBack) return false;
        Body part(body.begin() + static_cast<ptrdiff_t>(i + 1), body.begin() + static_cast<ptrdiff_t>(end));
        body.erase(body.begin() + static_cast<ptrdiff_t>(i + 1), body.begin() + static_cast<ptrdiff_t>(end));
        as_iteration(part);
        append_body(pool, loop, std::move(part), 1, steps);
        ++loop->count;
        return true;
    }
    return false;
}

/* What stands before the loop at `i` becomes its first iteration. */
bool fold_first(NodePool &pool, CodeOrder &order, Body &body, size_t i) {
    Node *loop = body[i];
    const size_t least = i + 1 > loop->kids.size() ? i + 1 - loop->kids.size() : 0;
    for (size_t from = least; from < i; ++from) {
        Alignment steps;
        if (!straight(order, body, from, i) || !is_part(loop, body, from, i, true, steps)) continue;
        if (order.step(body[i - 1], loop).way != CodeStep::kBack) return false;
        Body part(body.begin() + static_cast<ptrdiff_t>(from), body.begin() + static_cast<ptrdiff_t>(i));
        Node *whole = begin_loop(pool, std::move(part));
        append_body(pool, whole, std::move(loop->kids), loop->runs, steps);
        whole->count += loop->count;
        pool.release_shell(loop);
        body[i] = whole;
        body.erase(body.begin() + static_cast<ptrdiff_t>(from), body.begin() + static_cast<ptrdiff_t>(i));
        return true;
    }
    return false;
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
