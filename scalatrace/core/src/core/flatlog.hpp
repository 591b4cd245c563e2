/* flatlog.hpp - every event as a line of text, written before the compressor sees it (docs/reference/format.md).
 *
 *     # scalatrace flat log 1 rank 0 of 4
 *     @O Send count:i dest:p ...              operations, signatures, communicators and datatypes are defined
 *     @S 1 "app.py:12:step" ...               when they first occur, and numbered per file
 *     @H 1                                    the events that follow are of thread 1; at first of thread 0
 *     Send 1 8 3 ...                          an event: operation, signature, values
 *     # end 1 events
 *
 * `scalatrace diff --logs` compares a trace with these logs.
 */
#ifndef ST_FLATLOG_HPP
#define ST_FLATLOG_HPP

#include "io/files.hpp"

#include "st_core.h"

#include <stdio_ext.h>
#include <cstdio>
#include <string>
#include <unordered_map>
#include <vector>

namespace st {

struct OpSchema;
struct Tables;

class FlatLog {
  public:
    FlatLog(File file, std::string path, int rank, int nprocs);
    FlatLog(const FlatLog &) = delete;
    FlatLog &operator=(const FlatLog &) = delete;

    void event(const OpSchema &op, const Tables &tables, const st_event &e);
    /* Write what is buffered, so that it survives the end of this process. */
    void flush() { std::fflush(file_.get()); }
    void forget() { __fpurge(file_.get()); }
    /* Write the end line and close. Return false when something could not be written. */
    bool close();
    const std::string &path() const { return path_; }

  private:
    File file_;
    std::string path_;
    int rank_;
    std::string line_; // kept for its memory
    uint64_t nevents_ = 0;
    uint32_t thread_ = 0;                                               // of the last event
    std::vector<bool> defined_ops_;                                     // by the core's number
    std::unordered_map<uint64_t, unsigned> signatures_, comms_, types_; // name -> number in this file

    /* Define what an event refers to, unless it is defined; return its number. */
    void define_op(const OpSchema &op, size_t number);
    unsigned signature(const Tables &tables, uint64_t name);
    unsigned comm(const Tables &tables, uint64_t name);
    unsigned type(const Tables &tables, uint64_t name);
    void value(const Tables &tables, int kind, int64_t v);
};

} // namespace st
#endif
