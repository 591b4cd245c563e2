/* loads.hpp - how much each of a set of ranks computed, in bytes that depend on how differently, not on how many they are.
 *
 * Every merge carries them, and a file has them in steps of 19 % (payload.cpp). So neighbours that are within 3 to 6 % of each other are one
 * run, whose ranks all have its middle. */
#ifndef ST_LOADS_HPP
#define ST_LOADS_HPP

#include "msgpack.hpp"
#include "ranks.hpp"

#include <bit>
#include <cstdint>
#include <vector>

namespace st {

class Loads {
  public:
    uint64_t size() const; // ranks
    /* Totals of ranks that come behind all others here. */
    void append(uint64_t count, double total) { push({count, bits(total), bits(total)}); }
    /* `mine` and `theirs` are the ranks of both, none in common. */
    void unite(const RankSet &mine, const Loads &other, const RankSet &theirs);
    /* More for the rank at this position. */
    void add(uint64_t position, double more);

    template <class F> void each(F f) const { // f(number of ranks, total of each)
        for (const Run &run : runs_) f(run.count, run.total());
    }

    void pack(BytePacker &p) const;
    static Loads unpack(Unpacker &in);

  private:
    struct Run {
        uint64_t count;
        uint16_t low, high; // upper halves of floats: in order as the floats are

        double total() const {
            return std::bit_cast<float>((uint32_t{low} + uint32_t{high}) << 15); // the middle of both
        }
    };
    std::vector<Run> runs_;

    static uint16_t bits(double total);
    void push(const Run &run);
};

} // namespace st
#endif
