/* node.hpp - the tree: a node is (repeat, content), content an event (RSD) or a sequence of nodes (PRSD) (§2.2).
 *
 *        sequence, repeat 1000            each event holds its own values in the order it ran:
 *        |-- Irecv    repeat 4              Irecv.source = 4000 values = 1000 x {-1, 1, -4, 4}
 *        |-- Isend    repeat 4
 *        `-- Waitall  repeat 1, 0, 1, 0 ... an event that some iterations skip has repeat 0 there
 *
 * In the queue, a node is `count` consecutive executions. As a child, it has a value of `repeat` for each execution of
 * its parent's body. Matching compares operations and stack signatures only; parameters go into value vectors.
 *
 * An event's values pass through three forms, since most nodes of unfinished iterations are short-lived:
 *
 *     rows      one row of integers per execution        slots[i]   one elastic value per parameter;
 *     samples   the statistics of each execution         stats      a peer has one per encoding
 *               while they are few (raw)        ----->              histograms per predecessor and statistic
 */
#ifndef ST_NODE_HPP
#define ST_NODE_HPP

#include "tree/hash.hpp"
#include "values/elastic.hpp"
#include "values/histogram.hpp"

#include <bit>
#include <forward_list>
#include <memory>
#include <string>
#include <vector>

#include "st_core.h"

namespace st {

constexpr int kEncodings = 4; // of a peer: absolute, relative, relative modulo size, exclusive-or

/* Elastic values of a parameter of this kind. */
constexpr size_t slots_of(int kind) { return kind == ST_PEER ? kEncodings : 1; }
/* Is its value the name of an entry of a table, which cannot be averaged as arrays can? */
constexpr bool is_table(int kind) { return kind == ST_COMM || kind == ST_TYPE || kind == ST_STRING; }

/* An operation: its name and recorded parameters. */
struct OpSchema {
    std::string name;
    std::vector<std::string> params;
    std::vector<int> kinds;
    std::vector<int32_t> limits; // by parameter: terms above which values become a histogram; 0: none; -1: not recorded
    uint64_t hash = 0;           // of the name: equal on all ranks, unlike the operation's number
    bool communicates = false;   // do calls with several ranks move data between them, or synchronise them?
    int turn_at = -1;            // of a collective operation: its parameter `comm`; -1: none
    int object_at = -1;          // of a call on a window or file: this parameter, and ...
    int object_comm_at = -1;     // ... the communicator that it was made on
    bool is_file = false;
    bool overlaps = false; // may threads make this call at the same time on one object?
    size_t nslots = 0;     // elastic values of an event: kEncodings for each peer, one for any other parameter

    explicit OpSchema(std::string name_);
    void add(std::string param, int kind, int32_t limit);
};

/* The samples of one event after one predecessor: a histogram per statistic, null: no sample. */
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

/* The statistics of one execution. */
struct Sample {
    uint64_t pred;
    size_t nvalues;       // number of statistics
    const double *values; // NaN: none
};

/* The statistics of a few executions in one array: predecessor, number of values, values; the next execution's, ... */
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
    Node *next_free = nullptr; // in the pool's list
    uint64_t shape = 0;        // hash of the structure: nodes of equal shape can be merged child by child
    uint64_t first = 0;        // key of the first event below
    uint64_t last = 0;         // key of the last one
    uint64_t count = 0;        // consecutive executions, while it is in the queue or is matched
    uint64_t runs = 0;         // executions of the content in all
    uint32_t nleaves = 1;      // number of events below
    bool skipped = false;      // is some repeat 0? Then the queue's cursor may pass over it
    bool multiple = false;     // is some repeat above 1?
    bool transient = false;    // is it part of an unfinished iteration, and so soon appended to another node?
    bool raw = true;           // of an event: are its values in `rows` rather than `slots`?
    std::vector<Node *> kids;  // of a sequence; owned

    // of an event
    uint32_t op = 0;
    uint32_t nslots = 0;
    uint64_t signature = 0;
    std::vector<int64_t> rows;    // values of the first executions, `nslots` for each
    Samples samples;              // statistics of the first executions
    std::vector<PredStats> stats; // their histograms
    std::vector<Elastic> slots;   // value vectors by parameter

    Elastic repeat; // a value each time the parent's content ran
    RankSet ranks;  // participants (from the inter-node merge on)

    static constexpr size_t kMaxSamples = 80; // executions whose statistics are kept as they are

    bool leaf() const { return kids.empty(); }
};

/* Key of an event. Events match when their keys are equal. Keys are odd, shapes of sequences even. */
inline uint64_t event_key(uint64_t op_hash, uint64_t signature) { return mix_key(signature * 1021 + op_hash) | 1; }

/* Owns nodes, and reuses released ones with their memory: once loops are found, appending allocates nothing. Trees only
 * refer to nodes, so that they may be left in any state when memory runs out. */
class NodePool {
  public:
    NodePool() = default;
    NodePool(const NodePool &) = delete;
    NodePool &operator=(const NodePool &) = delete;

    Node *make();
    void clear();                           // frees all nodes
    void release(Node *node);               // with all nodes below
    void release_shell(Node *node);         // without its children
    Node *clone_shape(const Node *node);    // same structure, no values
    Node *clone(const Node *node);          // everything
    std::unique_ptr<Histogram> histogram(); // an empty histogram

  private:
    static constexpr size_t kMaxSpareHistograms = 128;

    std::unique_ptr<Histogram> spare_histograms_[kMaxSpareHistograms];
    size_t nspare_histograms_ = 0;
    std::forward_list<Node> nodes_;
    Node *free_ = nullptr; // list through Node::next_free: releasing a node allocates nothing
};

/* Return a new node of one execution of an event, without values and samples. */
Node *make_event(NodePool &pool, uint64_t key, uint32_t op, uint64_t signature, size_t nslots);
/* Return a new sequence of these nodes. update_shape sets its shape, first, last and nleaves from its children. */
Node *make_sequence(NodePool &pool, std::vector<Node *> &&kids);
void update_shape(Node *sequence);
/* Remove the nodes that never ran: an unfinished iteration has the shape of whole ones (clone_shape). */
void remove_unused(NodePool &pool, std::vector<Node *> &body);

/* Append the values of executions, a row of `nslots` integers for each. open_rows moves all rows into value vectors. */
void append_rows(Node *into, const int64_t *rows, size_t nrows);
void open_rows(Node *event);

void add_sample(NodePool &pool, Node *into, const Sample &sample);
/* Move the samples that are kept as they are into histograms. */
void samples_to_histograms(NodePool &pool, Node *node);
/* Add the samples of `from` to `into`. */
void merge_stats(NodePool &pool, Node *into, Node *from);
/* Append the values and merge the statistics of the same event on the same rank, which ran later. Repeats are left. */
void append_event(NodePool &pool, Node *into, Node *from);

size_t tree_bytes(const Node *node);

} // namespace st
#endif
