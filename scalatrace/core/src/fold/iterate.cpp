/* iterate.cpp - append executions along an alignment.
 *
 * append_content  nodes of the same shape: child by child
 * append_node     children at the same place of a body: repeats are concatenated, then the contents
 * append_body     bodies that differ: nodes of one side only get repeats of 0 for the executions of the other side
 */
#include "fold/iterate.hpp"

#include <algorithm>

namespace st {

static void append_node(NodePool &pool, CodeOrder &order, Node *x, Node *y);

void append_content(NodePool &pool, CodeOrder &order, Node *node, Node *later) {
    if (node->leaf()) {
        append_event(pool, node, later);
    } else {
        for (size_t i = 0; i < node->kids.size(); ++i) append_node(pool, order, node->kids[i], later->kids[i]);
        node->runs += later->runs;
    }
    pool.release_shell(later);
}

/* Append `y`, which is at the same place of the same body and ran later; shapes may differ. */
static void append_node(NodePool &pool, CodeOrder &order, Node *x, Node *y) {
    x->repeat.vec.concat(y->repeat.vec);
    x->skipped |= y->skipped;
    x->multiple |= y->multiple;
    if (x->shape == y->shape) {
        append_content(pool, order, x, y);
        return;
    }
    Aligner aligner{AlignRules(order)};
    Alignment steps = aligner.align(x->kids, y->kids);
    append_body(pool, order, x, std::move(y->kids), y->runs, steps);
    pool.release_shell(y);
}

/* The value at an index; 0 behind the end. */
static int64_t value_at(const Vec &values, uint64_t at) {
    uint64_t end = 0;
    int64_t result = 0;
    values.runs([&](int64_t value, uint64_t times) {
        if (end <= at && at - end < times) result = value;
        end += times;
    });
    return result;
}

/* The values with those at `at` - 1 and `at` replaced by their sum. */
static Vec joined(const Vec &values, uint64_t at) {
    Vec out;
    uint64_t begin = 0;
    int64_t sum = 0;
    values.runs([&](int64_t value, uint64_t times) {
        const uint64_t end = begin + times, before = std::clamp(at - 1, begin, end),
                       behind = std::clamp(at + 1, begin, end);
        out.append_run(value, before - begin);
        sum += value * static_cast<int64_t>(behind - before);
        if (begin <= at && at < end) out.append(sum);
        out.append_run(value, end - behind);
        begin = end;
    });
    return out;
}

/* Find the last event of the iteration before, and the first of this one; the latter must be ahead of the former. */
void close_iteration(CodeOrder &order, Node *loop, uint64_t at) {
    const Node *last = nullptr, *next = nullptr; // of the iteration before, and the first of this one
    for (const Node *kid : loop->kids) {
        if (value_at(kid->repeat.vec, at - 1)) {
            if (next) return;
            last = kid;
        }
        if (!next && value_at(kid->repeat.vec, at)) next = kid;
    }
    if (!last || !next || last == next || order.step(last, next).way != CodeStep::kAhead) return;
    for (Node *kid : loop->kids) kid->repeat.vec = joined(kid->repeat.vec, at);
    --loop->runs;
    --loop->count;
}

void as_iteration(Body &nodes) {
    for (Node *n : nodes) {
        n->repeat.vec.clear();
        n->repeat.vec.append(static_cast<int64_t>(n->count));
        n->multiple = n->count > 1;
        n->skipped = false;
    }
}

Node *begin_loop(NodePool &pool, Body &&nodes) {
    as_iteration(nodes);
    Node *loop = make_sequence(pool, std::move(nodes));
    loop->count = loop->runs = 1;
    return loop;
}

/* A pseudo-loop around nodes of a body that was executed `runs` times: its repeat is 1 each time. */
static Node *wrap(NodePool &pool, Body &body, size_t from, size_t n, uint64_t runs) {
    Body kids(body.begin() + static_cast<ptrdiff_t>(from), body.begin() + static_cast<ptrdiff_t>(from + n));
    Node *loop = make_sequence(pool, std::move(kids));
    loop->repeat.vec.append_run(1, runs);
    loop->runs = runs;
    return loop;
}

void append_body(NodePool &pool, CodeOrder &order, Node *loop, Body &&later, uint64_t runs,
                 const Alignment &alignment) {
    Body kids;
    const uint64_t past = loop->runs;
    for (const Step &s : alignment.steps) {
        if (s.na == 0) {
            Node *y = later[s.b];
            Vec repeat;
            repeat.append_run(0, past);
            repeat.concat(y->repeat.vec);
            y->repeat.vec = std::move(repeat);
            y->skipped |= past > 0;
            kids.push_back(y);
        } else if (s.nb == 0) {
            Node *x = loop->kids[s.a];
            x->repeat.vec.append_run(0, runs);
            x->skipped |= runs > 0;
            kids.push_back(x);
        } else {
            Node *x = s.na == 1 ? loop->kids[s.a] : wrap(pool, loop->kids, s.a, s.na, past);
            Node *y = s.nb == 1 ? later[s.b] : wrap(pool, later, s.b, s.nb, runs);
            append_node(pool, order, x, y);
            kids.push_back(x);
        }
    }
    loop->kids = std::move(kids);
    loop->runs += runs;
    update_shape(loop);
}

} // namespace st
