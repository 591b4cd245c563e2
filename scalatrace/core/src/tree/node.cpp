/* node.cpp - allocate nodes, and append values and statistics to events.
 *
 * Released nodes keep the memory of their vectors. An event begins with rows and samples, which are plain arrays; when
 * these exceed their limits, rows are transposed into one value vector per parameter, samples into histograms:
 *
 *     rows      count  dest  tag            slots[0]  count  8 8 8
 *               8      1     0    ---->     slots[1]  dest   1 2 3
 *               8      2     0              slots[2]  tag    0 0 0
 *               8      3     0
 */
#include "tree/node.hpp"

#include <cmath>
#include <utility>

namespace st {

OpSchema::OpSchema(std::string name_) : name(std::move(name_)), hash(hash_bytes(name.data(), name.size(), 7)) {}

void OpSchema::add(std::string param, int kind, int32_t limit) {
    params.push_back(std::move(param));
    kinds.push_back(kind);
    limits.push_back(limit);
    nslots += slots_of(kind);
}

namespace {
constexpr size_t kMaxRawValues = 128;        // integers that an event keeps as rows
constexpr size_t kMaxTransientValues = 4096; // the same in an unfinished iteration
} // namespace

Node *NodePool::make() { return free_ ? std::exchange(free_, free_->next_free) : &nodes_.emplace_front(); }

void NodePool::clear() {
    free_ = nullptr;
    nodes_.clear();
}

std::unique_ptr<Histogram> NodePool::histogram() {
    if (!nspare_histograms_) return std::unique_ptr<Histogram>(new Histogram);
    std::unique_ptr<Histogram> h = std::move(spare_histograms_[--nspare_histograms_]);
    h->clear();
    return h;
}

/* Reset what clone and make do not set, and keep memory. */
void NodePool::release_shell(Node *n) {
    n->kids.clear();
    for (PredStats &s : n->stats)
        for (auto &h : s.hist)
            if (h && nspare_histograms_ < kMaxSpareHistograms) spare_histograms_[nspare_histograms_++] = std::move(h);
    n->stats.clear();
    n->samples.clear();
    if (!n->raw)
        for (Elastic &e : n->slots) e.reset();
    n->raw = true;
    n->transient = false;
    n->rows.clear();
    n->repeat.reset();
    if (!n->ranks.empty()) n->ranks = RankSet();
    n->count = n->runs = 0;
    n->nleaves = 1;
    n->skipped = n->multiple = false;
    n->next_free = std::exchange(free_, n);
}

void NodePool::release(Node *n) {
    for (Node *kid : n->kids) release(kid);
    release_shell(n);
}

/* The copy is one iteration of the node, which is pending in the queue: it is transient. */
Node *NodePool::clone_shape(const Node *n) {
    Node *c = make();
    c->shape = n->shape;
    c->first = n->first;
    c->last = n->last;
    c->nleaves = n->nleaves;
    c->skipped = n->skipped;
    c->multiple = n->multiple;
    c->op = n->op;
    c->signature = n->signature;
    c->nslots = n->nslots;
    c->transient = true;
    c->repeat.vec.keep_values();
    for (const Node *kid : n->kids) c->kids.push_back(clone_shape(kid));
    return c;
}

Node *NodePool::clone(const Node *n) {
    Node *c = make();
    *c = *n;
    c->kids.clear();
    for (const Node *kid : n->kids) c->kids.push_back(clone(kid));
    return c;
}

void update_shape(Node *s) {
    s->first = s->kids.front()->first;
    s->last = s->kids.back()->last;
    s->nleaves = 0;
    uint64_t h = 0x5bd1e995;
    for (const Node *kid : s->kids) {
        h = mix_key(h * 31 + kid->shape);
        s->nleaves += kid->nleaves;
    }
    s->shape = h & ~uint64_t{1}; // events have odd shapes, sequences even ones
}

/* A sequence of one node that runs once each time is that node. */
static Node *unwrapped(NodePool &pool, Node *s) {
    Node *kid = s->kids.front();
    if (s->kids.size() > 1 || !kid->repeat.vec.constant() || kid->repeat.vec.first() != 1) return s;
    kid->repeat = std::move(s->repeat);
    kid->count = s->count;
    kid->transient = s->transient;
    pool.release_shell(s);
    return kid;
}

void remove_unused(NodePool &pool, std::vector<Node *> &body) {
    size_t used = 0;
    for (Node *n : body) {
        const size_t before = n->kids.size();
        remove_unused(pool, n->kids);
        if (n->runs == 0 || (before && n->kids.empty())) {
            pool.release(n);
            continue;
        }
        if (!n->leaf()) update_shape(n);
        body[used++] = n->kids.size() < before ? unwrapped(pool, n) : n;
    }
    body.resize(used);
}

Node *make_event(NodePool &pool, uint64_t key, uint32_t op, uint64_t signature, size_t nslots) {
    Node *n = pool.make();
    n->shape = n->first = n->last = key;
    n->op = op;
    n->signature = signature;
    n->count = n->runs = 1;
    n->nslots = static_cast<uint32_t>(nslots);
    return n;
}

Node *make_sequence(NodePool &pool, std::vector<Node *> &&kids) {
    Node *s = pool.make();
    s->kids = std::move(kids);
    s->slots.clear();
    update_shape(s);
    return s;
}

/* The statistics after a predecessor. Events have few predecessors: a linear search. */
static PredStats &stats_after(Node *n, uint64_t pred) {
    for (PredStats &s : n->stats)
        if (s.pred == pred) return s;
    n->stats.emplace_back();
    n->stats.back().pred = pred;
    return n->stats.back();
}

void open_rows(Node *n) {
    if (!n->raw) return;
    n->slots.resize(n->nslots);
    n->raw = false;
    const std::vector<int64_t> rows = std::exchange(n->rows, {});
    if (!rows.empty()) append_rows(n, rows.data(), rows.size() / n->nslots);
}

void append_rows(Node *into, const int64_t *rows, size_t nrows) {
    const size_t n = into->nslots;
    if (into->raw) {
        if (into->rows.size() + nrows * n <= (into->transient ? kMaxTransientValues : kMaxRawValues)) {
            into->rows.insert(into->rows.end(), rows, rows + nrows * n);
            return;
        }
        open_rows(into);
    }
    if (nrows == 1)
        for (size_t i = 0; i < n; ++i) into->slots[i].append(rows[i]);
    else
        for (size_t i = 0; i < n; ++i) into->slots[i].append(rows + i, nrows, n); // column by column
}

/* Add a sample to the histograms; NaN: no sample. */
static void put_sample(NodePool &pool, Node *into, const Sample &sample) {
    PredStats &s = stats_after(into, sample.pred);
    for (size_t i = 0; i < sample.nvalues; ++i) {
        if (std::isnan(sample.values[i])) continue;
        if (!s.hist[i]) s.hist[i] = pool.histogram();
        s.hist[i]->add(sample.values[i]);
    }
}

void samples_to_histograms(NodePool &pool, Node *n) {
    n->samples.each([&pool, n](const Sample &s) { put_sample(pool, n, s); });
    n->samples.clear();
}

void add_sample(NodePool &pool, Node *into, const Sample &sample) {
    if (into->stats.empty() && into->samples.size() < Node::kMaxSamples) {
        into->samples.add(sample);
        return;
    }
    samples_to_histograms(pool, into);
    put_sample(pool, into, sample);
}

void merge_stats(NodePool &pool, Node *into, Node *from) {
    if (into->stats.empty() && into->samples.size() + from->samples.size() <= Node::kMaxSamples)
        into->samples.add(from->samples);
    else
        from->samples.each([&pool, into](const Sample &s) { add_sample(pool, into, s); });
    if (from->stats.empty()) return;
    samples_to_histograms(pool, into);
    for (PredStats &theirs : from->stats) {
        PredStats &mine = stats_after(into, theirs.pred);
        for (int i = 0; i < ST_MAX_STATS; ++i) {
            if (!theirs.hist[i]) continue;
            if (mine.hist[i])
                mine.hist[i]->merge(*theirs.hist[i]);
            else
                mine.hist[i] = std::move(theirs.hist[i]);
        }
    }
}

void append_event(NodePool &pool, Node *into, Node *from) {
    if (from->raw) {
        if (!from->rows.empty()) append_rows(into, from->rows.data(), from->rows.size() / from->nslots);
    } else {
        open_rows(into);
        for (size_t i = 0; i < into->slots.size(); ++i) into->slots[i].append_later(from->slots[i]);
    }
    into->runs += from->runs;
    merge_stats(pool, into, from);
}

/* Approximate: without the allocator's own memory. */
size_t tree_bytes(const Node *n) {
    size_t bytes = sizeof(Node) + n->repeat.nbytes() + n->kids.capacity() * sizeof(Node *) +
                   n->slots.capacity() * sizeof(Elastic) + n->rows.capacity() * sizeof(int64_t) + n->samples.nbytes() +
                   n->stats.capacity() * sizeof(PredStats);
    for (const Elastic &e : n->slots) bytes += e.nbytes();
    for (const PredStats &s : n->stats)
        for (const auto &h : s.hist)
            if (h) bytes += sizeof(Histogram);
    for (const Node *kid : n->kids) bytes += tree_bytes(kid);
    return bytes;
}

} // namespace st
