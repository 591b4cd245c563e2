/* unpack.cpp - read the form drawn in pack.hpp. Every number is checked, since part files are not trusted.
 *
 * Ranks mostly have the same operations, signatures and datatypes: entries that the merging core has are skipped. */
#include "core/pack.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>

namespace st {

Incoming::~Incoming() {
    for (const Body &body : roots)
        for (Node *n : body) pool.release(n);
}

namespace {

constexpr int kMaxRanks = 1 << 24; // as in trace/values/ranklist.py
constexpr uint64_t kMaxArray = kMaxRanks;
constexpr int kMaxDepth = 64; // of trees, as in trace/io/check.py; deeper input is hostile

/* Reads in the order of pack.hpp. Methods throw FormatError; result_ owns all nodes that were made. */
class Loader {
  public:
    Loader(const void *data, size_t nbytes, NodePool &pool, const st_core *known)
        : in_(data, nbytes), known_(known), result_(new Incoming(pool)) {}

    std::unique_ptr<Incoming> load() {
        header();
        ops();
        stats();
        result_->totals = RankTotals::unpack(in_);
        tables(result_->tables);
        result_->ranks = ranks();
        nranks_ = result_->ranks.size();
        if (!result_->totals.has_sizes(nranks_)) in_.fail("a load for each rank was expected");
        body();
        if (!in_.at_end()) streams();
        if (!in_.at_end()) in_.fail("bytes are left over");
        return std::move(result_);
    }

  private:
    Unpacker in_;
    const st_core *known_; // or null
    std::unique_ptr<Incoming> result_;
    uint64_t nranks_ = INT32_MAX;
    const RankSet *inside_ = nullptr; // the ranks of the node that is read

    /* The nodes of one stream. */
    void body() {
        result_->roots.emplace_back();
        for (size_t n = in_.array(); n; --n) node(result_->roots.back(), result_->ranks, 0);
    }

    void streams() {
        size_t n = in_.array();
        if (n >= kMaxStreams) in_.fail("too many threads");
        for (; n; --n) body();
        for (n = in_.array(); n >= 3; n -= 3) {
            const uint64_t name = in_.natural();
            if (!result_->shared.try_emplace(name, order()).second) in_.fail("a communicator is there twice");
        }
        for (n = in_.array(); n >= 4; n -= 4) {
            const uint64_t kind = in_.natural();
            if (kind > static_cast<uint64_t>(UseKind::kFile)) in_.fail("an unknown kind of what threads share");
            const UseName name{static_cast<int32_t>(kind), in_.natural()};
            if (!result_->used.try_emplace(name, order()).second) in_.fail("what threads share is there twice");
        }
    }

    /* The order of threads on something. */
    Shared order() {
        Shared object;
        object.ranks = ranks();
        if (object.ranks.empty() || (!trusted() && !are_inside(object.ranks, result_->ranks)))
            in_.fail("damaged ranks of what threads share");
        inside_ = &object.ranks;
        repeat(object.order);
        return object;
    }

    void expect(size_t got, size_t wanted) {
        if (got != wanted) in_.fail("an array of another length was expected");
    }

    // --- header

    void header() {
        if (in_.integer() != kPackVersion) in_.fail("packed by another version");
        result_->rank = static_cast<int>(in_.integer());
        result_->nprocs = static_cast<int>(in_.integer());
        if (result_->nprocs < 1 || result_->nprocs > kMaxRanks || result_->rank < 0) in_.fail("no ranks, or too many");
        result_->nevents = in_.count();
        size_t n = in_.array();
        for (; n >= 2; n -= 2) {
            std::string key = in_.str();
            result_->meta[key] = in_.str();
        }
        n = in_.array();
        for (; n >= 2; n -= 2) {
            std::string key = in_.str();
            result_->counts[key] = in_.count();
        }
    }

    void stats() {
        size_t n = in_.array();
        if (n > 2 * ST_MAX_STATS) in_.fail("too many statistics");
        result_->stats.reserve(n / 2);
        for (; n >= 2; n -= 2) {
            std::string name = in_.str();
            const double resolution = in_.real();
            if (!(resolution > 0 && resolution <= ST_MAX_RESOLUTION)) in_.fail("a damaged resolution");
            result_->stats.emplace_back(std::move(name), resolution);
        }
    }

    // --- operations

    void ops() {
        if (known_ && known_ops()) {
            result_->same_ops = true;
            return;
        }
        for (size_t n = in_.array(); n; --n) op();
    }

    /* Has the other core the same operations under the same numbers? Then skip them; else read nothing. */
    bool known_ops() {
        Unpacker at = in_;
        const size_t n = at.array();
        bool same = n <= known_->ops.size();
        for (size_t i = 0; same && i < n; ++i) same = is_op(at, known_->ops[i]);
        if (same) in_ = at;
        return same;
    }

    static bool is_op(Unpacker &at, const OpSchema &op) {
        if (at.array() != 1 + 3 * op.kinds.size() || at.view() != op.name) return false;
        for (size_t i = 0; i < op.kinds.size(); ++i)
            if (at.view() != op.params[i] || at.integer() != op.kinds[i] || at.integer() != op.limits[i]) return false;
        return true;
    }

    void op() {
        const size_t m = in_.array();
        OpSchema schema(in_.str());
        for (size_t i = 1; i + 2 < m; i += 3) {
            std::string param = in_.str();
            const int64_t kind = in_.integer();
            if (kind < ST_INT || kind > ST_ARRAY) in_.fail("a parameter of unknown kind");
            schema.add(std::move(param), static_cast<int>(kind), static_cast<int32_t>(in_.integer()));
        }
        if (schema.kinds.size() > ST_MAX_VALUES) in_.fail("too many parameters");
        for (const OpSchema &before : result_->ops)
            if (before.name == schema.name) in_.fail("two operations of one name");
        result_->ops.push_back(std::move(schema));
    }

    const std::vector<OpSchema> &schemas() const { return result_->same_ops ? known_->ops : result_->ops; }

    // --- nodes

    RankSet ranks() {
        RankSet out;
        for (size_t n = in_.array(); n; --n) {
            const size_t m = in_.array();
            const int64_t low = in_.integer(), high = in_.integer();
            if (m < 2 || m % 2 || low > high || low < 0 || high > INT32_MAX ||
                (!out.empty() && low <= out.highest() + int64_t{1}))
                in_.fail("a damaged ranklist");
            Box box(static_cast<int32_t>(low), static_cast<int32_t>(high));
            for (size_t i = 2; i < m; i += 2) {
                const int64_t count = in_.integer();
                if (!box.repeat(count, in_.integer())) in_.fail("a damaged ranklist");
            }
            out.append(box);
        }
        if (out.size() > nranks_ || (!out.empty() && out.highest() >= result_->nprocs)) in_.fail("a damaged ranklist");
        return out;
    }

    void limit(Elastic &e) {
        const int64_t n = in_.integer();
        if (!n || n > INT32_MAX || n < -INT32_MAX) in_.fail("a damaged limit");
        e.averaged = n < 0;
        e.limit = static_cast<uint32_t>(n < 0 ? -n : n);
    }

    void elastic(Elastic &e, bool limited = false) {
        const size_t n = in_.array();
        if (n == 0) {
            e.dead = true;
        } else if (n == 3) {
            if (limited) in_.fail("a limit in a limit");
            limit(e);
            std::unique_ptr<Histogram> values = histogram();
            if (!values) in_.fail("a histogram was expected");
            e.summary.reset(new Summary);
            e.summary->values = *values;
            e.summary->lengths = in_.real();
            const double longest = static_cast<double>(values->count) * static_cast<double>(Averaged::kMaxLength);
            if (!(e.summary->lengths >= 0 && e.summary->lengths <= longest)) in_.fail("a damaged length of arrays");
        } else if (n == 5) {
            if (limited) in_.fail("a limit in a limit");
            limit(e);
            elastic(e, true);
            for (int i = 0; i < 3; ++i) in_.skip_nil();
        } else if (n == 1) {
            e.vec = Vec::unpack(in_);
        } else {
            if (n % 2) in_.fail("a damaged elastic value");
            e.spread(ranks());
            e.groups().reserve(n / 2 + 1); // another one will be added
            e.groups().front().vec = Vec::unpack(in_);
            for (size_t i = 2; i < n; i += 2) {
                RankSet r = ranks();
                e.groups().push_back(Group{std::move(r), Vec::unpack(in_)});
            }
            check_groups(e.groups());
        }
    }

    /* Groups have ranks of their node and none in common, and are in the order of their first rank. */
    void check_groups(const std::vector<Group> &groups) {
        if (trusted()) return;
        bool interleaved = false;
        for (size_t i = 0; i < groups.size(); ++i) {
            const RankSet &r = groups[i].ranks;
            if (r.empty() || (i && r.lowest() <= groups[i - 1].ranks.lowest()))
                in_.fail("groups of ranks that are empty or out of order");
            if (!are_inside(r, *inside_)) in_.fail("a group with ranks that its node does not have");
            interleaved = interleaved || (i && r.lowest() <= groups[i - 1].ranks.highest());
        }
        if (interleaved && overlap(groups)) in_.fail("groups of ranks that overlap");
    }

    /* Does it come from a rank of this program? */
    bool trusted() const { return known_ && !known_->untrusted; }

    static bool are_inside(const RankSet &ranks, const RankSet &others) {
        if (ranks == others) return true;
        if (ranks.size() == 1) return others.contains(ranks.lowest());
        ExpansionLimit::take(nintervals(ranks) + nintervals(others));
        return ranks.minus(others).empty();
    }

    static uint64_t nintervals(const RankSet &ranks) {
        uint64_t n = 0;
        for (size_t i = 0; i < ranks.nboxes(); ++i) {
            const Box &box = ranks.box(i);
            n += box.size() / static_cast<uint64_t>(box.high - box.low + 1);
        }
        return n;
    }

    static bool overlap(const std::vector<Group> &groups) {
        std::vector<Interval> all;
        for (const Group &g : groups) {
            ExpansionLimit::take(nintervals(g.ranks));
            g.ranks.each([&](Interval i) { all.push_back(i); });
        }
        std::sort(all.begin(), all.end(), [](Interval a, Interval b) { return a.low < b.low; });
        for (size_t i = 1; i < all.size(); ++i)
            if (all[i].low <= all[i - 1].high) return true;
        return false;
    }

    /* The bytes of a histogram without its unused bins; bins without samples would divide by zero. */
    std::unique_ptr<Histogram> histogram() {
        if (in_.skip_nil()) return nullptr;
        const std::string_view bytes = in_.view();
        std::unique_ptr<Histogram> h = result_->pool.histogram();
        if (bytes.size() < Histogram::nbytes(0) || bytes.size() > Histogram::nbytes(Histogram::kBins))
            in_.fail("a damaged histogram");
        std::memcpy(static_cast<void *>(h.get()), bytes.data(), bytes.size());
        if (h->nbins < 1 || h->nbins > Histogram::kBins || bytes.size() != Histogram::nbytes(h->nbins) || !h->count)
            in_.fail("a damaged histogram");
        if (h->count > Histogram::kMaxSamples || !(h->m2 >= 0) || !are_finite({h->min, h->max, h->mean, h->m2}))
            in_.fail("a damaged histogram");
        uint64_t left = h->count;
        for (int i = 0; i < h->nbins; ++i) {
            const Bin &b = h->bins[i];
            if (!b.count || b.count > left || !are_finite({b.min, b.max, b.sum})) in_.fail("a damaged histogram");
            left -= b.count;
        }
        if (left) in_.fail("a damaged histogram");
        return h;
    }

    /* Readers refuse a trace with times that no run has: below 0, or beyond 64 bits of nanoseconds. */
    void check_times(const std::pair<std::string, double> &stat, const Histogram &h) {
        if (!is_time(stat.first)) return;
        const double limit = 0x1p62 / stat.second;
        const auto fits = [limit](double x) { return x >= 0 && x < limit; };
        bool good = fits(h.min) && fits(h.max) && fits(h.mean);
        for (int i = 0; i < h.nbins; ++i)
            good = good && fits(h.bins[i].min) && fits(h.bins[i].max) && h.bins[i].sum >= 0;
        if (!good) in_.fail("a time below 0 or beyond 64 bits");
    }

    static bool are_finite(std::initializer_list<double> numbers) {
        return std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); });
    }

    /* How often a node runs each time: no negative numbers. */
    void repeat(Elastic &e) {
        elastic(e);
        if (e.dead || e.limit) in_.fail("a repeat without values");
        if (e.single()) return check_repeat(e.vec);
        for (const Group &g : e.groups()) check_repeat(g.vec);
    }

    void check_repeat(const Vec &vec) {
        if (vec.constant() ? vec.first() < 0 : smallest(Vec(vec).terms()) < 0) in_.fail("a negative repeat");
    }

    /* The smallest value of terms, or some negative number. The first turn of a loop has the values of its block. */
    static __int128 smallest(const std::vector<Term> &terms) {
        __int128 low = INT64_MAX;
        for (const Term &t : terms) {
            __int128 value = t.value;
            if (t.rep) {
                value = smallest(t.rep->block);
                if (value < 0) return value;
                if (t.rep->stride < 0) value += static_cast<__int128>(t.rep->stride) * (t.rep->count - 1);
            }
            low = std::min(low, value);
        }
        return low;
    }

    /* A node is in its parent's body before it is read, so that it is released when an error is thrown. */
    void node(Body &into, const RankSet &around, int depth) {
        if (depth > kMaxDepth) in_.fail("nodes are nested too deeply");
        into.reserve(into.size() + 1);
        Node *n = result_->pool.make();
        into.push_back(n);
        const size_t m = in_.array();
        n->runs = in_.natural();
        const uint64_t flags = in_.natural();
        n->skipped = flags & 1;
        n->multiple = flags & 2;
        n->ranks = in_.skip_nil() ? around : ranks();
        if (n->ranks.empty() || (!trusted() && !are_inside(n->ranks, around))) in_.fail("damaged ranks of a node");
        inside_ = &n->ranks;
        if (m == 4)
            sequence(n, depth);
        else
            event(n, m);
    }

    void sequence(Node *n, int depth) {
        size_t kids = in_.array();
        if (kids < 2) in_.fail("a sequence without content");
        n->slots.clear();
        repeat(n->repeat);
        n->kids.reserve(kids - 1);
        for (; kids > 1; --kids) node(n->kids, n->ranks, depth + 1);
        update_shape(n);
    }

    void event(Node *n, size_t m) {
        expect(m, 7);
        repeat(n->repeat);
        n->op = static_cast<uint32_t>(in_.natural());
        if (n->op >= schemas().size()) in_.fail("an unknown operation");
        n->signature = in_.natural();
        const OpSchema &op = schemas()[n->op];
        n->shape = n->first = n->last = event_key(op.hash, n->signature);
        size_t rest = in_.array();
        if (rest < op.nslots) in_.fail("an event without its values");
        n->nslots = static_cast<uint32_t>(op.nslots);
        n->raw = false;
        n->slots.resize(op.nslots);
        for (Elastic &e : n->slots) elastic(e);
        check_limits(*n, op);
        rest -= op.nslots;
        n->stats.reserve(rest);
        for (; rest; --rest) {
            expect(in_.array(), 1 + result_->stats.size());
            n->stats.emplace_back();
            n->stats.back().pred = in_.natural();
            for (size_t i = 0; i < result_->stats.size(); ++i) {
                n->stats.back().hist[i] = histogram();
                if (n->stats.back().hist[i]) check_times(result_->stats[i], *n->stats.back().hist[i]);
            }
        }
    }

    /* Arrays with a limit are averaged, and nothing else is; names of tables have no limit. */
    void check_limits(const Node &n, const OpSchema &op) {
        const Elastic *e = n.slots.data();
        for (size_t i = 0; i < op.kinds.size(); ++i)
            for (size_t k = slots_of(op.kinds[i]); k; --k, ++e) {
                const bool is_array = op.kinds[i] == ST_ARRAY;
                if (e->limit && (is_table(op.kinds[i]) || e->averaged != is_array || (is_array && !op.limits[i])))
                    in_.fail("a limit of a parameter that has none");
                if (is_array && op.limits[i] > 0 && !e->limit && !(e->single() && e->vec.size() == 0))
                    in_.fail("arrays that are not averaged");
            }
    }

    // --- tables

    template <class T> bool is_known(const Table<T> Tables::*table, uint64_t name) const {
        return known_ && (known_->tables.*table).has(name);
    }

    void tables(Tables &t) {
        for (size_t n = in_.array(); n; --n) family(t);
        for (size_t n = in_.array(); n; --n) {
            expect(in_.array(), 4);
            const uint64_t name = in_.natural();
            std::string description = in_.str();
            const int64_t size = in_.integer();
            t.types.add(name, Datatype{std::move(description), size, in_.integer()});
        }
        for (size_t n = in_.array(); n; --n) {
            expect(in_.array(), 2);
            const uint64_t name = in_.natural();
            const std::string_view text = in_.view();
            if (!is_known(&Tables::strings, name)) t.strings.add(name, std::string(text));
        }
        for (size_t n = in_.array(); n; --n) {
            expect(in_.array(), 3);
            const uint64_t name = in_.natural();
            const uint64_t length = in_.natural();
            if (length > kMaxArray) in_.fail("an array of too many elements");
            if (is_known(&Tables::arrays, name))
                Vec::skip(in_);
            else if (Vec values = Vec::unpack(in_); values.size() == length)
                t.arrays.add(name, Array{length, std::move(values)});
            else
                in_.fail("an array of another length than it claims");
        }
        for (size_t n = in_.array(); n; --n) signature(t);
    }

    void signature(Tables &t) {
        const size_t m = in_.array();
        const uint64_t name = in_.natural();
        if (is_known(&Tables::signatures, name)) {
            for (size_t i = 1; i < m; ++i) in_.view();
            return;
        }
        std::vector<std::string> frames;
        frames.reserve(m);
        for (size_t i = 1; i < m; ++i) frames.push_back(in_.str());
        t.signatures.add(name, std::move(frames));
    }

    /* Members of a communicator are skipped where the core knows its instance. */
    void family(Tables &t) {
        size_t m = in_.array();
        const uint64_t name = in_.natural();
        std::string kind = in_.str();
        const uint64_t parent = in_.natural();
        const Family *known = known_ ? known_->tables.comms.find(name) : nullptr;
        if (known && m == 3) return;
        Family &f = t.comms.add(name, Family{std::move(kind), parent, {}});
        for (; m > 3; m -= 5) {
            if (m < 8) in_.fail("a damaged communicator");
            const int64_t leader = in_.integer();
            const bool skip = known && known->instances.count(leader);
            Instance i;
            i.nmembers = in_.natural();
            members(i.members, i.nmembers, skip);
            i.nremote = in_.natural();
            members(i.remote, i.nremote, skip);
            if (!skip) f.instances.try_emplace(leader, std::move(i));
        }
    }

    void members(Vec &v, uint64_t n, bool skip) {
        if (skip) return Vec::skip(in_);
        v = Vec::unpack(in_);
        if (n > 2 * kMaxArray || v.size() != n) in_.fail("a communicator of another size than it claims");
    }
};

} // namespace

std::unique_ptr<Incoming> unpack(const void *data, size_t nbytes, NodePool &pool, const st_core *known) {
    return Loader(data, nbytes, pool, known).load();
}

std::unique_ptr<st_core> unpack_core(const void *data, size_t nbytes) {
    std::unique_ptr<st_core> c(new st_core(0, 1));
    c->adopt(std::move(*unpack(data, nbytes, c->pool, nullptr)));
    c->untrusted = true;
    return c;
}

} // namespace st
