/* pack.cpp - a finished core as bytes, for the radix tree's messages and for part files.
 *
 * Unlike the trace file it keeps all peer encodings, histograms as they are, and names by hash. Only this file reads it back. */
#include "core.hpp"
#include "msgpack.hpp"

#include <cstring>

namespace st {

namespace {

constexpr int kPackVersion = 3;
constexpr int kMaxDepth = 400; // of trees and terms; deeper input is hostile

void put_terms(Packer &p, const std::vector<Term> &terms) {
    p.array(terms.size());
    for (const Term &t : terms) {
        if (!t.rep) {
            p.integer(t.value);
            continue;
        }
        p.array(3);
        p.natural(t.rep->count);
        p.integer(t.rep->stride);
        put_terms(p, t.rep->block);
    }
}

void put_vec(Packer &p, const Vec &v) {
    if (v.constant()) {
        p.array(2);
        p.natural(v.size());
        p.integer(v.first());
        return;
    }
    p.array(4);
    p.natural(v.size());
    p.natural(v.open());
    p.natural(v.matched());
    put_terms(p, v.terms());
}

void put_ranks(Packer &p, const RankSet &ranks) {
    p.array(2 * ranks.intervals().size());
    for (const Interval &i : ranks.intervals()) {
        p.integer(i.low);
        p.integer(i.high);
    }
}

/* As it lies in memory: bytes are read back on a machine of the same kind. */
void put_histogram(Packer &p, const Histogram *h) {
    if (!h) return p.nil();
    p.str({reinterpret_cast<const char *>(h), Histogram::nbytes(h->nbins)});
}

void put_limit(Packer &p, const Elastic &e) { p.integer(e.averaged ? -static_cast<int64_t>(e.limit) : e.limit); }

void put_elastic(Packer &p, const Elastic &e) {
    if (e.dead) {
        p.array(0);
    } else if (e.summary) {
        p.array(3);
        put_limit(p, e);
        put_histogram(p, &e.summary->values);
        p.real(e.summary->lengths);
    } else if (e.limit) {
        p.array(5); // as below, behind the limit
        put_limit(p, e);
        Elastic plain = e;
        plain.limit = 0;
        put_elastic(p, plain);
        for (int i = 0; i < 3; ++i) p.nil();
    } else if (e.single()) {
        p.array(1);
        put_vec(p, e.vec);
    } else {
        p.array(2 * e.groups().size());
        for (const Group &g : e.groups()) {
            put_ranks(p, g.ranks);
            put_vec(p, g.vec);
        }
    }
}

void put_node(Packer &p, const Node *n, size_t nstats) {
    p.array(n->leaf() ? 7 : 4);
    p.natural(n->runs);
    p.natural(n->skipped + 2 * n->multiple);
    put_ranks(p, n->ranks);
    if (!n->leaf()) {
        p.array(n->kids.size() + 1);
        put_elastic(p, n->repeat);
        for (const Node *kid : n->kids) put_node(p, kid, nstats);
        return;
    }
    put_elastic(p, n->repeat);
    p.natural(n->op);
    p.natural(n->signature);
    p.array(n->slots.size() + n->stats.size());
    for (const Elastic &e : n->slots) put_elastic(p, e);
    for (const PredStats &s : n->stats) {
        p.array(1 + nstats);
        p.natural(s.pred);
        for (size_t i = 0; i < nstats; ++i) put_histogram(p, s.hist[i].get());
    }
}

void put_tables(Packer &p, const Tables &t) {
    p.array(t.comms.size());
    for (const auto &[name, f] : t.comms.items()) {
        p.array(3 + 5 * f.instances.size());
        p.natural(name);
        p.str(f.kind);
        p.natural(f.parent);
        for (const auto &[leader, i] : f.instances) {
            p.integer(leader);
            p.natural(i.nmembers);
            put_vec(p, i.members);
            p.natural(i.nremote);
            put_vec(p, i.remote);
        }
    }
    p.array(t.types.size());
    for (const auto &[name, type] : t.types.items()) {
        p.array(4);
        p.natural(name);
        p.str(type.description);
        p.integer(type.size);
        p.integer(type.extent);
    }
    p.array(t.strings.size());
    for (const auto &[name, s] : t.strings.items()) {
        p.array(2);
        p.natural(name);
        p.str(s);
    }
    p.array(t.arrays.size());
    for (const auto &[name, a] : t.arrays.items()) {
        p.array(3);
        p.natural(name);
        p.natural(a.length);
        put_vec(p, a.values);
    }
    p.array(t.signatures.size());
    for (const auto &[name, frames] : t.signatures.items()) {
        p.array(1 + frames.size());
        p.natural(name);
        for (const std::string &f : frames) p.str(f);
    }
}

class Loader {
  public:
    Loader(const void *data, size_t nbytes) : in_(data, nbytes) {}

    std::unique_ptr<st_core> core() {
        if (in_.integer() != kPackVersion) in_.fail("packed by another version");
        const int rank = static_cast<int>(in_.integer());
        const int nprocs = static_cast<int>(in_.integer());
        if (nprocs < 1 || rank < 0) in_.fail("no ranks");
        std::unique_ptr<st_core> c(new st_core(rank, nprocs));
        header(*c);
        tables(c->tables);
        ops_ = &c->ops;
        nstats_ = c->stats.size();
        c->ranks = ranks();
        load(*c);
        pool_ = &c->pool;
        for (size_t n = in_.array(); n; --n) c->roots.push_back(node(0));
        if (!in_.at_end()) in_.fail("bytes are left over");
        return c;
    }

  private:
    Unpacker in_;
    const std::vector<OpSchema> *ops_ = nullptr;
    NodePool *pool_ = nullptr;
    size_t nstats_ = 0;
    std::string loads_;

    void expect(size_t got, size_t wanted) {
        if (got != wanted) in_.fail("an array of another length was expected");
    }

    void header(st_core &c) {
        c.nevents = in_.natural();
        size_t n = in_.array();
        for (; n >= 2; n -= 2) {
            std::string key = in_.str();
            c.meta[key] = in_.str();
        }
        n = in_.array();
        for (; n >= 2; n -= 2) {
            std::string key = in_.str();
            c.counts[key] = in_.natural();
        }
        for (n = in_.array(); n; --n) op(c);
        n = in_.array();
        if (n > 2 * ST_MAX_STATS) in_.fail("too many statistics");
        for (; n >= 2; n -= 2) {
            std::string name = in_.str();
            c.stats.emplace_back(name, in_.real());
        }
        loads_ = in_.str();
    }

    void load(st_core &c) {
        size_t at = 0;
        for (const Interval &i : c.ranks.intervals())
            for (int64_t rank = i.low; rank <= i.high; ++rank, at += sizeof(float)) {
                float total;
                if (at + sizeof total > loads_.size()) in_.fail("a load for each rank was expected");
                std::memcpy(&total, &loads_[at], sizeof total);
                c.load.emplace_back(static_cast<int32_t>(rank), total);
            }
        if (at != loads_.size()) in_.fail("a load for each rank was expected");
    }

    void op(st_core &c) {
        const size_t m = in_.array();
        const std::string name = in_.str();
        std::vector<std::string> params;
        std::vector<const char *> names;
        std::vector<int> kinds;
        std::vector<int32_t> limits;
        for (size_t i = 1; i + 2 < m; i += 3) {
            params.push_back(in_.str());
            kinds.push_back(static_cast<int>(in_.integer()));
            limits.push_back(static_cast<int32_t>(in_.integer()));
            if (kinds.back() < ST_INT || kinds.back() > ST_ARRAY) in_.fail("a parameter of unknown kind");
        }
        if (kinds.size() > ST_MAX_VALUES) in_.fail("too many parameters");
        for (const std::string &s : params) names.push_back(s.c_str());
        const int number = c.define_op(name.c_str(), static_cast<int>(kinds.size()), names.data(), kinds.data());
        OpSchema &made = c.ops[static_cast<size_t>(number)];
        if (made.limits.size() != limits.size()) in_.fail("two operations of one name");
        made.limits = limits;
    }

    std::vector<Term> terms(int depth) {
        if (depth > kMaxDepth) in_.fail("values are nested too deeply");
        std::vector<Term> out;
        for (size_t n = in_.array(); n; --n) {
            if (!in_.peek_array()) {
                out.emplace_back(in_.integer());
                continue;
            }
            expect(in_.array(), 3);
            const uint64_t count = in_.natural();
            const int64_t stride = in_.integer();
            std::vector<Term> block = terms(depth + 1);
            if (block.empty() || !count) in_.fail("an empty repetition");
            out.emplace_back(count, stride, std::move(block));
        }
        return out;
    }

    Vec vec() {
        const size_t n = in_.array();
        const uint64_t size = in_.natural();
        if (n == 2) return Vec(in_.integer(), size);
        expect(n, 4);
        const bool open = in_.natural() != 0;
        const uint64_t matched = in_.natural();
        std::vector<Term> t = terms(0);
        if (t.empty() || (open && !t.back().rep) || matched > size) in_.fail("a damaged value vector");
        return Vec::restore(size, std::move(t), open, matched);
    }

    RankSet ranks() {
        std::vector<Interval> out;
        size_t n = in_.array();
        if (n % 2) in_.fail("a damaged ranklist");
        for (; n; n -= 2) {
            const int64_t low = in_.integer(), high = in_.integer();
            if (low > high || low < 0 || high > INT32_MAX || (!out.empty() && low <= out.back().high + 1))
                in_.fail("a damaged ranklist");
            out.push_back({static_cast<int32_t>(low), static_cast<int32_t>(high)});
        }
        return RankSet(std::move(out));
    }

    void limit(Elastic &e) {
        const int64_t n = in_.integer();
        if (!n || n > INT32_MAX || n < -INT32_MAX) in_.fail("a damaged limit");
        e.averaged = n < 0;
        e.limit = static_cast<uint32_t>(n < 0 ? -n : n);
    }

    Elastic elastic(bool limited = false) {
        Elastic e;
        const size_t n = in_.array();
        if (n == 0) {
            e.dead = true;
        } else if (n == 3) {
            limit(e);
            std::unique_ptr<Histogram> values = histogram();
            if (!values) in_.fail("a histogram was expected");
            e.summary.reset(new Summary);
            e.summary->values = *values;
            e.summary->lengths = in_.real();
        } else if (n == 5) {
            if (limited) in_.fail("a limit in a limit");
            limit(e);
            Elastic read = elastic(true);
            read.limit = e.limit;
            read.averaged = e.averaged;
            for (int i = 0; i < 3; ++i) in_.skip_nil();
            return read;
        } else if (n == 1) {
            e.vec = vec();
        } else {
            e.spread(ranks());
            e.groups().front().vec = vec();
            for (size_t i = 2; i + 1 < n; i += 2) {
                RankSet r = ranks();
                e.groups().push_back(Group{std::move(r), vec()});
            }
        }
        return e;
    }

    std::unique_ptr<Histogram> histogram() {
        if (in_.skip_nil()) return nullptr;
        const std::string_view bytes = in_.view();
        std::unique_ptr<Histogram> h(new Histogram);
        if (bytes.size() < Histogram::nbytes(0) || bytes.size() > Histogram::nbytes(Histogram::kBins))
            in_.fail("a damaged histogram");
        std::memcpy(static_cast<void *>(h.get()), bytes.data(), bytes.size());
        if (h->nbins < 1 || h->nbins > Histogram::kBins || bytes.size() != Histogram::nbytes(h->nbins) || !h->count)
            in_.fail("a damaged histogram");
        for (int i = 0; i < h->nbins; ++i)
            if (!h->bins[i].count) in_.fail("a damaged histogram");
        return h;
    }

    Node *node(int depth) {
        if (depth > kMaxDepth) in_.fail("nodes are nested too deeply");
        Node *n = pool_->make();
        const size_t m = in_.array();
        n->runs = in_.natural();
        const uint64_t flags = in_.natural();
        n->skipped = flags & 1;
        n->multiple = flags & 2;
        n->ranks = ranks();
        if (m == 4) {
            size_t kids = in_.array();
            if (kids < 2) in_.fail("a sequence without content");
            n->repeat = elastic();
            for (; kids > 1; --kids) n->kids.push_back(node(depth + 1));
            update_shape(n);
            return n;
        }
        expect(m, 7);
        n->repeat = elastic();
        n->op = static_cast<uint32_t>(in_.natural());
        if (n->op >= ops_->size()) in_.fail("an unknown operation");
        n->signature = in_.natural();
        const OpSchema &op = (*ops_)[n->op];
        n->shape = n->first = n->last = event_key(op.hash, n->signature);
        size_t rest = in_.array();
        if (rest < op.nslots) in_.fail("an event without its values");
        n->slots.clear();
        for (size_t i = 0; i < op.nslots; ++i) n->slots.push_back(elastic());
        for (rest -= op.nslots; rest; --rest) {
            expect(in_.array(), 1 + nstats_);
            n->stats.emplace_back();
            n->stats.back().pred = in_.natural();
            for (size_t i = 0; i < nstats_; ++i) n->stats.back().hist[i] = histogram();
        }
        return n;
    }

    void tables(Tables &t) {
        for (size_t n = in_.array(); n; --n) {
            size_t m = in_.array();
            const uint64_t name = in_.natural();
            std::string kind = in_.str();
            const uint64_t parent = in_.natural();
            Family &f = t.comms.add(name, Family{kind, parent, {}});
            for (; m > 3; m -= 5) {
                if (m < 8) in_.fail("a damaged communicator");
                const int64_t leader = in_.integer();
                Instance i;
                i.nmembers = in_.natural();
                i.members = vec();
                i.nremote = in_.natural();
                i.remote = vec();
                f.instances.try_emplace(leader, std::move(i));
            }
        }
        for (size_t n = in_.array(); n; --n) {
            expect(in_.array(), 4);
            const uint64_t name = in_.natural();
            std::string description = in_.str();
            const int64_t size = in_.integer();
            t.types.add(name, Datatype{description, size, in_.integer()});
        }
        for (size_t n = in_.array(); n; --n) {
            expect(in_.array(), 2);
            const uint64_t name = in_.natural();
            t.strings.add(name, in_.str());
        }
        for (size_t n = in_.array(); n; --n) {
            expect(in_.array(), 3);
            const uint64_t name = in_.natural();
            const uint64_t length = in_.natural();
            t.arrays.add(name, Array{length, vec()});
        }
        for (size_t n = in_.array(); n; --n) {
            size_t m = in_.array();
            const uint64_t name = in_.natural();
            std::vector<std::string> frames;
            for (; m > 1; --m) frames.push_back(in_.str());
            t.signatures.add(name, std::move(frames));
        }
    }
};

} // namespace

std::string pack_core(const st_core &c) {
    Packer p;
    p.out.reserve(8192);
    p.integer(kPackVersion);
    p.integer(c.rank);
    p.integer(c.nprocs);
    p.natural(c.nevents);
    p.array(2 * c.meta.size());
    for (const auto &[key, value] : c.meta) {
        p.str(key);
        p.str(value);
    }
    p.array(2 * c.counts.size());
    for (const auto &[key, n] : c.counts) {
        p.str(key);
        p.natural(n);
    }
    p.array(c.ops.size());
    for (const OpSchema &op : c.ops) {
        p.array(1 + 3 * op.kinds.size());
        p.str(op.name);
        for (size_t i = 0; i < op.kinds.size(); ++i) {
            p.str(op.params[i]);
            p.integer(op.kinds[i]);
            p.integer(op.limits[i]);
        }
    }
    p.array(2 * c.stats.size());
    for (const auto &[name, resolution] : c.stats) {
        p.str(name);
        p.real(resolution);
    }
    std::string loads(c.load.size() * sizeof(float), '\0'); // in the order of the ranks
    for (size_t i = 0; i < c.load.size(); ++i) std::memcpy(&loads[i * sizeof(float)], &c.load[i].second, sizeof(float));
    p.str(loads);
    put_tables(p, c.tables);
    put_ranks(p, c.ranks);
    p.array(c.roots.size());
    for (const Node *n : c.roots) put_node(p, n, c.stats.size());
    return std::move(p.out);
}

std::unique_ptr<st_core> unpack_core(const void *data, size_t nbytes) { return Loader(data, nbytes).core(); }

} // namespace st
