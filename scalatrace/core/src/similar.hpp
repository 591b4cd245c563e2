/* similar.hpp - approximate stack signatures (§5.2.3): call sites a few lines or bytes apart count as one.
 *
 * Each signature is represented by the first one met that is close to it: as many frames, in the same functions, no line number (or
 * module offset) further away than the tolerance. Frames in a range that the user named are equal whatever their line. */
#ifndef ST_SIMILAR_HPP
#define ST_SIMILAR_HPP

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace st {

using Frames = std::vector<std::string>;

/* "app.py:12:main" -> "app.py:", 12, ":main"; "libx.so+0x1f" -> "libx.so+0x", 31, "". */
struct Site {
    std::string before, after;
    uint64_t number = 0;
    bool native = false; // the number is an offset
    explicit Site(const std::string &frame);
};

struct SiteRange {
    std::string file; // what the frame's file ends with
    uint64_t low, high;
    bool has(const Site &site) const;
};

class Similar {
  public:
    uint64_t tolerance = 0;
    std::vector<SiteRange> ranges;

    bool active() const { return tolerance || !ranges.empty(); }
    /* The name that represents a signature; its own when it is the first of its kind. */
    uint64_t representative(uint64_t name, const Frames &frames);
    /* The frame as it is recorded. */
    std::string widened(const std::string &frame) const;

  private:
    struct Known {
        uint64_t name;
        std::vector<uint64_t> numbers;
    };
    std::unordered_map<uint64_t, std::vector<Known>> by_functions_; // hash of the frames without their numbers
};

} // namespace st
#endif
