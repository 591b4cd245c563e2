/* core.cpp - append events, finish, and merge other cores.
 *
 * An event's key is the hash of operation and signature. An event that continues a run of itself is added to the
 * last node directly; any other event becomes a node of its own and goes to the queue.
 */
#include "core/core.hpp"

#include "merge/peers.hpp"
#include "merge/unite.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>

using namespace st;

st_core::st_core(int rank_, int nprocs_) : rank(rank_), nprocs(nprocs_) {
    tables.comms.add(ST_COMM_WORLD, Family{"world", 0, {}});
    tables.comms.add(ST_COMM_SELF, Family{"self", 0, {}});
    tables.comms.add(ST_COMM_NULL, Family{"null", 0, {}});
    tables.signatures.add(0, {});
}

void st_core::abandon() {
    broken = true;
    each_stream([](Stream &s, size_t) { s.queue.abandon(); });
    roots.assign(1, {});
    pool.clear();
}

int st_core::find_op(const std::string &name) const {
    for (size_t i = 0; i < ops.size(); ++i)
        if (ops[i].name == name) return static_cast<int>(i);
    return -1;
}

/* The user's limit of a parameter: "Alltoallv.sendcounts" has precedence over "sendcounts". Names cannot be
 * averaged. */
int32_t st_core::limit_of(const std::string &op, const std::string &param, int kind) const {
    if (is_table(kind)) return 0;
    auto limit = limits.find(op + "." + param);
    if (limit == limits.end()) limit = limits.find(param);
    return limit == limits.end() ? 0 : limit->second;
}

/* Return the number of a known operation of this name. */
int st_core::define_op(const char *name, int nparams, const char *const *names, const int *kinds) {
    const int known = find_op(name);
    if (known >= 0) return known;
    OpSchema op(name);
    for (int i = 0; i < nparams; ++i) op.add(names[i], kinds[i], limit_of(op.name, names[i], kinds[i]));
    for (size_t i = 0; i < op.kinds.size(); ++i) {
        const int at = static_cast<int>(i);
        if (op.kinds[i] == ST_COMM && op.params[i] == "comm") op.object_comm_at = at;
        if (op.kinds[i] == ST_INT && (op.params[i] == "win" || op.params[i] == "fh"))
            op.object_at = at, op.is_file = op.params[i] == "fh";
    }
    if (op.object_comm_at < 0) op.object_at = -1;
    ops.push_back(std::move(op));
    return static_cast<int>(ops.size()) - 1;
}

namespace {

/* Append a peer in each encoding; special values are equal in all. */
void append_peer(Elastic *slots, int64_t peer, const st_event &e) {
    const Place here{e.self, e.size};
    if (!has_encoding(kModulo, peer, here)) slots[kModulo].dead = true;
    for (int i = 0; i < kEncodings; ++i) slots[i].append(encode_peer(i, peer, here));
}

/* Average of an array's elements, packed with its length. */
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
    return Averaged{round_to_int64(sum / static_cast<double>(a->length)), a->length}.packed();
}

/* Fill a row with the event's values. Return false where one needs an elastic value: it has a limit, or an encoding
 * that does not exist. */
bool fill_row(int64_t *row, const OpSchema &op, const st_event &e) {
    const Place here{e.self, e.size};
    for (size_t i = 0; i < op.kinds.size(); ++i) {
        const int64_t value = e.values[i];
        if (op.limits[i]) return false;
        if (op.kinds[i] != ST_PEER) {
            *row++ = value;
            continue;
        }
        if (!has_encoding(kModulo, value, here)) return false;
        for (int k = 0; k < kEncodings; ++k) *row++ = encode_peer(k, value, here);
    }
    return true;
}

/* Append the event's values to elastic values, which may have limits. */
void fill_slots(std::vector<Elastic> &slots, const OpSchema &op, const st_event &e, const Tables &tables) {
    Elastic *slot = slots.data();
    for (size_t i = 0; i < op.kinds.size(); ++i) {
        const size_t n = slots_of(op.kinds[i]);
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

/* As a row while possible, else into elastic values. */
void append_values(Node *n, const OpSchema &op, const st_event &e, const Tables &tables) {
    int64_t row[ST_MAX_VALUES * kEncodings];
    if (fill_row(row, op, e)) return append_rows(n, row, 1);
    open_rows(n);
    fill_slots(n->slots, op, e, tables);
}

/* Drop arrays that this event added, if they are recorded as averages or not at all. */
void drop_unused_arrays(Tables &tables, size_t before, const OpSchema &op, const st_event &e) {
    for (bool dropped = true; dropped && tables.arrays.size() > before;) {
        const uint64_t name = tables.arrays.items().back().first;
        bool kept = true;
        for (size_t i = 0; i < op.kinds.size(); ++i)
            if (op.kinds[i] == ST_ARRAY && static_cast<uint64_t>(e.values[i]) == name) kept = op.limits[i] == 0;
        if ((dropped = !kept)) tables.arrays.pop_back();
    }
}

} // namespace

/* Has the communicator of a call other ranks, or all of the run? The size of an intercommunicator is the remote one. */
static bool has_partners(const st_event &e, const OpSchema &op, const Tables &tables, int nprocs) {
    if (e.size > 1 || e.size == nprocs) return true;
    const auto at = std::find(op.kinds.begin(), op.kinds.end(), ST_COMM);
    if (at == op.kinds.end()) return false;
    const auto *family = tables.comms.find(static_cast<uint64_t>(e.values[at - op.kinds.begin()]));
    return family && std::any_of(family->instances.begin(), family->instances.end(),
                                 [](const auto &one) { return one.second.nremote > 0; });
}

Stream &st_core::later_stream(uint32_t thread) {
    while (others.size() < thread) {
        others.emplace_back(pool, order);
        others.back().queue.align_loops = first.queue.align_loops;
    }
    return others[thread - 1];
}

Body st_core::all_roots() const {
    Body all;
    for (const Body &body : roots) all.insert(all.end(), body.begin(), body.end());
    return all;
}

/* Note the thread of a call on what threads share. */
void st_core::note_order(const OpSchema &op, const st_event &e) {
    const auto thread = static_cast<int32_t>(e.thread);
    if (op.turn_at >= 0) turns.note(static_cast<uint64_t>(e.values[op.turn_at]), thread);
    if (op.object_at < 0 || e.values[op.object_at] < 0) return;
    const UseKind kind = op.is_file ? UseKind::kFile : UseKind::kWindow;
    const auto comm = static_cast<uint64_t>(e.values[op.object_comm_at]);
    uses.note({static_cast<int32_t>(kind), comm}, e.values[op.object_at], thread, op.overlaps);
}

/* Histograms get the sample with its predecessor, the event before of this thread. */
void st_core::append(const st_event &e) {
    const OpSchema &op = ops[e.op];
    if (flatlog) flatlog->event(op, tables, e);
    const uint64_t key = event_key(op.hash, e.signature);
    Stream &own = stream(e.thread);
    const Sample sample{own.last_key, stats.size(), e.stats};
    if (Node *run = own.queue.next(key)) {
        append_values(run, op, e, tables);
        ++run->count;
        ++run->runs;
        add_sample(pool, run, sample);
    } else {
        Node *n = make_event(pool, key, e.op, e.signature, op.nslots);
        append_values(n, op, e, tables);
        n->samples.add(sample);
        own.queue.append(n);
    }
    if (!limits.empty()) {
        drop_unused_arrays(tables, narrays, op, e);
        narrays = tables.arrays.size();
    }
    own.last_key = key;
    if (__builtin_expect(thread_limit > 1, 0)) note_order(op, e);
    running.add(e.stats, stats.size(), op.communicates && has_partners(e, op, tables, nprocs));
    ++nevents;
}

/* Prepare nodes of the queue for merging: participants, flat vectors, histograms. Add up their samples in `sums`. */
static void finish_node(NodePool &pool, Node *n, const RankSet &ranks, std::array<double, kLoads> &sums) {
    n->ranks = ranks;
    n->repeat.vec.flatten();
    if (n->leaf()) open_rows(n);
    for (const Elastic &e : n->slots) e.vec.flatten();
    samples_to_histograms(pool, n);
    for (const PredStats &s : n->stats)
        for (size_t i = 0; i < kLoads; ++i)
            if (s.hist[i]) sums[i] += s.hist[i]->mean * static_cast<double>(s.hist[i]->count);
    for (Node *kid : n->kids) finish_node(pool, kid, ranks, sums);
}

void st_core::finish() {
    std::vector<Body> tails;
    each_stream([&](Stream &s, size_t) {
        s.queue.finish();
        tails.push_back(s.queue.take());
    });
    add_tails(std::move(tails));
}

/* Append finished nodes of the queues to the roots. */
void st_core::add_tails(std::vector<Body> tails) {
    const RankSet self(rank);
    std::array<double, kLoads> sums{};
    if (tails.size() > roots.size()) roots.resize(tails.size());
    for (size_t i = 0; i < tails.size(); ++i) {
        remove_unused(pool, tails[i]);
        as_iteration(tails[i]);
        for (Node *n : tails[i]) finish_node(pool, n, self, sums);
        roots[i].insert(roots[i].end(), tails[i].begin(), tails[i].end());
    }
    share_objects();
    if (ranks.contains(rank)) { // events were appended after finish()
        totals.add(ranks.position(rank), sums, added, running);
    } else {
        RankTotals mine;
        mine.append(sums, running);
        add(self, mine);
    }
    added = running;
}

/* Keep the order of this rank, unless there are those of other ranks. */
template <class Name> static void share(std::map<Name, Shared> &all, const Name &name, int rank, Vec order) {
    Shared own;
    own.ranks = RankSet(rank);
    own.order.vec = std::move(order);
    own.order.vec.flatten();
    if (Shared &known = all[name]; known.ranks.size() < 2) known = std::move(own);
}

/* Turns and uses are those of all events of this rank, also where it is finished again. */
void st_core::share_objects() {
    turns.each_shared([&](uint64_t comm, Vec order) { share(shared, comm, rank, std::move(order)); });
    uses.each_shared([&](UseName name, Vec order) { share(used, name, rank, std::move(order)); });
}

/* Add other ranks and their totals. */
void st_core::add(const RankSet &of, const RankTotals &theirs) {
    if (of.empty()) return;
    totals.unite(ranks, theirs, of);
    ranks.unite(of);
}

/* The queue's nodes are copied with unfinished iterations laid out. */
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
    copy->totals = totals;
    copy->running = running;
    copy->added = added;
    copy->thread_limit = thread_limit;
    copy->turns = turns;
    copy->uses = uses;
    copy->shared = shared;
    copy->used = used;
    copy->roots.resize(roots.size());
    for (size_t i = 0; i < roots.size(); ++i)
        for (const Node *n : roots[i]) copy->roots[i].push_back(copy->pool.clone(n));
    std::vector<Body> tails;
    each_stream([&](Stream &s, size_t) { tails.push_back(s.queue.copy(copy->pool)); });
    copy->add_tails(std::move(tails));
    return copy;
}

/* Why events of the other core cannot be united with those of this one; "" when they can. Arrays that are averaged on
 * one side only cannot: their values mean something else. */
std::string st_core::obstacle(const Incoming &other) const {
    for (const OpSchema &op : other.ops) {
        const int number = find_op(op.name);
        if (number < 0) continue;
        const OpSchema &own = ops[static_cast<size_t>(number)];
        if (own.kinds != op.kinds) return "the operation " + op.name + " has other parameters in another trace";
        for (size_t i = 0; i < op.kinds.size(); ++i)
            if (op.kinds[i] == ST_ARRAY && own.limits[i] >= 0 && op.limits[i] >= 0 &&
                (own.limits[i] > 0) != (op.limits[i] > 0))
                return "arrays of " + op.name + "." + op.params[i] + " are averaged in only one of the traces";
    }
    return "";
}

/* Define the other core's operations here. Return this core's numbers of them. */
std::vector<uint32_t> st_core::numbers(const std::vector<OpSchema> &others) {
    std::vector<uint32_t> out;
    for (const OpSchema &op : others) {
        int number = find_op(op.name);
        if (number < 0) {
            number = static_cast<int>(ops.size());
            ops.push_back(op);
        }
        ops[static_cast<size_t>(number)].limits = op.limits;
        out.push_back(static_cast<uint32_t>(number));
    }
    return out;
}

/* Replace the other core's numbers of operations, and names of signatures that are represented by another one here. */
void st_core::renumber(Incoming &other) {
    if (other.same_ops && !similar.active()) return;
    const std::vector<uint32_t> op_numbers = numbers(other.ops);
    std::unordered_map<uint64_t, uint64_t> names, keys; // of signatures; of events
    if (similar.active())
        for (const auto &[name, frames] : other.tables.signatures.items())
            names[name] = tables.signatures.has(name) ? name : similar.representative(name, frames);
    std::function<void(Node *)> visit = [&](Node *n) {
        for (Node *kid : n->kids) visit(kid);
        if (!n->leaf()) return update_shape(n);
        if (!other.same_ops) n->op = op_numbers[n->op];
        auto new_name = names.find(n->signature);
        if (new_name == names.end() || new_name->second == n->signature) return;
        n->signature = new_name->second;
        const uint64_t key = event_key(ops[n->op].hash, n->signature);
        keys[n->first] = key;
        n->shape = n->first = n->last = key;
    };
    for (const Body &body : other.roots)
        for (Node *n : body) visit(n);
    if (keys.empty()) return;
    std::function<void(Node *)> rekey = [&](Node *n) {
        for (Node *kid : n->kids) rekey(kid);
        for (PredStats &s : n->stats)
            if (auto new_key = keys.find(s.pred); new_key != keys.end()) s.pred = new_key->second;
    };
    for (const Body &body : other.roots)
        for (Node *n : body) rekey(n);
}

/* Tables first, since places of ranks need all communicators. */
void st_core::merge(Incoming &&other) {
    renumber(other);
    if (other.stats.size() > stats.size()) stats = other.stats;
    for (auto &[name, value] : other.meta) meta.try_emplace(name, value);
    for (auto &[name, n] : other.counts) counts[name] = std::min<uint64_t>(counts[name] + n, INT64_MAX);
    tables.merge(std::move(other.tables));
    Peers peers(tables, ops, nprocs);
    std::vector<Body> theirs = std::exchange(other.roots, {});
    if (theirs.size() > roots.size()) roots.resize(theirs.size());
    for (size_t i = 0; i < theirs.size(); ++i)
        unite_roots(pool, order, roots[i], std::move(theirs[i]), ops, peers, loop_agnostic);
    unite_shared(shared, std::move(other.shared));
    unite_shared(used, std::move(other.used));
    add(other.ranks, other.totals);
    nevents += other.nevents;
}

void st_core::adopt(Incoming &&other) {
    rank = other.rank;
    nprocs = other.nprocs;
    nevents = other.nevents;
    meta = std::move(other.meta);
    counts = std::move(other.counts);
    ops = std::move(other.ops);
    stats = std::move(other.stats);
    tables.merge(std::move(other.tables));
    add(other.ranks, other.totals);
    roots = std::exchange(other.roots, {});
    shared = std::move(other.shared);
    used = std::move(other.used);
    const auto tolerance = meta.find("signature_tolerance");
    if (tolerance == meta.end()) return;
    similar.tolerance = std::strtoull(tolerance->second.c_str(), nullptr, 10);
    for (const auto &[name, frames] : tables.signatures.items()) similar.representative(name, frames);
}
