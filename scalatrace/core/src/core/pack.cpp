/* pack.cpp - write the form drawn in pack.hpp. */
#include "core/pack.hpp"

#include <cstring>

namespace st {

namespace {

/* [low, high, count, stride, ...] for each box. */
void put_ranks(BytePacker &p, const RankSet &ranks) {
    p.array(ranks.nboxes());
    for (size_t i = 0; i < ranks.nboxes(); ++i) {
        const Box &b = ranks.box(i);
        const int ndims = b.ndims();
        p.array(2 + 2 * static_cast<size_t>(ndims));
        p.integer(b.low);
        p.integer(b.high);
        for (int d = 0; d < ndims; ++d) {
            p.integer(b.count[d]);
            p.integer(b.stride[d]);
        }
    }
}

/* The bytes in memory: they are read on a machine of the same kind. */
void put_histogram(BytePacker &p, const Histogram *h) {
    if (!h) return p.nil();
    p.str({reinterpret_cast<const char *>(h), Histogram::nbytes(h->nbins)});
}

/* A negative limit is one of averaged arrays. */
void put_limit(BytePacker &p, const Elastic &e) { p.integer(e.averaged ? -static_cast<int64_t>(e.limit) : e.limit); }

/* The five forms of pack.hpp, told apart by their length. */
void put_elastic(BytePacker &p, const Elastic &e) {
    if (e.dead) {
        p.array(0);
    } else if (e.summary) {
        p.array(3);
        put_limit(p, e);
        put_histogram(p, &e.summary->values);
        p.real(e.summary->lengths);
    } else if (e.limit) {
        p.array(5); // limit, and the value without it
        put_limit(p, e);
        Elastic plain = e;
        plain.limit = 0;
        put_elastic(p, plain);
        for (int i = 0; i < 3; ++i) p.nil();
    } else if (e.single()) {
        p.array(1);
        e.vec.pack(p);
    } else {
        p.array(2 * e.groups().size());
        for (const Group &g : e.groups()) {
            put_ranks(p, g.ranks);
            g.vec.pack(p);
        }
    }
}

/* `around`: the ranks of the node around it. */
void put_node(BytePacker &p, const Node *n, const RankSet &around, size_t nstats) {
    p.array(n->leaf() ? 7 : 4);
    p.natural(n->runs);
    p.natural(n->skipped + 2 * n->multiple);
    if (n->ranks == around)
        p.nil();
    else
        put_ranks(p, n->ranks);
    if (!n->leaf()) {
        p.array(n->kids.size() + 1);
        put_elastic(p, n->repeat);
        for (const Node *kid : n->kids) put_node(p, kid, n->ranks, nstats);
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

/* The order of the tables is that of struct Tables. */
void put_tables(BytePacker &p, const Tables &t) {
    p.array(t.comms.size());
    for (const auto &[name, f] : t.comms.items()) {
        p.array(3 + 5 * f.instances.size());
        p.natural(name);
        p.str(f.kind);
        p.natural(f.parent);
        for (const auto &[leader, i] : f.instances) {
            p.integer(leader);
            p.natural(i.nmembers);
            i.members.pack(p);
            p.natural(i.nremote);
            i.remote.pack(p);
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
        a.values.pack(p);
    }
    p.array(t.signatures.size());
    for (const auto &[name, frames] : t.signatures.items()) {
        p.array(1 + frames.size());
        p.natural(name);
        for (const std::string &f : frames) p.str(f);
    }
}

} // namespace

Bytes pack_core(const st_core &c) {
    BytePacker p;
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
    c.totals.pack(p);
    put_tables(p, c.tables);
    put_ranks(p, c.ranks);
    const auto put_body = [&](const Body &body) {
        p.array(body.size());
        for (const Node *n : body) put_node(p, n, c.ranks, c.stats.size());
    };
    put_body(c.roots.front());
    if (!c.has_streams()) return std::move(p.out);
    p.array(c.roots.size() - 1);
    for (size_t i = 1; i < c.roots.size(); ++i) put_body(c.roots[i]);
    p.array(3 * c.shared.size());
    for (const auto &[name, comm] : c.shared) {
        p.natural(name);
        put_ranks(p, comm.ranks);
        put_elastic(p, comm.order);
    }
    p.array(4 * c.used.size());
    for (const auto &[name, object] : c.used) {
        p.natural(static_cast<uint64_t>(name.first));
        p.natural(name.second);
        put_ranks(p, object.ranks);
        put_elastic(p, object.order);
    }
    return std::move(p.out);
}

} // namespace st
