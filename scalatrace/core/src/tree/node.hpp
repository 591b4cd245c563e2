/* node.hpp - the tree: a node is (repeat, content), content an event (RSD) or a sequence of nodes (PRSD).
 *
 *        sequence, repeat 1000            each event holds its own values in the order it ran:
 *        |-- Irecv    repeat 4              Irecv.source = 4000 values = 1000 x {-1, 1, -4, 4}
 *        |-- Isend    repeat 4
 *        `-- Waitall  repeat 1, 0, 1, 0 ... an event some iterations skip has repeat 0 there
 *
 * In the queue a node is one stretch of the past (`count` executions); as a child it has a `repeat` value for each
 * time its parent's body ran. Matching looks at operation and stack signature only; parameters go into value
 * vectors. */
#ifndef ST_NODE_HPP
#define ST_NODE_HPP

#include "tree/hash.hpp"
#include "values/elastic.hpp"
#include "values/histogram.hpp"

#include <bit>
#include <memory>
#include <string>
#include <vector>

#include "st_core.h"

namespace st {

constexpr int kEncodings = 4; // of a peer: absolute, relative, relative modulo size, exclusive-or

struct OpSchema {
    std::string name;
    std::vector<std::string> params;
    std::vector<int> kinds;
    std::vector<int32_t> limits; // by parameter: terms kept before values become a histogram; 0: all; -1: not recorded
    uint64_t hash = 0;           // of the name: the same on every rank, whatever the numbers
    size_t nslots = 0;           // value vectors an event has: kEncodings for each peer, one for every other parameter

    explicit OpSchema(std::string name_);
    void add(std::string param, int kind, int32_t limit);
};

/* The samples of one event after one predecessor: a histogram per stat, made when the stat's first sample comes. */
struct PredStats {
    uint64_t pred = 0; // key of the predecessor event, 0 at the start
    std::unique_ptr<Histogram> hist[ST_MAX_STATS];

    PredStats() = default;
    PredStats(const PredStats &o) : pred(o.pred) {
        for (int i = 0; i < ST_MAX_STATS; ++i)
            if (o.hist[i]) hist[i].reset(new Histogram(*o.hist[i]));
    }
    PredStats(PredStats &&) noexcept = default;
    PredStats &operator=(PredStats &&) noexcept = default;
    PredStats &operator=(const PredStats &o) { return *this = PredStats(o); }
};

/* One execution's samples; the first few of a node are kept as they are. */
struct Sample {
    uint64_t pred;
    size_t nvalues;       // stats there are
    const double *values; // NaN: none
};

/* The samples of a few executions, one behind the other: predecessor, number of values, values. */
class Samples {
  public:
    size_t size() const { return n_; }
    bool empty() const { return n_ == 0; }
    void add(const Sample &s) {
        words_.push_back(s.pred);
        words_.push_back(s.nvalues);
        for (size_t i = 0; i < s.nvalues; ++i) words_.push_back(std::bit_cast<uint64_t>(s.values[i]));
        ++n_;
    }
    void add(const Samples &o) {
        words_.insert(words_.end(), o.words_.begin(), o.words_.end());
        n_ += o.n_;
    }
    void clear() {
        words_.clear();
        n_ = 0;
    }
    template <class F> void each(F f) const { // f(sample) in order
        double values[ST_MAX_STATS];
        for (size_t at = 0; at < words_.size();) {
            const Sample s{words_[at], words_[at + 1], values};
            for (size_t i = 0; i < s.nvalues; ++i) values[i] = std::bit_cast<double>(words_[at + 2 + i]);
            at += 2 + s.nvalues;
            f(s);
        }
    }
    size_t nbytes() const { return words_.capacity() * sizeof(uint64_t); }

  private:
    size_t n_ = 0;
    std::vector<uint64_t> words_;
};

struct Node {
    Node *next_free = nullptr; // in the pool
    uint64_t shape = 0;        // hash of the structure below: equal shapes can be merged child by child
    uint64_t first = 0;        // key of the first event below
    uint64_t last = 0;         // key of the last one
    uint64_t count = 0;        // executions of this stretch, while it stands in the queue or is being matched
    uint64_t runs = 0;         // executions of the content so far, all stretches together
    uint32_t nleaves = 1;      // events below
    bool skipped = false;      // some repeat is 0: the cursor may pass over it
    bool multiple = false;     // some repeat is over 1
    bool transient = false;    // of an iteration that is not over: it is appended to another node soon
    bool raw = true;           // of an event: its values are in `rows`, none are in `slots`
    std::vector<Node *> kids;  // of a sequence; owned

    // of an event
    uint32_t op = 0;
    uint32_t nslots = 0;
    uint64_t signature = 0;
    std::vector<int64_t> rows;    // values of a few executions as they came, `nslots` for each; then ...
    Samples samples;              // up to kMaxSamples executions, then ...
    std::vector<PredStats> stats; // ... histograms
    std::vector<Elastic> slots;   // ... value vectors by parameter

    Elastic repeat; // a value each time the parent's content ran
    RankSet ranks;  // participants (from the inter-node merge on)

    static constexpr size_t kMaxSamples = 80;

    bool leaf() const { return kids.empty(); }
};

/* What two events must share to match. */
inline uint64_t event_key(uint64_t op_hash, uint64_t signature) { return mix_key(signature * 1021 + op_hash) | 1; }

/* Makes nodes and takes them back; memory is reused, so the steady state allocates nothing. */
class NodePool {
  public:
    NodePool() = default;
    NodePool(const NodePool &) = delete;
    NodePool &operator=(const NodePool &) = delete;
    ~NodePool();

    Node *make();
    void release(Node *node);               // with everything below
    void release_shell(Node *node);         // without its children
    Node *clone_shape(const Node *node);    // same structure, no values
    Node *clone(const Node *node);          // everything
    std::unique_ptr<Histogram> histogram(); // an empty one

  private:
    static constexpr size_t kMaxSpareHistograms = 128;

    std::unique_ptr<Histogram> spare_histograms_[kMaxSpareHistograms];
    size_t nspare_histograms_ = 0;
    Node *free_ = nullptr; // chained by Node::next_free: giving a node back allocates nothing
};

/* A sequence of these nodes, which become its children; shape, first, last and nleaves are set. */
Node *make_sequence(NodePool &pool, std::vector<Node *> &&kids);
void update_shape(Node *sequence);

/* Append the values of executions, a row of `nslots` for each; or put those that are kept as rows into value
 * vectors. */
void append_rows(Node *into, const int64_t *rows, size_t nrows);
void open_rows(Node *event);

void add_sample(NodePool &pool, Node *into, const Sample &sample);
/* Put the samples kept so far into histograms. */
void samples_to_histograms(NodePool &pool, Node *node);
/* Add the samples of `from` to `into`. */
void merge_stats(NodePool &pool, Node *into, Node *from);
/* Both events ran on the same rank, `from` after `into`: values are appended, stats merged. Not the repeat. */
void append_event(NodePool &pool, Node *into, Node *from);

size_t tree_bytes(const Node *node);

} // namespace st
#endif
