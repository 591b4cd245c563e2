/* core.hpp - everything one core holds: schemas, tables, the queue, and after finish() the tree of the ranks merged so far. */
#ifndef ST_CORE_HPP
#define ST_CORE_HPP

#include "flatlog.hpp"
#include "queue.hpp"
#include "similar.hpp"
#include "tables.hpp"

#include <map>
#include <memory>
#include <string>

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
    bool broken = false; // memory ran out in the middle of a change: nothing here can be relied on

    // after finish()
    st::Body roots;
    st::RankSet ranks;
    std::vector<std::pair<int32_t, float>> load; // rank and its total of the first stat (computation), by rank

    st_core(int rank_, int nprocs_);
    ~st_core();

    int define_op(const char *name, int nparams, const char *const *names, const int *kinds);
    int32_t limit_of(const std::string &op, const std::string &param, int kind) const;
    int find_op(const std::string &name) const;
    void append(const st_event &event);
    void finish();
    /* A finished core with the same past; this one goes on as if nothing had been asked. */
    std::unique_ptr<st_core> snapshot();
    void merge(st_core &&other);
    void abandon();

  private:
    void own_tail(st::Body tail);
    void renumber(st_core &other, const std::vector<uint32_t> &op_numbers);
};

namespace st {

/* The core as bytes and back, with everything the merge needs (all peer encodings, whole histograms). */
std::string pack_core(const st_core &core);
std::unique_ptr<st_core> unpack_core(const void *data, size_t nbytes); // throws FormatError

/* The payload of a trace file (docs/format.md). */
std::string trace_payload(const st_core &core);

/* Header, payload (deflated when that is smaller) and checksum to `path`, aside and then renamed. Empty or what went wrong. */
std::string write_container(const std::string &path, const std::string &payload, bool part, bool compress);
/* The payload of a part file; throws FormatError. */
std::string read_container(const std::string &path);

} // namespace st
#endif
