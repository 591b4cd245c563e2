#include "core.hpp"

#include "peers.hpp"
#include "unite.hpp"

#include <algorithm>
#include <cmath>

using namespace st;

st_core::st_core(int rank_, int nprocs_) : rank(rank_), nprocs(nprocs_) {
    tables.comms.add(ST_COMM_WORLD, Family{"world", 0, {}});
    tables.comms.add(ST_COMM_SELF, Family{"self", 0, {}});
    tables.comms.add(ST_COMM_NULL, Family{"null", 0, {}});
    tables.signatures.add(0, {});
}

st_core::~st_core() {
    for (Node *n : roots) pool.release(n);
}

void st_core::abandon() {
    broken = true;
    queue.abandon();
    roots.clear();
}

int st_core::find_op(const std::string &name) const {
    for (size_t i = 0; i < ops.size(); ++i)
        if (ops[i].name == name) return static_cast<int>(i);
    return -1;
}

int st_core::define_op(const char *name, int nparams, const char *const *names, const int *kinds) {
    const int known = find_op(name);
    if (known >= 0) return known;
    OpSchema op;
    op.name = name;
    op.hash = hash_bytes(name, op.name.size(), 7);
    for (int i = 0; i < nparams; ++i) {
        op.params.emplace_back(names[i]);
        op.kinds.push_back(kinds[i]);
        op.nslots += kinds[i] == ST_PEER ? kEncodings : 1;
    }
    ops.push_back(std::move(op));
    return static_cast<int>(ops.size()) - 1;
}

namespace {

/* The absolute rank in each encoding; special values are themselves in all of them. */
void append_peer(Elastic *slots, int64_t peer, const st_event &e) {
    const Place here{e.self, e.size};
    if (!has_encoding(kModulo, peer, here)) slots[kModulo].dead = true;
    for (int i = 0; i < kEncodings; ++i) slots[i].vec.append(encode_peer(i, peer, here));
}

void fill_slots(std::vector<Elastic> &slots, const OpSchema &op, const st_event &e) {
    Elastic *slot = slots.data();
    for (size_t i = 0; i < op.kinds.size(); ++i) {
        if (op.kinds[i] == ST_PEER) {
            append_peer(slot, e.values[i], e);
            slot += kEncodings;
        } else {
            (slot++)->vec.append(e.values[i]);
        }
    }
}

} // namespace

void st_core::append(const st_event &e) {
    const OpSchema &op = ops[e.op];
    if (flatlog) flatlog->event(*this, e);
    const uint64_t key = event_key(op.hash, e.signature);
    Sample sample;
    sample.pred = last_key;
    for (size_t i = 0; i < ST_MAX_STATS; ++i) sample.values[i] = i < stats.size() ? e.stats[i] : NAN;
    if (Node *run = queue.running(key)) {
        fill_slots(run->slots, op, e);
        ++run->count;
        ++run->runs;
        add_sample(run, sample);
    } else {
        Node *n = pool.make();
        n->shape = n->first = n->last = key;
        n->op = e.op;
        n->signature = e.signature;
        n->count = n->runs = 1;
        n->slots.resize(op.nslots);
        fill_slots(n->slots, op, e);
        n->samples.push_back(sample);
        queue.append(n);
    }
    last_key = key;
    ++nevents;
}

static void own(Node *n, const RankSet &ranks, double &total) {
    n->ranks = ranks;
    sort_samples(n);
    for (const PredStats &s : n->stats)
        if (s.hist[0]) total += s.hist[0]->mean * static_cast<double>(s.hist[0]->count);
    for (Node *kid : n->kids) own(kid, ranks, total);
}

void st_core::finish() {
    queue.finish();
    own_tail(queue.take());
}

void st_core::own_tail(Body tail) {
    as_iteration(tail);
    const RankSet self(rank);
    double total = 0;
    for (Node *n : tail) own(n, self, total);
    auto at = std::lower_bound(load.begin(), load.end(), std::make_pair(rank, -INFINITY));
    if (at == load.end() || at->first != rank) at = load.emplace(at, rank, 0.0f);
    at->second += static_cast<float>(total);
    roots.insert(roots.end(), tail.begin(), tail.end());
    ranks.unite(self);
}

std::unique_ptr<st_core> st_core::snapshot() {
    std::unique_ptr<st_core> copy(new st_core(rank, nprocs));
    copy->ops = ops;
    copy->stats = stats;
    copy->tables = tables;
    copy->meta = meta;
    copy->counts = counts;
    copy->nevents = nevents;
    copy->ranks = ranks;
    copy->load = load;
    for (const Node *n : roots) copy->roots.push_back(copy->pool.clone(n));
    copy->own_tail(queue.copy(copy->pool));
    return copy;
}

void st_core::merge(st_core &&other) {
    std::vector<uint32_t> renumbered; // the other core may have met operations in another order
    for (const OpSchema &op : other.ops) {
        std::vector<const char *> names;
        for (const std::string &p : op.params) names.push_back(p.c_str());
        renumbered.push_back(static_cast<uint32_t>(
            define_op(op.name.c_str(), static_cast<int>(op.kinds.size()), names.data(), op.kinds.data())));
    }
    struct Renumber {
        const std::vector<uint32_t> &to;
        void operator()(Node *n) const {
            n->op = n->leaf() ? to[n->op] : 0;
            for (Node *kid : n->kids) (*this)(kid);
        }
    } renumber{renumbered};
    for (Node *n : other.roots) renumber(n);
    if (other.stats.size() > stats.size()) stats = other.stats;
    for (auto &[name, value] : other.meta) meta.try_emplace(name, value);
    for (auto &[name, n] : other.counts) counts[name] += n;
    const auto middle = static_cast<std::ptrdiff_t>(load.size());
    load.insert(load.end(), other.load.begin(), other.load.end());
    std::inplace_merge(load.begin(), load.begin() + middle, load.end());
    tables.merge(std::move(other.tables));
    Peers peers(tables, ops, nprocs);
    unite_roots(pool, roots, std::move(other.roots), ops, peers);
    other.roots.clear();
    ranks.unite(other.ranks);
    nevents += other.nevents;
}
