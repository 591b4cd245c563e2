/* hash.cpp - 8 bytes per step. Part of the file format of parts: a change needs another kPackVersion. */
#include "tree/hash.hpp"

#include <cstring>

namespace st {

uint64_t hash_bytes(const void *data, size_t n, uint64_t seed) {
    const unsigned char *p = static_cast<const unsigned char *>(data);
    uint64_t h = mix_key(seed * 0x9e3779b97f4a7c15u + n + 1);
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t word;
        std::memcpy(&word, p, 8);
        h = mix_key(h ^ word) + 0x632be59bd9b4e019u;
    }
    uint64_t word = 0;
    if (n) std::memcpy(&word, p, n); // p may be null where there is nothing
    h = mix_key(h ^ word);
    return h < 16 ? h + 16 : h;
}

} // namespace st
