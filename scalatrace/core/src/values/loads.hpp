/* loads.hpp - the total of a statistic of each rank of a set, in memory that depends on how many different values
 * there are.
 *
 *     ranks in order      0      1      2      3      4      5
 *     totals              1.00   1.01   0.99   2.50   2.51   1.00
 *     runs                3 x [0.99, 1.01]     2 x [2.5, 2.51]   1 x 1.00
 *
 * Every merge message has them, and a file stores them in steps of 4.4 % (payload.cpp). So consecutive ranks whose
 * totals are within 2.3 to 4.7 % are one run; each of its ranks counts with the middle of the run's range. Together
 * the total of a rank is off by at most 5 %. Limits are the upper halves of floats, whose order as integers is the
 * order of the floats.
 */
#ifndef ST_LOADS_HPP
#define ST_LOADS_HPP

#include "io/msgpack.hpp"
#include "values/ranks.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace st {

class Loads {
  public:
    uint64_t size() const; // ranks
    /* Add `count` ranks behind all others. */
    void append(uint64_t count, double total) {
        sum_ += static_cast<double>(count) * total;
        push({count, bits(total), bits(total)});
    }
    double sum() const { return sum_; } // exactly, of all totals
    /* Add other ranks. `mine`, `theirs`: the ranks of both, none in common. */
    void unite(const RankSet &mine, const Loads &other, const RankSet &theirs);
    /* Increase the total of the rank at this position. */
    void add(uint64_t position, double more);

    template <class F> void each(F f) const { // f(number of ranks, total of each)
        for (const Run &run : runs_) f(run.count, run.total());
    }

    void pack(BytePacker &p) const;
    static Loads unpack(Unpacker &in);

  private:
    struct Run {
        uint64_t count;
        uint16_t low, high; // upper halves of floats

        double total() const {
            return std::bit_cast<float>((uint32_t{low} + uint32_t{high}) << 15); // the middle of both
        }
    };
    std::vector<Run> runs_;
    double sum_ = 0;

    static uint16_t bits(double total);
    void push(const Run &run);
};

constexpr size_t kLoads = 2; // statistics whose totals are kept: computation, time in calls
using AllLoads = std::array<Loads, kLoads>;

/* Totals of one rank as its events come, and between its first and its last communicating call:
 *
 *     start-up, with the computation before the call | first call ... last call | shut-down
 *                                                     ^ first_                   ^ last_
 */
class RunningTotals {
  public:
    /* Samples of an event; n: statistics. */
    void add(const double *samples, size_t n, bool communicates);
    double between(size_t stat) const { return last_[stat] - first_[stat]; }
    uint64_t ncommunicating() const { return ncommunicating_; }

  private:
    std::array<double, kLoads> now_{}, first_{}, last_{};
    uint64_t ncommunicating_ = 0;
};

/* Totals of the ranks of a set: of the whole run, and between start-up and shut-down. */
struct RankTotals {
    AllLoads whole, between;
    uint64_t ncommunicating = 0; // calls of all ranks

    void append(const std::array<double, kLoads> &whole_run, const RunningTotals &running);
    /* Increase the totals of the rank at this position. `before`: its running totals when it was appended. */
    void add(uint64_t position, const std::array<double, kLoads> &more, const RunningTotals &before,
             const RunningTotals &now);
    void unite(const RankSet &mine, const RankTotals &other, const RankSet &theirs);
    bool has_sizes(uint64_t nranks) const;
    /* Do the ranks communicate at more than one point, so that there is something between start-up and shut-down? */
    bool has_phases(uint64_t nranks) const;
    const AllLoads &shown(uint64_t nranks) const { return has_phases(nranks) ? between : whole; }

    void pack(BytePacker &p) const;
    static RankTotals unpack(Unpacker &in);
};

} // namespace st
#endif
