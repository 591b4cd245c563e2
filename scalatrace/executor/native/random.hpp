/* random.hpp - numbers drawn by a hash: the same for the same seed, on all machines. */
#ifndef ST_SIM_RANDOM_HPP
#define ST_SIM_RANDOM_HPP

#include <cmath>
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

/* A number of mean 0 and deviation 1, by Box and Muller, from two numbers from 0 to below 1. */
inline double normal(double u, double v) {
    constexpr double kPi = 3.14159265358979323846;
    return std::sqrt(-2 * std::log1p(-u)) * std::cos(2 * kPi * v);
}

} // namespace sim
#endif
