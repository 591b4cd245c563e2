/* random.hpp - numbers drawn by a hash: the same for the same seed, on all machines. */
#ifndef ST_SIM_RANDOM_HPP
#define ST_SIM_RANDOM_HPP

#include <cstdint>

namespace sim {

inline uint64_t mixed(uint64_t x) { /* splitmix64 */
    x += 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}

/* From 0 to below 1. */
inline double unit(uint64_t x) { return static_cast<double>(mixed(x) >> 11) * 0x1p-53; }

} // namespace sim
#endif
