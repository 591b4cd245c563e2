/* core.hpp - the state of one core: schemas, tables, the queue, and after finish() the tree of all ranks merged so far.
 *
 *     st_core_append --> queue  ==finish()==>  roots   <==merge()==  Incoming  <--unpack-- bytes of another core
 *          |              (fold/)                |        (merge/)
 *          `--> flat log                         |--> pack: bytes for the parent rank, or a part file
 *                                                `--> payload: the trace file
 *
 * Each stream, that is thread, has a queue and roots of its own. Streams of one number are merged.
 */
#ifndef ST_CORE_HPP
#define ST_CORE_HPP

#include "core/flatlog.hpp"
#include "values/loads.hpp"
#include "fold/queue.hpp"
#include "core/turns.hpp"
#include "core/uses.hpp"
#include "tree/similar_stacks.hpp"
#include "tree/tables.hpp"

#include <map>
#include <deque>
#include <memory>
#include <string>

namespace st {

constexpr int kPackVersion = 7; // of the bytes in pack.hpp

/* Is a statistic of this name a time, in nanoseconds? */
inline bool is_time(const std::string &statistic) { return statistic == "compute_ns" || statistic == "comm_ns"; }

/* An unpacked message or part, which is merged into a core; its nodes belong to the core's pool. */
struct Incoming {
    int rank = 0, nprocs = 1;
    uint64_t nevents = 0;
    std::map<std::string, std::string> meta;
    std::map<std::string, uint64_t> counts;
    bool same_ops = false; // have its operations the core's numbers? Then `ops` is empty
    std::vector<OpSchema> ops;
    std::vector<std::pair<std::string, double>> stats;
    Tables tables; // without the entries that the core has
    RankSet ranks;
    RankTotals totals;
    std::vector<Body> roots; // of each stream
    std::map<uint64_t, Shared> shared;
    std::map<UseName, Shared> used;
    NodePool &pool;

    explicit Incoming(NodePool &pool_) : pool(pool_) {}
    ~Incoming();
};

constexpr uint32_t kMaxStreams = uint32_t{1} << 20;

/* The events of one thread that are not finished yet. */
struct Stream {
    Queue queue;
    uint64_t last_key = 0; // key of the last event, the next one's predecessor

    Stream(NodePool &pool, CodeOrder &order) : queue(pool, order) {}
};

} // namespace st

struct st_core {
    int rank;
    int nprocs;
    st::NodePool pool;
    std::vector<st::OpSchema> ops;
    std::vector<std::pair<std::string, double>> stats; // name, resolution
    st::Tables tables;
    st::CodeOrder order{tables};
    st::Stream first{pool, order}; // of thread 0
    std::deque<st::Stream> others; // of threads 1, 2, ...
    std::map<std::string, std::string> meta;
    std::map<std::string, uint64_t> counts;
    uint64_t nevents = 0;
    std::unique_ptr<st::FlatLog> flatlog;
    std::map<std::string, int32_t> limits; // limits of parameters, by "operation.parameter" or "parameter"
    st::Similar similar;
    bool loop_agnostic = true;
    bool fold_recursion = true;
    uint32_t thread_limit = 1; // events have threads below it
    st::Turns turns;           // of this rank, where they may
    st::Uses uses;             // likewise
    st::RunningTotals running; // of this rank
    st::RunningTotals added;   // as they were when `totals` got those of this rank
    size_t narrays = 0;        // arrays in the table after the last event
    std::string error;
    bool untrusted = false; // was it read from a part file, which may claim any number of values?
    bool broken = false;    // did memory run out in a change? Then nodes or tables may be inconsistent

    // after finish()
    std::vector<st::Body> roots{1};         // of each stream
    std::map<uint64_t, st::Shared> shared;  // communicators on which several threads of a rank make collective calls
    std::map<st::UseName, st::Shared> used; // persistent requests, windows and files that several threads use
    st::RankSet ranks;
    st::RankTotals totals;

    st_core(int rank_, int nprocs_);

    int define_op(const char *name, int nparams, const char *const *names, const int *kinds);
    int32_t limit_of(const std::string &op, const std::string &param, int kind) const;
    int find_op(const std::string &name) const;
    st::Stream &stream(uint32_t thread) { return __builtin_expect(!thread, 1) ? first : later_stream(thread); }
    /* f(stream, its number) for each one. */
    template <class F> void each_stream(F f) {
        f(first, size_t{0});
        for (size_t i = 0; i < others.size(); ++i) f(others[i], i + 1);
    }
    bool has_streams() const { return roots.size() > 1; }
    /* The finished nodes of all streams. */
    st::Body all_roots() const;
    void append(const st_event &event);
    void finish();
    /* Return a finished copy; this core is unchanged. */
    std::unique_ptr<st_core> snapshot();
    std::string obstacle(const st::Incoming &other) const;
    void merge(st::Incoming &&other);
    /* Take over the content; this core has none yet. */
    void adopt(st::Incoming &&other);
    /* Free the nodes, which may be inconsistent, and answer ST_E_MEMORY from now on. */
    void abandon();

  private:
    st::Stream &later_stream(uint32_t thread);
    void add_tails(std::vector<st::Body> tails);
    void share_objects();
    void note_order(const st::OpSchema &op, const st_event &e);
    std::vector<uint32_t> numbers(const std::vector<st::OpSchema> &others);
    void renumber(st::Incoming &other);
    void add(const st::RankSet &of, const st::RankTotals &theirs);
};

#endif
