/* core.hpp - everything one core holds: schemas, tables, the queue, and after finish() the tree of the ranks merged
 * so far. */
#ifndef ST_CORE_HPP
#define ST_CORE_HPP

#include "core/flatlog.hpp"
#include "values/loads.hpp"
#include "fold/queue.hpp"
#include "tree/similar.hpp"
#include "tree/tables.hpp"

#include <map>
#include <memory>
#include <string>

namespace st {

constexpr int kPackVersion = 5;

/* What a message or a part brings to a core; its nodes are of the core's pool. */
struct Incoming {
    int rank = 0, nprocs = 1;
    uint64_t nevents = 0;
    std::map<std::string, std::string> meta;
    std::map<std::string, uint64_t> counts;
    bool same_ops = false; // its operations have the core's numbers; then `ops` is empty
    std::vector<OpSchema> ops;
    std::vector<std::pair<std::string, double>> stats;
    Tables tables; // without what the core has
    RankSet ranks;
    Loads loads;
    Body roots;
    NodePool &pool;

    explicit Incoming(NodePool &pool_) : pool(pool_) {}
    ~Incoming();
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
    st::Queue queue{pool, order};
    std::map<std::string, std::string> meta;
    std::map<std::string, uint64_t> counts;
    uint64_t nevents = 0;
    uint64_t last_key = 0; // of the event before: its predecessor
    std::unique_ptr<st::FlatLog> flatlog;
    std::map<std::string, int32_t> limits; // what is asked for parameters, by "op.parameter" or "parameter"
    st::Similar similar;
    bool loop_agnostic = true;
    size_t narrays = 0; // in the table after the event before
    std::string error;
    bool untrusted = false; // made of a part file, which may claim any number of values
    bool broken = false;    // memory ran out in the middle of a change: nothing here can be relied on

    // after finish()
    st::Body roots;
    st::RankSet ranks;
    st::Loads loads; // of the ranks in order: totals of the first stat (computation)

    st_core(int rank_, int nprocs_);
    ~st_core();

    int define_op(const char *name, int nparams, const char *const *names, const int *kinds);
    int32_t limit_of(const std::string &op, const std::string &param, int kind) const;
    int find_op(const std::string &name) const;
    void append(const st_event &event);
    void finish();
    /* A finished core with the same past; this one goes on as if nothing had been asked. */
    std::unique_ptr<st_core> snapshot();
    void merge(st::Incoming &&other);
    /* Become what comes in; this core has nothing yet. */
    void adopt(st::Incoming &&other);
    void abandon();

  private:
    void add_tail(st::Body tail);
    std::vector<uint32_t> numbers(const std::vector<st::OpSchema> &others);
    void renumber(st::Incoming &other);
    void add(const st::RankSet &of, const st::Loads &theirs);
};

#endif
