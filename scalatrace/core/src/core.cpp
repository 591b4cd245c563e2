#include "core.hpp"

#include "peers.hpp"
#include "unite.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

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

/* What the user asked for a parameter: "Alltoallv.sendcounts" before "sendcounts". Names have no average. */
int32_t st_core::limit_of(const std::string &op, const std::string &param, int kind) const {
    if (kind == ST_COMM || kind == ST_TYPE || kind == ST_STRING) return 0;
    auto found = limits.find(op + "." + param);
    if (found == limits.end()) found = limits.find(param);
    return found == limits.end() ? 0 : found->second;
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
        op.limits.push_back(limit_of(op.name, names[i], kinds[i]));
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
    for (int i = 0; i < kEncodings; ++i) slots[i].append(encode_peer(i, peer, here));
}

int64_t average(const Tables &tables, uint64_t name) {
    const Array *a = tables.arrays.find(name);
    if (!a || !a->length) return 0;
    double sum = 0;
    uint64_t left = a->length;
    a->values.runs([&](int64_t value, uint64_t times) {
        times = std::min(times, left);
        left -= times;
        sum += static_cast<double>(value) * static_cast<double>(times);
    });
    return Averaged{std::llround(sum / static_cast<double>(a->length)), a->length}.packed();
}

void fill_slots(std::vector<Elastic> &slots, const OpSchema &op, const st_event &e, const Tables &tables) {
    Elastic *slot = slots.data();
    for (size_t i = 0; i < op.kinds.size(); ++i) {
        const size_t n = op.kinds[i] == ST_PEER ? kEncodings : 1;
        if (op.limits[i] > 0)
            for (size_t k = 0; k < n; ++k) {
                slot[k].limit = static_cast<uint32_t>(op.limits[i]);
                slot[k].averaged = op.kinds[i] == ST_ARRAY;
            }
        if (op.limits[i] < 0)
            ; // not recorded
        else if (op.kinds[i] == ST_PEER)
            append_peer(slot, e.values[i], e);
        else
            slot->append(slot->averaged ? average(tables, static_cast<uint64_t>(e.values[i])) : e.values[i]);
        slot += n;
    }
}

/* Arrays that this event brought and that are kept as averages, or not at all, are not needed any more. */
void forget_arrays(Tables &tables, size_t before, const OpSchema &op, const st_event &e) {
    for (bool dropped = true; dropped && tables.arrays.size() > before;) {
        const uint64_t name = tables.arrays.items().back().first;
        bool kept = true;
        for (size_t i = 0; i < op.kinds.size(); ++i)
            if (op.kinds[i] == ST_ARRAY && static_cast<uint64_t>(e.values[i]) == name) kept = op.limits[i] == 0;
        if ((dropped = !kept)) tables.arrays.pop_back();
    }
}

} // namespace

void st_core::append(const st_event &e) {
    const OpSchema &op = ops[e.op];
    if (flatlog) flatlog->event(*this, e);
    const uint64_t key = event_key(op.hash, e.signature);
    Sample sample;
    sample.pred = last_key;
    sample.nvalues = stats.size();
    for (size_t i = 0; i < sample.nvalues; ++i) sample.values[i] = e.stats[i];
    if (Node *run = queue.running(key)) {
        fill_slots(run->slots, op, e, tables);
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
        fill_slots(n->slots, op, e, tables);
        n->samples.push_back(sample);
        queue.append(n);
    }
    if (!limits.empty()) {
        forget_arrays(tables, narrays, op, e);
        narrays = tables.arrays.size();
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
    copy->limits = limits;
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

/* Give the other core's events this one's numbers of operations and names of signatures. */
void st_core::renumber(st_core &other, const std::vector<uint32_t> &op_numbers) {
    std::unordered_map<uint64_t, uint64_t> names, keys; // of signatures; of events
    if (similar.active())
        for (const auto &[name, frames] : other.tables.signatures.items())
            names[name] = tables.signatures.has(name) ? name : similar.representative(name, frames);
    std::function<void(Node *)> visit = [&](Node *n) {
        for (Node *kid : n->kids) visit(kid);
        if (!n->leaf()) return update_shape(n);
        n->op = op_numbers[n->op];
        auto found = names.find(n->signature);
        if (found == names.end() || found->second == n->signature) return;
        n->signature = found->second;
        const uint64_t key = event_key(ops[n->op].hash, n->signature);
        keys[n->first] = key;
        n->shape = n->first = n->last = key;
    };
    for (Node *n : other.roots) visit(n);
    if (keys.empty()) return;
    std::function<void(Node *)> rekey = [&](Node *n) {
        for (Node *kid : n->kids) rekey(kid);
        for (PredStats &s : n->stats)
            if (auto found = keys.find(s.pred); found != keys.end()) s.pred = found->second;
    };
    for (Node *n : other.roots) rekey(n);
}

void st_core::merge(st_core &&other) {
    std::vector<uint32_t> renumbered; // the other core may have met operations in another order
    for (const OpSchema &op : other.ops) {
        std::vector<const char *> names;
        for (const std::string &p : op.params) names.push_back(p.c_str());
        renumbered.push_back(static_cast<uint32_t>(
            define_op(op.name.c_str(), static_cast<int>(op.kinds.size()), names.data(), op.kinds.data())));
        ops[renumbered.back()].limits = op.limits;
    }
    renumber(other, renumbered);
    if (other.stats.size() > stats.size()) stats = other.stats;
    for (auto &[name, value] : other.meta) meta.try_emplace(name, value);
    for (auto &[name, n] : other.counts) counts[name] += n;
    const auto middle = static_cast<std::ptrdiff_t>(load.size());
    load.insert(load.end(), other.load.begin(), other.load.end());
    std::inplace_merge(load.begin(), load.begin() + middle, load.end());
    tables.merge(std::move(other.tables));
    Peers peers(tables, ops, nprocs);
    unite_roots(pool, order, roots, std::move(other.roots), ops, peers, loop_agnostic);
    other.roots.clear();
    ranks.unite(other.ranks);
    nevents += other.nevents;
}
