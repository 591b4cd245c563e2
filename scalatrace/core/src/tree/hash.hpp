/* hash.hpp - 64-bit hashes of contents, equal on all ranks and machines of one byte order. */
#ifndef ST_HASH_HPP
#define ST_HASH_HPP

#include <cstddef>
#include <cstdint>

namespace st {

/* Every bit of the result depends on every bit of `h`. */
inline uint64_t mix_key(uint64_t h) {
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    return h ^ (h >> 32);
}

/* Hash of n bytes. It is at least 16, since smaller numbers are reserved names (ST_COMM_WORLD, ...). The seed separates
 * hashes of different kinds of things. */
uint64_t hash_bytes(const void *data, size_t n, uint64_t seed);

} // namespace st
#endif
