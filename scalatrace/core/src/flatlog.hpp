/* flatlog.hpp - every event as a line of text, past the compressor: what verification compares with (docs/format.md). */
#ifndef ST_FLATLOG_HPP
#define ST_FLATLOG_HPP

#include "st_core.h"

#include <cstdio>
#include <string>
#include <unordered_map>
#include <vector>

namespace st {

struct OpSchema;

class FlatLog {
  public:
    FlatLog(FILE *file, std::string path, int rank, int nprocs);
    ~FlatLog();
    FlatLog(const FlatLog &) = delete;
    FlatLog &operator=(const FlatLog &) = delete;

    void event(const st_core &core, const st_event &e);
    /* What was logged so far is in the file when this process dies. */
    void flush() { std::fflush(file_); }
    /* Write the end line and close; false when something could not be written. */
    bool close();
    const std::string &path() const { return path_; }

  private:
    FILE *file_;
    std::string path_;
    std::string line_;
    uint64_t nevents_ = 0;
    std::vector<bool> seen_ops_;
    std::unordered_map<uint64_t, unsigned> signatures_, comms_, types_; // name -> this file's number

    void define_op(const OpSchema &op, size_t number);
    unsigned signature(const st_core &core, uint64_t name);
    unsigned comm(const st_core &core, uint64_t name);
    unsigned type(const st_core &core, uint64_t name);
    void value(const st_core &core, int kind, int64_t v);
};

} // namespace st
#endif
