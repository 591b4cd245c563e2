/* container.cpp - write and read the header drawn in container.hpp. */
#include "io/container.hpp"

#include "io/files.hpp"
#include "io/msgpack.hpp"
#include "st_core.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <memory>

namespace st {

namespace {

/* As PNG's: a byte above 127 and line ends, which transfers as text would damage. */
constexpr unsigned char kMagic[8] = {0x89, 'S', 'T', 'R', 'C', 0x0d, 0x0a, 0x1a};
constexpr size_t kHeader = 32;
constexpr uint64_t kVersionOfStreams = 2;
constexpr uint16_t kDeflated = 1, kPart = 2;
/* Readers refuse a larger payload that is deflated more: it might be made to take their memory. */
constexpr size_t kSmallPayload = size_t{1} << 26, kMaxDeflation = 64;

/* CRC-32 of zlib and gzip. */
uint32_t crc32(uint32_t crc, const void *data, size_t n) {
    static const std::array<uint32_t, 256> table = [] {
        std::array<uint32_t, 256> t{};
        for (uint32_t i = 0; i < 256; ++i) {
            uint32_t c = i;
            for (int k = 0; k < 8; ++k) c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
            t[i] = c;
        }
        return t;
    }();
    const unsigned char *p = static_cast<const unsigned char *>(data);
    crc = ~crc;
    while (n--) crc = table[(crc ^ *p++) & 0xff] ^ (crc >> 8);
    return ~crc;
}

/* Integers in the header are little-endian. */
void put(unsigned char *at, uint64_t v, int nbytes) {
    for (int i = 0; i < nbytes; ++i) at[i] = static_cast<unsigned char>(v >> (8 * i));
}

uint64_t get(const unsigned char *at, int nbytes) {
    uint64_t v = 0;
    while (nbytes--) v = v << 8 | at[nbytes];
    return v;
}

/* For 400 kB, level 9 takes 100 ms and level 7 takes 30 ms; the file is 1 % larger. */
int level_of(size_t nbytes) { return nbytes > 1 << 16 ? 7 : 9; }

/* zlib is loaded when a file is written and never linked, since some machines do not have it. */
bool deflate_with_zlib(std::string_view in, std::string &out) {
    const std::unique_ptr<void, int (*)(void *)> zlib(dlopen("libz.so.1", RTLD_LAZY | RTLD_LOCAL), dlclose);
    if (!zlib) return false;
    using Compress = int (*)(unsigned char *, unsigned long *, const unsigned char *, unsigned long, int);
    using Bound = unsigned long (*)(unsigned long);
    auto compress = reinterpret_cast<Compress>(dlsym(zlib.get(), "compress2"));
    auto bound = reinterpret_cast<Bound>(dlsym(zlib.get(), "compressBound"));
    bool done = false;
    if (compress && bound) {
        unsigned long n = bound(in.size());
        out.resize(n);
        done = compress(reinterpret_cast<unsigned char *>(out.data()), &n,
                        reinterpret_cast<const unsigned char *>(in.data()), in.size(), level_of(in.size())) == 0;
        out.resize(done ? n : 0);
    }
    return done;
}

/* Text of a failed system call. */
std::string failure(const char *what, const std::string &path) {
    return std::string("cannot ") + what + ' ' + path + ": " + std::strerror(errno);
}

} // namespace

std::string write_container(const std::string &path, std::string_view payload, bool part, bool compress, bool streams) {
    std::string small;
    const bool deflated = compress && deflate_with_zlib(payload, small) && small.size() < payload.size() &&
                          payload.size() <= std::max(kSmallPayload, kMaxDeflation * small.size());
    const std::string_view stored = deflated ? std::string_view(small) : payload;
    unsigned char header[kHeader];
    std::memcpy(header, kMagic, sizeof kMagic);
    put(header + 8, streams ? kVersionOfStreams : static_cast<uint64_t>(st_format_version()), 2);
    put(header + 10, (deflated ? kDeflated : 0) | (part ? kPart : 0), 2);
    put(header + 12, stored.size(), 8);
    put(header + 20, payload.size(), 8);
    put(header + 28, crc32(crc32(0, header + 8, 20), stored.data(), stored.size()), 4);

    return write_file(path, {{reinterpret_cast<const char *>(header), kHeader}, stored});
}

std::string read_container(const std::string &path) {
    const File file(std::fopen(path.c_str(), "rb"));
    if (!file) throw FormatError(failure("read", path));
    std::string all;
    char block[1 << 16];
    for (size_t n; (n = std::fread(block, 1, sizeof block, file.get())) > 0;) all.append(block, n);
    const unsigned char *h = reinterpret_cast<const unsigned char *>(all.data());
    if (all.size() < kHeader || std::memcmp(h, kMagic, sizeof kMagic) != 0)
        throw FormatError(path + ": not a trace part");
    if (get(h + 8, 2) != static_cast<uint64_t>(st_format_version()) && get(h + 8, 2) != kVersionOfStreams)
        throw FormatError(path + ": format version " + std::to_string(get(h + 8, 2)) + ", this is for version " +
                          std::to_string(st_format_version()));
    if (get(h + 12, 8) != all.size() - kHeader) throw FormatError(path + ": the file is cut or has bytes left over");
    if (get(h + 28, 4) != crc32(crc32(0, h + 8, 20), h + kHeader, all.size() - kHeader))
        throw FormatError(path + ": checksum does not match, the file is damaged");
    if (get(h + 10, 2) != kPart) throw FormatError(path + ": not a part but a whole trace");
    return all.substr(kHeader);
}

} // namespace st
