/* unite.cpp - merge two trees, node by node.
 *
 * bodies()    align the bodies; unite nodes that match, keep the others with their own participants
 * nodes()     unite repeats; of events the values and statistics, of sequences the bodies
 * absorb()    a loop whose last iteration is written out behind it takes it back, where the other side needs that
 *
 * An aligned loop of one side that matches several nodes of the other (a pseudo-loop) unites with a sequence around
 * these.
 */
#include "merge/unite.hpp"

#include <algorithm>
#include <set>

namespace st {

namespace {

class Uniter {
  public:
    Uniter(NodePool &pool, CodeOrder &order, const std::vector<OpSchema> &ops, Peers &peers, bool loop_agnostic)
        : pool_(pool), ops_(ops), peers_(peers), rules_(order) {
        rules_.miss = rules_.known_miss = 0; // an event of some ranks only takes as much space unmerged
        rules_.max_unmatched = 1000;         // one event in common is enough, for the same reason
        rules_.same_ends = false;
        rules_.same_shapes = !loop_agnostic;
    }

    /* Merge body b into a. `root`: of the whole trees, where loops that differ are sought. */
    void bodies(Body &a, Body &&b, bool root) {
        if (same_shapes(a, b)) {
            for (size_t i = 0; i < a.size(); ++i) nodes(a[i], b[i]);
            return;
        }
        Alignment alignment = Aligner(rules_).align(a, b);
        while (root && !rules_.same_shapes && absorb_some(a, b, alignment)) alignment = Aligner(rules_).align(a, b);
        Body out;
        for (const Step &s : alignment.steps) {
            if (s.na && s.nb) {
                Node *x = s.na == 1 ? a[s.a] : wrap(a, s.a, s.na);
                Node *y = s.nb == 1 ? b[s.b] : wrap(b, s.b, s.nb);
                nodes(x, y);
                out.push_back(x);
            } else {
                out.push_back(s.na ? a[s.a] : b[s.b]);
            }
        }
        a = std::move(out);
    }

  private:
    NodePool &pool_;
    const std::vector<OpSchema> &ops_;
    Peers &peers_;
    AlignRules rules_;

    static bool same_shapes(const Body &a, const Body &b) {
        if (a.size() != b.size()) return false;
        for (size_t i = 0; i < a.size(); ++i)
            if (a[i]->shape != b[i]->shape) return false;
        return true;
    }

    /* Merge y into x and release it. */
    void nodes(Node *x, Node *y) {
        x->repeat.unite(x->ranks, std::move(y->repeat), y->ranks);
        x->skipped |= y->skipped;
        x->multiple |= y->multiple;
        if (x->leaf()) {
            each_peer(x, [&](size_t slot) { peers_.share_encoding(x, y, slot); });
            for (size_t i = 0; i < x->slots.size(); ++i)
                if (!x->slots[i].dead && !y->slots[i].dead)
                    x->slots[i].unite(x->ranks, std::move(y->slots[i]), y->ranks);
                else
                    give_up(x->slots[i]);
            each_peer(x, [&](size_t slot) { drop_bad_encodings(x, slot); });
            merge_stats(pool_, x, y);
        } else {
            bodies(x->kids, std::move(y->kids), false);
            update_shape(x);
        }
        x->ranks.unite(y->ranks);
        pool_.release_shell(y);
    }

    /* Give up an encoding. */
    static void give_up(Elastic &e) {
        e = Elastic();
        e.dead = true;
    }

    /* f(index of the first encoding) for each peer of the event. */
    template <class F> void each_peer(const Node *x, F f) {
        size_t slot = 0;
        for (int kind : ops_[x->op].kinds) {
            if (kind == ST_PEER) f(slot);
            slot += kind == ST_PEER ? kEncodings : 1;
        }
    }

    /* Give up the encodings of a peer that need far more groups than the best one. Where each rank has a value of
     * its own, they would make the cost of a merge proportional to the number of ranks. */
    void drop_bad_encodings(Node *x, size_t slot) {
        size_t fewest = SIZE_MAX;
        for (size_t i = slot; i < slot + kEncodings; ++i)
            if (!x->slots[i].dead) fewest = std::min(fewest, x->slots[i].ngroups());
        const bool limited = std::any_of(x->slots.begin() + static_cast<ptrdiff_t>(slot),
                                         x->slots.begin() + static_cast<ptrdiff_t>(slot + kEncodings),
                                         [](const Elastic &e) { return e.limit; });
        if (limited && fewest != Elastic::kNoGroups)
            return; // the limit bounds the groups, and a histogram cannot be recoded
        for (size_t i = slot; i < slot + kEncodings && !limited; ++i)
            if (!x->slots[i].dead && x->slots[i].ngroups() > 2 * fewest + 8 && peers_.recoverable(x))
                give_up(x->slots[i]);
        if (fewest == Elastic::kNoGroups) { // all encodings are histograms: keep that of the distances modulo the size
            size_t kept = slot + kModulo;
            for (size_t i = slot; x->slots[kept].dead && i < slot + kEncodings; ++i) kept = i;
            for (size_t i = slot; i < slot + kEncodings; ++i)
                if (i != kept) give_up(x->slots[i]);
        }
    }

    /* A pseudo-loop around neighbours in a body, with repeat 1. */
    Node *wrap(Body &body, size_t from, size_t n) {
        Body kids(body.begin() + static_cast<ptrdiff_t>(from), body.begin() + static_cast<ptrdiff_t>(from + n));
        RankSet ranks;
        for (const Node *k : kids) ranks.unite(k->ranks);
        Node *loop = make_sequence(pool_, std::move(kids));
        loop->repeat.vec.append(1);
        loop->ranks = std::move(ranks);
        return loop;
    }

    /* --- loops that differ (Figure 5.4) ---
     *
     *     left     [A B] x 9   A C             right    [A B C] x 10
     *
     * Behind the left loop is its last iteration, with an event that the right side has inside its loop. The nodes
     * behind the loop become one more iteration of it, with repeat 0 for the events that it lacks. */

    /* Keys of all events below. */
    static void collect_keys(const Node *n, std::set<uint64_t> &keys) {
        if (n->leaf()) keys.insert(n->first);
        for (const Node *kid : n->kids) collect_keys(kid, keys);
    }

    /* Search for a pair of matched loops of which one lacks events that stand behind it, and absorb these. Return
     * false when there is none. */
    bool absorb_some(Body &a, Body &b, const Alignment &alignment) {
        for (size_t i = 0; i < alignment.steps.size(); ++i) {
            const Step &s = alignment.steps[i];
            if (s.na != 1 || s.nb != 1 || a[s.a]->leaf() || a[s.a]->shape == b[s.b]->shape) continue;
            std::set<uint64_t> left, right;
            collect_keys(a[s.a], left);
            collect_keys(b[s.b], right);
            size_t end_a = s.a + 1, end_b = s.b + 1; // behind the last node that the other side has in its loop
            for (size_t k = i + 1; k < alignment.steps.size(); ++k) {
                const Step &t = alignment.steps[k];
                if (t.na && t.nb) break;
                const Node *z = t.na ? a[t.a] : b[t.b];
                std::set<uint64_t> &here = t.na ? left : right, &there = t.na ? right : left;
                if (z->leaf() && there.count(z->first) && !here.count(z->first))
                    (t.na ? end_a : end_b) = (t.na ? t.a : t.b) + 1;
            }
            if (end_a > s.a + 1) {
                absorb(a, s.a, end_a);
                return true;
            }
            if (end_b > s.b + 1) {
                absorb(b, s.b, end_b);
                return true;
            }
        }
        return false;
    }

    /* Partition the ranks so that, in each part, every one of the elastic values is one vector. */
    static std::vector<RankSet> partition(const RankSet &ranks, const std::vector<const Elastic *> &values) {
        std::vector<RankSet> parts{ranks};
        for (const Elastic *e : values) {
            if (e->single()) continue;
            std::vector<RankSet> finer;
            for (RankSet &part : parts) {
                RankSet rest = part;
                for (const Group &g : e->groups()) {
                    RankSet both = part.intersect(g.ranks);
                    if (both.empty()) continue;
                    rest = rest.minus(both);
                    finer.push_back(std::move(both));
                }
                if (!rest.empty()) finer.push_back(std::move(rest));
            }
            parts.swap(finer);
        }
        return parts;
    }

    /* First repeat of a node on a rank; 0: the rank does not take part. */
    static int64_t first_repeat(const Node *n, int32_t rank) {
        const Vec *v = n->ranks.contains(rank) ? n->repeat.of(rank) : nullptr;
        return v ? v->first() : 0;
    }

    /* Make body[at + 1...end) one more iteration of the loop at `at`. Ranks differ in trip counts and participants:
     * repeats are computed for each part of the ranks for which all elastic values involved are single vectors. */
    void absorb(Body &body, size_t at, size_t end) {
        Node *loop = body[at];
        Body tail(body.begin() + static_cast<ptrdiff_t>(at) + 1, body.begin() + static_cast<ptrdiff_t>(end));
        RankSet ranks = loop->ranks;
        std::vector<const Elastic *> repeats{&loop->repeat};
        for (const Node *z : tail) {
            ranks.unite(z->ranks);
            repeats.push_back(&z->repeat);
        }
        for (const Node *kid : loop->kids) repeats.push_back(&kid->repeat);
        for (const Node *kid : loop->kids) repeats.push_back(spread_copy(kid));
        for (const Node *z : tail) repeats.push_back(spread_copy(z));
        repeats.push_back(spread_copy(loop));

        const std::vector<RankSet> parts = partition(ranks, repeats);
        copies_.clear();
        Elastic loop_repeat;
        std::vector<Elastic> kid_repeats(loop->kids.size()), tail_repeats(tail.size());
        RankSet done;
        std::vector<RankSet> kid_done(loop->kids.size()), tail_done(tail.size());
        for (const RankSet &part : parts) {
            const int32_t r = part.lowest();
            const uint64_t trips = static_cast<uint64_t>(first_repeat(loop, r));
            bool more = false;
            for (const Node *z : tail) more = more || first_repeat(z, r);
            add(loop_repeat, done, Vec(static_cast<int64_t>(trips + more), 1), part);
            for (size_t i = 0; i < loop->kids.size(); ++i) {
                const Node *kid = loop->kids[i];
                if (!trips || !kid->ranks.contains(r)) continue;
                Vec v = kid->repeat.of(r)->prefix(trips);
                v.append_run(0, more);
                add(kid_repeats[i], kid_done[i], std::move(v), part);
            }
            for (size_t i = 0; i < tail.size(); ++i) {
                if (!first_repeat(tail[i], r)) continue;
                Vec v;
                v.append_run(0, trips);
                v.append(first_repeat(tail[i], r));
                add(tail_repeats[i], tail_done[i], std::move(v), part);
            }
        }
        loop->repeat = std::move(loop_repeat);
        for (size_t i = 0; i < loop->kids.size(); ++i) loop->kids[i]->repeat = std::move(kid_repeats[i]);
        for (size_t i = 0; i < loop->kids.size(); ++i) loop->kids[i]->skipped = true;
        for (size_t i = 0; i < tail.size(); ++i) {
            tail[i]->repeat = std::move(tail_repeats[i]);
            tail[i]->skipped = true;
            loop->kids.push_back(tail[i]);
        }
        loop->ranks = std::move(ranks);
        update_shape(loop);
        body.erase(body.begin() + static_cast<ptrdiff_t>(at) + 1, body.begin() + static_cast<ptrdiff_t>(end));
    }

    /* Add a vector of some ranks; `done` has the ranks so far. */
    static void add(Elastic &into, RankSet &done, Vec &&v, const RankSet &ranks) {
        Elastic one;
        one.vec = std::move(v);
        if (done.empty())
            into = std::move(one);
        else
            into.unite(done, std::move(one), ranks);
        done.unite(ranks);
    }

    /* An elastic value with the node's participants as its only group, for partition(). */
    const Elastic *spread_copy(const Node *n) {
        copies_.emplace_back(new Elastic);
        copies_.back()->spread(n->ranks);
        return copies_.back().get();
    }
    std::vector<std::unique_ptr<Elastic>> copies_;
};

} // namespace

void unite_roots(NodePool &pool, CodeOrder &order, Body &mine, Body &&theirs, const std::vector<OpSchema> &ops,
                 Peers &peers, bool loop_agnostic) {
    Uniter(pool, order, ops, peers, loop_agnostic).bodies(mine, std::move(theirs), true);
}

} // namespace st
