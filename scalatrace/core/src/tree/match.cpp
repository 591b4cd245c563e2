/* match.cpp - dynamic programming over the middle of two bodies.
 *
 *     a   [ head ][  n nodes  ][ tail ]        equal heads and tails match without a table
 *     b   [ head ][  m nodes  ][ tail ]
 *
 *     best[i][j]    score of aligning a[i...n) with b[j...m); filled from the end
 *     choice[i][j]  (1, 1) match, (1, 0) left only, (0, 1) right only, (1, k) or (k, 1) a pseudo-loop
 *
 * The table has (n + 1)(m + 1) cells. Sequences in a cell are aligned recursively; their scores are cached.
 */
#include "tree/match.hpp"

#include <algorithm>
#include <iterator>

namespace st {

namespace {
constexpr size_t kMaxCells =
    size_t{1} << 20; // of the table; larger bodies are aligned at their beginnings and ends only

/* Are body[from...] exactly one iteration of the loop? */
bool is_iteration(const Node *loop, Nodes body, size_t from, size_t end) {
    if (loop->kids.size() < 2 || end - from < loop->kids.size()) return false;
    for (size_t i = 0; i < loop->kids.size(); ++i)
        if (loop->kids[i]->shape != body[from + i]->shape) return false;
    return true;
}
} // namespace

/* Equal shapes match in all their events. Sequences of different shapes are aligned, once per pair. */
int64_t Aligner::node_score(const Node *a, const Node *b, uint32_t *matched, uint32_t *unmatched) {
    if (a->shape == b->shape) {
        *matched = a->nleaves;
        *unmatched = 0;
        return rules_.match * a->nleaves;
    }
    *matched = *unmatched = 0;
    if (a->leaf() || b->leaf() || rules_.same_shapes) return 0;
    if (rules_.same_ends && (a->first != b->first || a->last != b->last)) return 0;
    auto [it, fresh] = known_.try_emplace({a, b}, Score{0, 0, 0});
    if (fresh) {
        Alignment inner = align(a->kids, b->kids);
        if (inner.worth(rules_.max_unmatched)) it->second = Score{inner.score, inner.matched, inner.unmatched};
    }
    *matched = it->second.matched;
    *unmatched = it->second.unmatched;
    return it->second.score;
}

/* Pay for a table; false: it is too large, or the credit does not suffice. */
bool Aligner::affordable(size_t cells) {
    if (cells > kMaxCells || (credit_ && static_cast<int64_t>(cells) > *credit_)) return false;
    if (credit_) *credit_ -= static_cast<int64_t>(cells);
    return true;
}

/* Sort the unmatched nodes between two matches: a right node goes before the left ones that are ahead of it in the
 * program's text. So the order of a loop's events does not depend on the rank that recorded them first. */
void Aligner::sort_gaps(std::vector<Step> &steps, Nodes a, Nodes b) {
    auto one_sided = [](const Step &s) { return !s.na || !s.nb; };
    for (auto from = steps.begin(); from != steps.end();) {
        from = std::find_if(from, steps.end(), one_sided);
        const auto end = std::find_if_not(from, steps.end(), one_sided);
        std::vector<Step> left, right;
        std::partition_copy(from, end, std::back_inserter(left), std::back_inserter(right),
                            [](const Step &s) { return s.na; });
        for (auto l = left.begin(), r = right.begin(); from != end; ++from) {
            const bool take_right =
                l == left.end() || (r != right.end() && rules_.order->step(b[r->b], a[l->a]).way == CodeStep::kAhead);
            *from = take_right ? *r++ : *l++;
        }
    }
}

/* Fill the table of a[head...head + n) and b[head...head + m), and return the steps of the best path.
 *
 * Most nodes are events, and most cells compare two of them: these need a comparison of shapes only. Where scores are
 * equal, a match comes before misses, and left nodes before right ones. */
std::vector<Step> Aligner::align_middle(Nodes a, Nodes b, size_t head, size_t n, size_t m) {
    const size_t width = m + 1;
    const bool loops = !rules_.same_shapes;
    std::vector<Column> columns(m); // of the right nodes
    for (size_t j = 0; j < m; ++j) columns[j] = {b[head + j]->shape, miss(b[head + j]), b[head + j]->leaf()};
    // best[i][j]: score of aligning a's last n-i with b's last m-j middle nodes; choice: the step taken there
    const std::unique_ptr<int64_t[]> best(new int64_t[(n + 1) * width]);
    const std::unique_ptr<Choice[]> choice(new Choice[(n + 1) * width]);
    best[n * width + m] = 0;
    choice[n * width + m] = {0, 0};
    for (size_t j = m; j-- > 0;) {
        best[n * width + j] = best[n * width + j + 1] - columns[j].miss;
        choice[n * width + j] = {0, 1};
    }
    for (size_t i = n; i-- > 0;) {
        const Node *x = a[head + i];
        const uint64_t shape = x->shape;
        const int64_t missed = miss(x), matched = rules_.match * x->nleaves;
        const bool leaf = x->leaf();
        int64_t *row = best.get() + i * width;
        Choice *steps = choice.get() + i * width;
        const int64_t *below = row + width;
        row[m] = below[m] - missed;
        steps[m] = {1, 0};
        for (size_t j = m; j-- > 0;) {
            const Column &column = columns[j];
            int64_t top = INT64_MIN;
            Choice step{0, 0};
            const auto offer = [&](int64_t score, uint32_t na, uint32_t nb) {
                if (score <= top) return;
                top = score;
                step = {na, nb};
            };
            if (column.shape == shape) offer(matched + below[j + 1], 1, 1);
            if (loops && !(leaf && column.leaf)) {
                const Node *y = b[head + j];
                uint32_t hit, not_hit;
                const int64_t score = column.shape == shape ? 0 : node_score(x, y, &hit, &not_hit);
                if (score > 0) offer(score + below[j + 1], 1, 1);
                if (is_iteration(x, b, head + j, head + m))
                    offer(matched + below[j + x->kids.size()], 1, static_cast<uint32_t>(x->kids.size()));
                if (is_iteration(y, a, head + i, head + n))
                    offer(rules_.match * y->nleaves + row[y->kids.size() * width + j + 1],
                          static_cast<uint32_t>(y->kids.size()), 1);
            }
            offer(below[j] - missed, 1, 0);
            offer(row[j + 1] - column.miss, 0, 1);
            row[j] = top;
            steps[j] = step;
        }
    }
    std::vector<Step> path;
    for (size_t i = 0, j = 0; i < n || j < m;) {
        const auto [na, nb] = choice[i * width + j];
        path.push_back({static_cast<uint32_t>(head + i), na, static_cast<uint32_t>(head + j), nb});
        i += na;
        j += nb;
    }
    return path;
}

Alignment Aligner::align(Nodes a, Nodes b) {
    Alignment out;
    const size_t shorter = std::min(a.size(), b.size());
    size_t head = 0, tail = 0;
    while (head < shorter && a[head]->shape == b[head]->shape) ++head;
    while (tail < shorter - head && a[a.size() - 1 - tail]->shape == b[b.size() - 1 - tail]->shape) ++tail;
    const size_t n = a.size() - head - tail, m = b.size() - head - tail;

    const bool table = n && m && affordable(n * m);
    if (n && m && !table && credit_) return out; // the table would exceed the credit

    auto count_match = [&](const Node *x, const Node *y) {
        uint32_t hit = 0, not_hit = 0;
        out.score += node_score(x, y, &hit, &not_hit);
        out.matched += hit;
        out.unmatched += not_hit;
    };
    auto count_miss = [&](const Node *x) {
        out.score -= miss(x);
        if (!x->skipped) out.unmatched += x->nleaves;
    };

    for (size_t i = 0; i < head; ++i) {
        count_match(a[i], b[i]);
        out.steps.push_back({static_cast<uint32_t>(i), 1, static_cast<uint32_t>(i), 1});
    }

    std::vector<Step> middle;
    if (table) {
        middle = align_middle(a, b, head, n, m);
    } else {
        for (size_t i = 0; i < n; ++i)
            middle.push_back({static_cast<uint32_t>(head + i), 1, static_cast<uint32_t>(head), 0});
        for (size_t j = 0; j < m; ++j)
            middle.push_back({static_cast<uint32_t>(head + n), 0, static_cast<uint32_t>(head + j), 1});
    }
    sort_gaps(middle, a, b);
    for (const Step &s : middle) {
        if (s.na && s.nb) {
            if (s.na == 1 && s.nb == 1) {
                count_match(a[s.a], b[s.b]);
            } else {
                const Node *loop = s.na == 1 ? a[s.a] : b[s.b];
                out.score += rules_.match * loop->nleaves;
                out.matched += loop->nleaves;
            }
        } else {
            count_miss(s.na ? a[s.a] : b[s.b]);
        }
        out.steps.push_back(s);
    }
    for (size_t i = 0; i < tail; ++i) {
        const size_t x = a.size() - tail + i, y = b.size() - tail + i;
        count_match(a[x], b[y]);
        out.steps.push_back({static_cast<uint32_t>(x), 1, static_cast<uint32_t>(y), 1});
    }
    return out;
}

} // namespace st
