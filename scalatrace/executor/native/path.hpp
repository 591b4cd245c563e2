/* path.hpp - the longest path: which calls of which ranks determined when the run ended.
 *
 *   rank 0   --- call 3 --- call 4 (send) ..
 *                                          \ hop: 4 -> 7
 *   rank 1   -------------------------------- call 7 (recv) --- call 8 --- end
 *
 * The first run keeps the hops: a call of a rank that ended when something of another rank (or an earlier call of its
 * own) allowed it. From the end they are followed back. The second run adds up the times of the calls on that path:
 * their sum is the time of the run.
 */
#ifndef ST_SIM_PATH_HPP
#define ST_SIM_PATH_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sim {

struct Origin { /* of a wait: a point in a call of a rank */
    int32_t rank = -1;
    int64_t call = 0;
    int64_t at = 0; /* ps */
};

class PathFinder {
  public:
    explicit PathFinder(int32_t nranks)
        : hops_(static_cast<std::size_t>(nranks)), stretches_(static_cast<std::size_t>(nranks)) {}

    /* A call of a rank waited for an origin; a later wait of the same call replaces it. */
    void hop(int32_t rank, int64_t call, const Origin &origin);
    /* Follow the hops back from the end of a rank. */
    void trace_back(int32_t rank, int64_t calls);
    /* Write the origins into `causes` of a result, in which the calls of each rank begin at `at`. */
    void write_causes(const int64_t *at, int64_t *causes) const;
    bool found() const { return found_; }

    /* Second run: a call of a rank, its node, and times when it began, after its computation, and when it ended. */
    void add(int32_t rank, int64_t call, int32_t node, int64_t began, int64_t computed, int64_t ended,
             int64_t *by_node);

  private:
    struct Hop {
        int64_t call;
        Origin origin;
    };
    struct Stretch { /* calls of a rank on the path, from a hop's call (-1: the start) to the last one */
        int64_t first, last;
        int64_t from;  /* ps: origin of the hop into the first call */
        int64_t until; /* ps: point in the last call at which the path leaves */
    };

    std::vector<std::vector<Hop>> hops_;
    std::vector<std::vector<Stretch>> stretches_; /* of each rank, the last first */
    bool found_ = false;
};

} // namespace sim
#endif
