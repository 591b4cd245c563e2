/* msgpack.hpp - write msgpack, and read the subset that pack.cpp writes.
 *
 *     integer   0xxxxxxx | 111xxxxx | cc..cf, d0..d3 and 1 to 8 bytes, most significant first; the shortest form
 *     string    101xxxxx | d9..db and its length, then its bytes          array   1001xxxx | dc, dd and its length
 *
 * The reader checks each length against the data, and throws FormatError with the offset in bytes.
 */
#ifndef ST_MSGPACK_HPP
#define ST_MSGPACK_HPP

#include <cstdint>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace st {

/* A buffer that grows. Unlike a string's, its memory can be handed over without a copy. */
class Bytes {
  public:
    Bytes() = default;
    Bytes(Bytes &&o) noexcept
        : data_(std::exchange(o.data_, nullptr)), n_(std::exchange(o.n_, 0)), room_(std::exchange(o.room_, 0)) {}
    Bytes &operator=(Bytes &&) = delete;
    ~Bytes() { std::free(data_); }

    operator std::string_view() const { return {data_, n_}; }
    size_t size() const { return n_; }
    /* Return the memory, which the caller frees. */
    char *release() { return std::exchange(data_, nullptr); }
    void reserve(size_t room) {
        if (room <= room_) return;
        char *bigger = static_cast<char *>(std::realloc(data_, room));
        if (!bigger) throw std::bad_alloc();
        data_ = bigger;
        room_ = room;
    }
    void push_back(char c) {
        more(1);
        data_[n_++] = c;
    }
    void append(std::string_view s) {
        more(s.size());
        if (!s.empty()) __builtin_memcpy(data_ + n_, s.data(), s.size());
        n_ += s.size();
    }
    void append(const char *s, size_t n) { append(std::string_view(s, n)); }
    /* Append the first n of nine bytes. Copying all nine is faster than copying n. */
    void append_some(const char (&bytes)[9], size_t n) {
        more(sizeof bytes);
        __builtin_memcpy(data_ + n_, bytes, sizeof bytes);
        n_ += n;
    }

  private:
    char *data_ = nullptr;
    size_t n_ = 0, room_ = 0;

    void more(size_t n) {
        if (__builtin_expect(room_ - n_ < n, 0)) reserve(2 * room_ + n + 64);
    }
};

/* Writes into a string or Bytes. */
template <class Out> class PackerInto {
  public:
    Out out;

    void array(size_t n) { head(n, 0x90, 15, 0, 0xdc); }
    void map(size_t n) { head(n, 0x80, 15, 0, 0xde); }
    void nil() { byte(0xc0); }
    void boolean(bool b) { byte(b ? 0xc3 : 0xc2); }
    void str(std::string_view s) {
        head(s.size(), 0xa0, 31, 0xd9, 0xda);
        out.append(s);
    }
    void bin(std::string_view s) {
        const int width = s.size() <= UINT8_MAX ? 1 : s.size() <= UINT16_MAX ? 2 : 4;
        tagged(static_cast<uint8_t>(0xc4 + width / 2), s.size(), width);
        out.append(s);
    }
    void integer(int64_t v) {
        if (v >= 0) return natural(static_cast<uint64_t>(v));
        if (v >= -32) return byte(static_cast<uint8_t>(v));
        if (v >= INT8_MIN) return tagged(0xd0, static_cast<uint64_t>(v), 1);
        if (v >= INT16_MIN) return tagged(0xd1, static_cast<uint64_t>(v), 2);
        if (v >= INT32_MIN) return tagged(0xd2, static_cast<uint64_t>(v), 4);
        tagged(0xd3, static_cast<uint64_t>(v), 8);
    }
    void natural(uint64_t v) {
        if (v < 128) return byte(static_cast<uint8_t>(v));
        if (v <= UINT8_MAX) return tagged(0xcc, v, 1);
        if (v <= UINT16_MAX) return tagged(0xcd, v, 2);
        if (v <= UINT32_MAX) return tagged(0xce, v, 4);
        tagged(0xcf, v, 8);
    }
    void real(double v) {
        uint64_t bits;
        static_assert(sizeof bits == sizeof v);
        __builtin_memcpy(&bits, &v, 8);
        tagged(0xcb, bits, 8);
    }

  private:
    void byte(uint8_t b) { out.push_back(static_cast<char>(b)); }
    void tagged(uint8_t tag, uint64_t v, int nbytes) {
        char bytes[9] = {static_cast<char>(tag)};
        const uint64_t big = __builtin_bswap64(v << (64 - 8 * nbytes));
        __builtin_memcpy(bytes + 1, &big, 8);
        if constexpr (std::is_same_v<Out, Bytes>)
            out.append_some(bytes, static_cast<size_t>(nbytes) + 1);
        else
            out.append(bytes, static_cast<size_t>(nbytes) + 1);
    }
    void head(size_t n, uint8_t fix, size_t max_fix, uint8_t tag8, uint8_t tag16) {
        if (n <= max_fix) return byte(static_cast<uint8_t>(fix | n));
        if (tag8 && n <= UINT8_MAX) return tagged(tag8, n, 1);
        if (n <= UINT16_MAX) return tagged(tag16, n, 2);
        tagged(static_cast<uint8_t>(tag16 + 1), n, 4);
    }
};

using Packer = PackerInto<std::string>;
using BytePacker = PackerInto<Bytes>;

/* Damaged or unknown bytes. */
struct FormatError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/* Reads a buffer from its beginning; views point into it. */
class Unpacker {
  public:
    Unpacker(const void *data, size_t n) : at_(static_cast<const uint8_t *>(data)), start_(at_), end_(at_ + n) {}

    bool at_end() const { return at_ == end_; }
    size_t offset() const { return static_cast<size_t>(at_ - start_); }

    size_t array() {
        const uint8_t tag = byte();
        size_t n;
        if ((tag & 0xf0) == 0x90)
            n = tag & 0x0f;
        else if (tag == 0xdc || tag == 0xdd)
            n = fixed(tag == 0xdc ? 2 : 4);
        else
            fail("an array was expected");
        if (n > static_cast<size_t>(end_ - at_)) fail("an array is longer than the data");
        return n;
    }
    std::string str() { return std::string(view()); }
    std::string_view view() {
        const uint8_t tag = byte();
        size_t n;
        if ((tag & 0xe0) == 0xa0)
            n = tag & 0x1f;
        else if (tag >= 0xd9 && tag <= 0xdb)
            n = fixed(1 << (tag - 0xd9));
        else
            fail("a string was expected");
        if (n > static_cast<size_t>(end_ - at_)) fail("a string is longer than the data");
        at_ += n;
        return std::string_view(reinterpret_cast<const char *>(at_ - n), n);
    }
    int64_t integer() {
        const uint8_t tag = byte();
        if (tag < 0x80) return tag;
        if (tag >= 0xe0) return static_cast<int8_t>(tag);
        if (tag >= 0xcc && tag <= 0xcf) return static_cast<int64_t>(fixed(1 << (tag - 0xcc)));
        switch (tag) {
        case 0xd0:
            return static_cast<int8_t>(fixed(1));
        case 0xd1:
            return static_cast<int16_t>(fixed(2));
        case 0xd2:
            return static_cast<int32_t>(fixed(4));
        case 0xd3:
            return static_cast<int64_t>(fixed(8));
        default:
            fail("an integer was expected");
        }
    }
    /* 64 bits, as of a hash. */
    uint64_t natural() { return static_cast<uint64_t>(integer()); }
    /* 63 bits. */
    uint64_t count() {
        const int64_t n = integer();
        if (n < 0) fail("a count is negative");
        return static_cast<uint64_t>(n);
    }
    double real() {
        if (byte() != 0xcb) fail("a number was expected");
        const uint64_t bits = fixed(8);
        double v;
        __builtin_memcpy(&v, &bits, 8);
        return v;
    }
    bool skip_nil() { // false: something else is next
        if (at_ == end_ || *at_ != 0xc0) return false;
        ++at_;
        return true;
    }
    bool peek_array() const { return at_ != end_ && ((*at_ & 0xf0) == 0x90 || *at_ == 0xdc || *at_ == 0xdd); }
    [[noreturn]] void fail(const char *why) const {
        throw FormatError(std::string(why) + " at byte " + std::to_string(offset()));
    }

  private:
    const uint8_t *at_, *start_, *end_;

    uint8_t byte() {
        if (at_ == end_) fail("the data ends too early");
        return *at_++;
    }
    uint64_t fixed(int n) {
        if (end_ - at_ < n) fail("the data ends too early");
        uint64_t v = 0;
        __builtin_memcpy(&v, at_, static_cast<size_t>(n));
        at_ += n;
        return __builtin_bswap64(v) >> (64 - 8 * n);
    }
};

} // namespace st
#endif
