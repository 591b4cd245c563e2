/* sums.hpp - times and sums that do not overflow unnoticed.
 *
 *   clock, cost     64 bits of picoseconds: 106 days; what is longer ends the run with a TimeError
 *   sum over ranks  128 bits
 *   bytes           64 bits; larger ones are the largest number: their cost, a product with a time, is checked
 */
#ifndef ST_SIM_SUMS_HPP
#define ST_SIM_SUMS_HPP

#include "st_sim.h"

#include <cmath>
#include <cstdint>
#include <stdexcept>

namespace sim {

__extension__ typedef __int128 Wide;

/* 64 bits cannot hold a time of the run, or 128 bits a sum. */
struct TimeError : std::runtime_error {
    TimeError() : std::runtime_error("a time is longer than 2^63 ps") {}
};

inline int64_t plus(int64_t a, int64_t b) {
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum)) throw TimeError();
    return sum;
}

/* now + times * step */
inline int64_t extended(int64_t now, int64_t times, int64_t step) {
    int64_t product;
    if (__builtin_mul_overflow(times, step, &product)) throw TimeError();
    return plus(now, product);
}

inline int64_t rounded(double ps) {
    constexpr double kLimit = 0x1p63;
    if (!(std::abs(ps) < kLimit)) throw TimeError(); /* also what is no number */
    return static_cast<int64_t>(std::llround(ps));
}

/* Bytes of n blocks; neither is negative. */
inline int64_t product(int64_t nbytes, int64_t n) {
    int64_t result;
    return __builtin_mul_overflow(nbytes, n, &result) ? INT64_MAX : result;
}

inline Wide value(const st_sim_sum &sum) {
    return static_cast<Wide>(sum.high) * (static_cast<Wide>(1) << 64) + sum.low;
}

inline void add(st_sim_sum &sum, Wide more) {
    Wide total;
    if (__builtin_add_overflow(value(sum), more, &total)) throw TimeError();
    sum.low = static_cast<uint64_t>(total);
    sum.high = static_cast<int64_t>(total >> 64);
}

/* The same for what most sums get, which is no more than 64 bits. */
inline void add(st_sim_sum &sum, int64_t more) {
    const auto low = sum.low + static_cast<uint64_t>(more);
    const int64_t carry = (low < sum.low) + (more >> 63);
    sum.low = low;
    if (carry && __builtin_add_overflow(sum.high, carry, &sum.high)) throw TimeError();
}

/* Add times * (sum - before). */
inline void extend(st_sim_sum &sum, const st_sim_sum &before, int64_t times) {
    Wide more;
    if (__builtin_mul_overflow(value(sum) - value(before), static_cast<Wide>(times), &more)) throw TimeError();
    add(sum, more);
}

} // namespace sim
#endif
