/* peers.cpp - places of ranks in communicators, and the conversion of encodings.
 *
 * A rank's place is its rank in the communicator of the node's calls, and the communicator's size. The tables have each
 * communicator's members, so an encoding of any rank's peers can be computed without this rank.
 */
#include "merge/peers.hpp"

#include <algorithm>

namespace st {

/* An event's peers are ranks of its first communicator. */
const Elastic *Peers::communicator(const Node *n) const {
    size_t slot = 0;
    for (int kind : ops_[n->op].kinds) {
        if (kind == ST_COMM) return &n->slots[slot];
        slot += kind == ST_PEER ? kEncodings : 1;
    }
    return nullptr;
}

/* Places of all ranks in a family, computed once per merge. */
const Peers::Places &Peers::places(uint64_t family) {
    auto [it, fresh] = families_.try_emplace(family);
    const Family *f = fresh ? tables_.comms.find(family) : nullptr;
    if (f)
        for (const auto &[leader, i] : f->instances) {
            int64_t self = 0;
            const int64_t size = static_cast<int64_t>(i.nremote ? i.nremote : i.nmembers);
            i.members.runs([&, &places = it->second](int64_t rank, uint64_t times) {
                if (rank >= 0) places[static_cast<int32_t>(rank)] = Place{self, size};
                self += static_cast<int64_t>(times);
            });
        }
    return it->second;
}

/* World and self need no table. */
bool Peers::place(uint64_t family, int32_t rank, Place &out) {
    if (family == ST_COMM_WORLD) {
        out = Place{rank, nprocs_};
        return true;
    }
    if (family == ST_COMM_SELF) {
        out = Place{0, 1};
        return true;
    }
    const Places &known = places(family);
    auto it = known.find(rank);
    if (it == known.end()) return false;
    out = it->second;
    return true;
}

bool Peers::place_in(const Node *n, int32_t rank, Place &out) {
    const Elastic *comm = communicator(n);
    const Vec *families = comm ? comm->of(rank) : nullptr;
    return families && families->constant() && place(static_cast<uint64_t>(families->first()), rank, out);
}

/* The places are known where the members of all communicators are. */
bool Peers::recoverable(const Node *n) {
    const Elastic *comm = communicator(n);
    if (!comm) return true;
    auto named = [&](const Vec &v) {
        bool all = true;
        v.runs([&](int64_t name, uint64_t) {
            const uint64_t family = static_cast<uint64_t>(name);
            const Family *f = tables_.comms.find(family);
            all = all && (family == ST_COMM_WORLD || family == ST_COMM_SELF || (f && !f->instances.empty()));
        });
        return all;
    };
    if (comm->single()) return named(comm->vec);
    return std::all_of(comm->groups().begin(), comm->groups().end(), [&](const Group &g) { return named(g.vec); });
}

/* Convert one rank's values. Where the communicator changes between executions, so does the place. Return false when a
 * place is unknown or a peer has no value in the encoding. */
bool Peers::recode_rank(const Node *n, size_t slot, int from, int to, int32_t rank, Vec &out) {
    const Elastic *comm = communicator(n);
    const Vec *families = comm ? comm->of(rank) : nullptr,
              *values = n->slots[slot + static_cast<size_t>(from)].of(rank);
    if (!values || (comm && !families)) return false;
    uint64_t count = values->size();
    std::vector<uint64_t> names;
    if (families && !families->constant()) {
        count = std::max(count, families->size()); // the shorter vector continues as it did
        const Vec whole = families->prefix(count);
        whole.runs(
            [&](int64_t name, uint64_t times) { names.insert(names.end(), times, static_cast<uint64_t>(name)); });
    }
    Place here;
    if (!place(families ? static_cast<uint64_t>(families->first()) : ST_COMM_WORLD, rank, here)) return false;
    bool good = true;
    uint64_t i = 0;
    auto add = [&](int64_t value, uint64_t times) {
        const int64_t peer = decode_peer(from, value, here);
        good = good && has_encoding(to, peer, here);
        out.append_run(encode_peer(to, peer, here), times);
    };
    const Vec all = values->prefix(count);
    all.runs([&](int64_t value, uint64_t times) {
        if (names.empty()) return add(value, times);
        for (uint64_t k = 0; k < times; ++k, ++i) {
            good = good && place(names[i], rank, here);
            add(value, 1);
        }
    });
    return good;
}

/* Compute encoding `to` from another one, rank by rank. This is rare, since most nodes share their best encoding. */
bool Peers::recode(Node *n, size_t slot, int to) {
    int from = 0;
    auto exact = [&](int i) {
        const Elastic &e = n->slots[slot + static_cast<size_t>(i)];
        return !e.dead && !e.summary;
    };
    while (from < kEncodings && !exact(from)) ++from;
    if (from == kEncodings) return false;
    Elastic result;
    RankSet done;
    for (const Interval i : n->ranks.intervals())
        for (int64_t rank = i.low; rank <= i.high; ++rank) {
            Elastic one;
            if (!recode_rank(n, slot, from, to, static_cast<int32_t>(rank), one.vec)) return false;
            const RankSet self(static_cast<int32_t>(rank));
            if (done.empty())
                result = std::move(one);
            else
                result.unite(done, std::move(one), self);
            done.unite(self);
        }
    result.limit = n->slots[slot + static_cast<size_t>(from)].limit;
    n->slots[slot + static_cast<size_t>(to)] = std::move(result);
    return true;
}

/* The encoding with the fewest groups; -1: all were given up. */
int Peers::best(const Node *n, size_t slot) const {
    int out = -1;
    for (int i = 0; i < kEncodings; ++i) {
        const Elastic &e = n->slots[slot + static_cast<size_t>(i)];
        if (!e.dead && (out < 0 || e.ngroups() < n->slots[slot + static_cast<size_t>(out)].ngroups())) out = i;
    }
    return out;
}

void Peers::share_encoding(Node *x, Node *y, size_t slot) {
    for (int i = 0; i < kEncodings; ++i)
        if (!x->slots[slot + static_cast<size_t>(i)].dead && !y->slots[slot + static_cast<size_t>(i)].dead) return;
    if (int i = best(x, slot); i >= 0 && recode(y, slot, i)) return;
    if (int i = best(y, slot); i >= 0 && recode(x, slot, i)) return;
    for (Node *n : {x, y})
        if (n->slots[slot].dead) recode(n, slot, kAbsolute);
}

} // namespace st
