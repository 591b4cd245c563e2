/* payload.cpp - write the payload of a trace file, in the order and form of docs/reference/format.md. */
#include "core/payload.hpp"

#include "core/arrays.hpp"
#include "core/core.hpp"
#include "core/histograms.hpp"
#include "io/msgpack.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace st {

namespace {

constexpr double kLoadSteps = 16; // of a load in a factor of two
constexpr double kLeastLoad = -1023;

/* Writes the nodes first, which determines the arrays and signatures in use, then the tables, then both. */
class Writer {
  public:
    explicit Writer(const st_core &core)
        : core_(core), peers_(core.tables, core.ops, core.nprocs), arrays_(core.tables, peers_) {}

    std::string payload() {
        collect(core_.all_roots());
        const size_t nstreams = static_cast<size_t>(
            std::count_if(core_.roots.begin() + 1, core_.roots.end(), [](const Body &body) { return !body.empty(); }));
        p_.array(core_.roots.front().size() + nstreams);
        for (const Node *n : core_.roots.front()) put_node(n, core_.ranks);
        for (size_t i = 1; i < core_.roots.size(); ++i)
            if (!core_.roots[i].empty()) put_stream(core_.roots[i], i);
        const std::string nodes = std::exchange(p_.out, {}); // nodes are written first, since they may add arrays
        p_.map(16 + size_t{!core_.shared.empty()} + size_t{!core_.used.empty()});
        p_.str("nprocs");
        p_.integer(core_.nprocs);
        p_.str("ranks");
        put_closed(p_, core_.ranks.to_vec());
        p_.str("meta");
        p_.map(core_.meta.size());
        for (const auto &[key, value] : core_.meta) {
            p_.str(key);
            p_.str(value);
        }
        put_ops();
        p_.str("stats");
        p_.array(core_.stats.size());
        for (const auto &[name, resolution] : core_.stats) {
            p_.array(2);
            p_.str(name);
            p_.real(resolution);
        }
        put_signatures();
        put_comms();
        put_things();
        p_.str("preds");
        p_.array(preds_.size());
        for (const auto &[op, signature] : preds_) {
            p_.array(2);
            p_.integer(op);
            p_.integer(signature);
        }
        p_.str("counts");
        p_.map(core_.counts.size());
        for (const auto &[name, n] : core_.counts) {
            p_.str(name);
            p_.natural(n);
        }
        put_load();
        p_.str("histograms");
        columns_.put(p_);
        put_turns();
        put_uses();
        p_.str("nodes");
        p_.out += nodes;
        return std::move(p_.out);
    }

  private:
    const st_core &core_;
    Packer p_;
    std::vector<int64_t> op_index_; // number -> index in the file, -1 when not used
    std::vector<size_t> used_ops_;
    std::unordered_map<uint64_t, int64_t> signature_index_;
    std::vector<uint64_t> used_signatures_;
    std::unordered_map<uint64_t, std::pair<int64_t, int64_t>> events_; // key -> op, signature
    std::vector<std::pair<int64_t, int64_t>> preds_{{-1, 0}};
    std::unordered_map<uint64_t, int64_t> pred_index_{{0, 0}};
    Peers peers_;
    ArrayTable arrays_;
    HistogramColumns columns_;
    uint64_t nhistograms_ = 0; // of two samples or more
    struct Shortened {
        const Elastic *given;
        std::unique_ptr<Elastic> written;
    };

    void collect(const Body &body) {
        op_index_.assign(core_.ops.size(), -1);
        use_signature(0);
        for (const Node *n : body) collect_events(n);
        for (const Node *n : body) collect_preds(n);
        columns_.expect(nhistograms_);
    }

    int64_t use_signature(uint64_t name) {
        auto [it, fresh] = signature_index_.try_emplace(name, used_signatures_.size());
        if (fresh) used_signatures_.push_back(name);
        return it->second;
    }

    void collect_events(const Node *n) {
        for (const Node *kid : n->kids) collect_events(kid);
        if (!n->leaf()) return;
        if (op_index_[n->op] < 0) {
            op_index_[n->op] = static_cast<int64_t>(used_ops_.size());
            used_ops_.push_back(n->op);
        }
        events_[n->first] = {op_index_[n->op], use_signature(n->signature)};
    }

    /* Predecessors are events: their operation and signature. */
    void collect_preds(const Node *n) {
        for (const Node *kid : n->kids) collect_preds(kid);
        for (const PredStats &s : n->stats) {
            nhistograms_ += static_cast<uint64_t>(
                std::count_if(std::begin(s.hist), std::end(s.hist), [](const auto &h) { return h && h->count > 1; }));
            auto [it, fresh] = pred_index_.try_emplace(s.pred, preds_.size());
            if (!fresh) continue;
            auto known = events_.find(s.pred);
            if (known == events_.end())
                it->second = 0; // no event of the trace, only in damaged parts: as at the start
            else
                preds_.push_back(known->second);
        }
    }

    void put_ops() {
        p_.str("ops");
        p_.array(used_ops_.size());
        for (size_t number : used_ops_) {
            const OpSchema &op = core_.ops[number];
            p_.array(2);
            p_.str(op.name);
            p_.array(2 * op.kinds.size());
            for (size_t i = 0; i < op.kinds.size(); ++i) {
                p_.str(op.params[i]);
                p_.integer(op.kinds[i]);
            }
        }
    }

    /* Frames in a table; a signature is a list of their indices. */
    void put_signatures() {
        std::unordered_map<std::string, size_t> frame_index;
        std::vector<const std::string *> frames;
        std::vector<std::vector<size_t>> lists;
        for (uint64_t name : used_signatures_) {
            std::vector<size_t> list;
            if (const auto *stack = core_.tables.signatures.find(name))
                for (const std::string &f : *stack) {
                    auto [it, fresh] = frame_index.try_emplace(f, frames.size());
                    if (fresh) frames.push_back(&it->first);
                    list.push_back(it->second);
                }
            lists.push_back(std::move(list));
        }
        p_.str("frames");
        p_.array(frames.size());
        for (const std::string *f : frames) p_.str(*f);
        p_.str("signatures");
        p_.array(lists.size());
        std::vector<size_t> before;
        for (auto &list :
             lists) { // without the outermost frames that it has in common with the one before: mostly all but one
            size_t shared = 0;
            while (shared < std::min(list.size(), before.size()) &&
                   list[list.size() - 1 - shared] == before[before.size() - 1 - shared])
                ++shared;
            p_.array(1 + list.size() - shared);
            p_.natural(shared);
            for (size_t i = 0; i + shared < list.size(); ++i) p_.natural(list[i]);
            before = std::move(list);
        }
    }

    /* Members of all instances of a family, one behind the other. */
    void put_comms() {
        p_.str("comms");
        p_.array(core_.tables.comms.size());
        for (const auto &[name, f] : core_.tables.comms.items()) {
            Vec sizes, members, remote_sizes, remote;
            for (const auto &[leader, i] : f.instances) {
                sizes.append(static_cast<int64_t>(i.nmembers));
                members.concat(i.members);
                remote_sizes.append(static_cast<int64_t>(i.nremote));
                remote.concat(i.remote);
            }
            const bool inter = remote.size() > 0;
            p_.array(inter ? 6 : 4);
            p_.str(f.kind);
            p_.integer(core_.tables.comms.index(f.parent));
            put_closed(p_, sizes);
            put_closed(p_, members);
            if (inter) {
                put_closed(p_, remote_sizes);
                put_closed(p_, remote);
            }
        }
    }

    void put_things() {
        p_.str("types");
        p_.array(core_.tables.types.size());
        for (const auto &[name, t] : core_.tables.types.items()) {
            p_.array(3);
            p_.str(t.description);
            p_.integer(t.size);
            p_.integer(t.extent);
        }
        p_.str("strings");
        p_.array(core_.tables.strings.size());
        for (const auto &[name, s] : core_.tables.strings.items()) p_.str(s);
        p_.str("arrays");
        arrays_.put(p_);
    }

    /* The totals of each rank relative to the mean, in steps of 4.4 %. */
    void put_load() {
        const AllLoads &loads = core_.totals.shown(core_.ranks.size());
        p_.str(&loads == &core_.totals.whole ? "load" : "load-between");
        p_.array(core_.stats.size());
        for (size_t i = 0; i < core_.stats.size(); ++i) {
            const double sum = i < kLoads ? loads[i].sum() : 0;
            const double mean = core_.ranks.empty() ? 0 : sum / static_cast<double>(core_.ranks.size());
            if (!(mean > 0)) {
                p_.nil();
                continue;
            }
            Vec steps;
            loads[i].each([&](uint64_t n, double total) {
                const double of_mean = total > 0 ? kLoadSteps * std::log2(total / mean) : kLeastLoad;
                const int64_t step = std::llround(std::clamp(of_mean, kLeastLoad, -kLeastLoad));
                for (; n; --n) steps.append(step);
            });
            p_.map(1);
            p_.integer(static_cast<int64_t>(kLoadSteps));
            put_closed(p_, steps);
        }
    }

    // --- nodes

    /* COMM, TYPE, STRING and ARRAY values are hashes; in the file they are indices. */
    int64_t index(int64_t value, int kind) {
        const uint64_t name = static_cast<uint64_t>(value);
        const Tables &t = core_.tables;
        const int64_t i = kind == ST_COMM     ? t.comms.index(name)
                          : kind == ST_TYPE   ? t.types.index(name)
                          : kind == ST_STRING ? t.strings.index(name)
                                              : arrays_.index(name);
        return i < 0 ? ST_UNDEFINED : i;
    }

    Vec indexed(const Vec &v, int kind) {
        Vec out;
        v.runs([&](int64_t value, uint64_t times) { out.append_run(index(value, kind), times); });
        return out;
    }

    /* A repetition of hashes with a stride is a coincidence: it is expanded. */
    void index_terms(const std::vector<Term> &terms, int64_t base, int kind, std::vector<Term> &out) {
        for (const Term &t : terms) {
            if (!t.rep) {
                out.emplace_back(index(t.value + base, kind));
            } else if (t.rep->stride == 0) {
                std::vector<Term> block;
                index_terms(t.rep->block, base, kind, block);
                out.emplace_back(t.rep->count, 0, std::move(block));
            } else {
                int64_t offset = base;
                for (uint64_t i = 0; i < t.rep->count; ++i, offset += t.rep->stride)
                    index_terms(t.rep->block, offset, kind, out);
            }
        }
    }

    /* Convert term by term, so that an open vector remains open. */
    void put_names(Packer &p, const Vec &v, int kind) {
        if (v.constant()) return p.integer(index(v.first(), kind));
        if (v.bounded()) return put_closed(p, indexed(v, kind));
        std::vector<Term> terms;
        index_terms(v.terms(), 0, kind, terms);
        put_terms(p, terms, v.open());
    }

    static bool is_name(int kind) { return is_table(kind) || kind == ST_ARRAY; }

    void put_value(Packer &p, const Vec &v, int kind) {
        if (is_name(kind))
            put_names(p, v, kind);
        else
            put_vec(p, v);
    }

    /* The mean without special values (MPI_PROC_NULL among destinations). Where there are only these, their mean. */
    static double ordinary_mean(const Histogram &h) {
        double sum = 0, n = 0;
        for (int i = 0; i < h.nbins; ++i)
            if (h.bins[i].max >= ST_SPECIAL_MAX) {
                sum += h.bins[i].sum;
                n += static_cast<double>(h.bins[i].count);
            }
        return n > 0 ? sum / n : h.mean;
    }

    /* The histogram, and the average, which replays use. */
    std::string summary(const Elastic &e, bool displacements = false) {
        Packer p;
        const Histogram &h = e.summary->values;
        const double n = static_cast<double>(h.count);
        p.map(1);
        p.integer(2);
        p.array(2);
        put_histogram(p, &h, 1);
        const int64_t mean = round_to_int64(ordinary_mean(h));
        const uint64_t length = static_cast<uint64_t>(std::llround(e.summary->lengths / n));
        p.integer(e.averaged ? arrays_.average_array({mean, length}, displacements) : mean);
        return std::move(p.out);
    }

    /* Write averaged arrays as a histogram, even if all averages are equal: they are not the recorded values. */
    void put_averaged(const Elastic &e, const std::string &name, uint64_t nranks) {
        Elastic all = e;
        all.summarise(nranks);
        p_.out += summary(all, name.find("displ") != std::string::npos);
    }

    void put_dropped(int kind) {
        if (kind == ST_PEER) {
            p_.array(2);
            p_.integer(0);
        }
        p_.map(1);
        p_.integer(2);
        p_.array(2);
        p_.nil();
        p_.integer(kind == ST_ARRAY ? arrays_.average_array({0, 0}, false) : ST_UNDEFINED);
    }

    /* Text of an elastic value: by groups of ranks, or by rank where each has one value, whichever is shorter. */
    std::string elastic(const Elastic &e, int kind) {
        Packer groups;
        if (e.summary) return summary(e);
        if (e.single()) {
            put_value(groups, e.vec, kind);
            return std::move(groups.out);
        }
        groups.map(1);
        groups.integer(0);
        groups.array(2 * e.ngroups());
        bool constant = true;
        for (const Group &g : e.groups()) {
            put_closed(groups, g.ranks.to_vec());
            put_value(groups, g.vec, kind);
            constant = constant && g.vec.constant();
        }
        if (!constant || e.ngroups() < 3) return std::move(groups.out);

        std::vector<std::pair<Interval, int64_t>> by_rank;
        RankSet all;
        for (const Group &g : e.groups()) {
            g.ranks.each([&](Interval i) { by_rank.emplace_back(i, g.vec.first()); });
            all.unite(g.ranks);
        }
        std::sort(by_rank.begin(), by_rank.end(), [](auto &a, auto &b) { return a.first.low < b.first.low; });
        Vec values;
        for (const auto &[i, value] : by_rank) values.append_run(value, static_cast<uint64_t>(i.high - i.low) + 1);
        Packer columns;
        columns.map(1);
        columns.integer(1);
        columns.array(2);
        put_closed(columns, all.to_vec());
        put_closed(columns, is_name(kind) ? indexed(values, kind) : values);
        return std::move(columns.out.size() < groups.out.size() ? columns.out : groups.out);
    }

    /* Times in columns, if they fit; the numbers of other statistics may be names, such as ranks. */
    void put_statistic(size_t i, const Histogram *h) {
        const auto &[name, resolution] = core_.stats[i];
        if (h && is_time(name) && columns_.add(*h, resolution)) return p_.boolean(true);
        put_histogram(p_, h, resolution);
    }

    void put_elastic(const Elastic &e, int kind) { p_.out += elastic(e, kind); }

    /* Write the encoding that is shortest. */
    void put_peer(const Elastic *slots) {
        static const int preference[kEncodings] = {1, 0, 2, 3}; // among encodings of the same length
        std::string best;
        int chosen = -1;
        for (int encoding : preference) {
            if (slots[encoding].dead) continue;
            std::string text = elastic(slots[encoding], ST_PEER);
            if (chosen >= 0 && text.size() >= best.size()) continue;
            best = std::move(text);
            chosen = encoding;
        }
        if (chosen < 0) return put_dropped(ST_PEER); // histograms of different encodings were merged
        p_.array(2);
        p_.integer(chosen);
        p_.out += best;
    }

    /* Arrays in a shorter form if there is one: relative to the ranks' places, or sums of counts that are. */
    const Elastic &shortened(const Node *n, const Elastic &arrays, std::vector<Shortened> &before) {
        std::optional<Elastic> shorter;
        for (const Shortened &counts : before)
            if (!shorter) shorter = arrays_.sums(n, arrays, *counts.given, *counts.written);
        if (!shorter) shorter = arrays_.relative(n, arrays);
        if (!shorter) return arrays;
        before.push_back({&arrays, std::make_unique<Elastic>(std::move(*shorter))});
        return *before.back().written;
    }

    /* The groups of a repeat tell the node's participants. A repeat without groups means all ranks of `around`. */
    void put_repeat(const Node *n, const RankSet &around) {
        if (!n->repeat.single() || n->ranks == around) return put_elastic(n->repeat, ST_INT);
        Elastic named = n->repeat;
        named.spread(n->ranks);
        put_elastic(named, ST_INT);
    }

    /* The calls of a thread other than the first: a sequence with the thread's number. */
    void put_stream(const Body &body, size_t thread) {
        RankSet ranks;
        for (const Node *n : body) ranks.unite(n->ranks);
        Elastic once;
        once.vec.append(1);
        if (ranks != core_.ranks) once.spread(ranks);
        p_.array(3);
        put_elastic(once, ST_INT);
        p_.array(body.size());
        for (const Node *n : body) put_node(n, ranks);
        p_.natural(thread);
    }

    void put_turns() {
        if (core_.shared.empty()) return;
        p_.str("turns");
        p_.array(core_.shared.size());
        for (const auto &[name, comm] : core_.shared) {
            p_.array(2);
            p_.integer(core_.tables.comms.index(name));
            put_order(comm);
        }
    }

    void put_uses() {
        if (core_.used.empty()) return;
        p_.str("uses");
        p_.array(core_.used.size());
        for (const auto &[name, object] : core_.used) {
            const auto [kind, number] = name;
            const bool is_request = kind == static_cast<int32_t>(UseKind::kRequest);
            p_.array(3);
            p_.integer(kind);
            p_.integer(is_request ? static_cast<int64_t>(number) : core_.tables.comms.index(number));
            put_order(object);
        }
    }

    /* The order of threads on each rank. Vecs are closed: no node tells their number of values. */
    void put_order(const Shared &object) {
        Elastic named = object.order;
        named.spread(object.ranks);
        p_.map(1);
        p_.integer(0);
        p_.array(2 * named.ngroups());
        for (const Group &g : named.groups()) {
            put_closed(p_, g.ranks.to_vec());
            put_closed(p_, g.vec);
        }
    }

    /* `around`: participants of the sequence around it. */
    void put_node(const Node *n, const RankSet &around) {
        if (!n->leaf()) {
            p_.array(2);
            put_repeat(n, around);
            p_.array(n->kids.size());
            for (const Node *kid : n->kids) put_node(kid, n->ranks);
            return;
        }
        const OpSchema &op = core_.ops[n->op];
        p_.array(5);
        put_repeat(n, around);
        p_.integer(op_index_[n->op]);
        p_.integer(signature_index_.at(n->signature));
        p_.array(op.kinds.size());
        const Elastic *slot = n->slots.data();
        std::vector<Shortened> before; // arrays of this event
        for (size_t i = 0; i < op.kinds.size(); slot += slots_of(op.kinds[i++]))
            if (op.limits[i] < 0)
                put_dropped(op.kinds[i]);
            else if (op.kinds[i] == ST_PEER)
                put_peer(slot);
            else if (slot->averaged)
                put_averaged(*slot, op.params[i], n->ranks.size());
            else if (op.kinds[i] == ST_ARRAY)
                put_elastic(shortened(n, *slot, before), ST_ARRAY);
            else
                put_elastic(*slot, op.kinds[i]);
        p_.array(n->stats.size());
        for (const PredStats &s : n->stats) {
            p_.array(1 + core_.stats.size());
            p_.integer(pred_index_.at(s.pred));
            for (size_t i = 0; i < core_.stats.size(); ++i) put_statistic(i, s.hist[i].get());
        }
    }
};

} // namespace

std::string trace_payload(const st_core &core) { return Writer(core).payload(); }

} // namespace st
