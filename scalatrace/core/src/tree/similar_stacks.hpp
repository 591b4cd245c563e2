/* similar_stacks.hpp - approximate stack signatures (§5.2.3): call sites a few lines or bytes apart count as one.
 *
 *     tolerance 2      app.py:12:step  app.py:40:main      represents itself: the first one
 *                      app.py:14:step  app.py:40:main      represented by the first one
 *                      app.py:15:step  app.py:40:main      represents itself: line 15 is too far from line 12
 *
 * A signature is represented by the first similar one: as many frames, in the same functions, no line (module offset)
 * further away than the tolerance. Frames in a range that the user named are equal, whatever their line.
 */
#ifndef ST_SIMILAR_STACKS_HPP
#define ST_SIMILAR_STACKS_HPP

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
    bool native = false; // is the number an offset?
    explicit Site(const std::string &frame);
};

/* Lines (offsets) of a file that count as one call site. */
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
    /* Return the name of the signature that represents this one; its own when it is the first. */
    uint64_t representative(uint64_t name, const Frames &frames);
    /* Return the text that is recorded for a frame: where it is in a range of the user, the range's. */
    std::string recorded_frame(const std::string &frame) const;

  private:
    struct Known { // a representative
        uint64_t name;
        std::vector<uint64_t> numbers;
    };
    std::unordered_map<uint64_t, std::vector<Known>> by_functions_; // hash of the frames without their numbers
};

} // namespace st
#endif
