/* vec.hpp - a value vector: integers in the order they were met, compressed as they arrive (§5.2.1).
 *
 *   values    7 7 7 7          0 1 2 0 1 2 0 1 2             3 1 2 1 2
 *   terms     constant 7       3 x { 3 x {0}, stride 1 }     3, 2 x {1, 2}
 *
 * A term is a literal or a repetition of terms, the i-th time with i * stride added. While values follow the last
 * repetition a cursor stands on the expected next one, and appending costs O(1). The encoding is a function of the
 * values alone, however they were appended, so equal vectors have equal encodings on every rank.
 */
#ifndef ST_VEC_HPP
#define ST_VEC_HPP

#include "msgpack.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace st {

/* While it lives, at most so many values are taken out of the loops of vectors one by one; then a FormatError follows.
 * Parts of a trace are not trusted: a few bytes may claim any number of values. */
class ExpansionLimit {
  public:
    explicit ExpansionLimit(uint64_t values) : before_(left_) { left_ = values; }
    ~ExpansionLimit() { left_ = before_; }
    ExpansionLimit(const ExpansionLimit &) = delete;
    ExpansionLimit &operator=(const ExpansionLimit &) = delete;

    static void take(uint64_t values) {
        if (__builtin_expect(values > left_, 0)) exceeded();
        left_ -= values;
    }

  private:
    uint64_t before_;
    static thread_local uint64_t left_;
    [[noreturn]] static void exceeded();
};

struct Rep;

struct Term {
    int64_t value = 0;        // of a literal
    std::unique_ptr<Rep> rep; // set for a repetition

    Term() = default;
    explicit Term(int64_t v) : value(v) {}
    Term(uint64_t count, int64_t stride, std::vector<Term> block);
    Term(const Term &other);
    Term &operator=(const Term &other);
    Term(Term &&) noexcept = default;
    Term &operator=(Term &&) noexcept = default;
};

struct Rep {
    uint64_t count;
    int64_t stride;
    std::vector<Term> block;
};

class Vec {
  public:
    Vec() = default;
    Vec(int64_t value, uint64_t n) : n_(n), first_(value) {}
    Vec(const Vec &other);
    Vec &operator=(const Vec &other);
    Vec(Vec &&other) noexcept { swap(other); }
    Vec &operator=(Vec &&other) noexcept {
        swap(other);
        return *this;
    }
    ~Vec() {
        if (detail_ || few_ || flat_) drop();
    }

    void append(int64_t value) {
        if (constant()) {
            if (n_ == 0) first_ = value;
            if (value == first_) {
                ++n_;
                return;
            }
        }
        append_slow(value);
    }
    /* `n` values, each `stride` behind the one before. */
    void append(const int64_t *values, size_t n, size_t stride);
    void append_run(int64_t value, uint64_t times);
    void concat(const Vec &other);
    void clear() { // keeps the room for a few values: instances of inner loops are cleared over and over
        n_ = 0;
        form_ = kConstant;
        most_ = kMostFew;
        if (detail_ || flat_) drop_detail();
    }

    /* Until it is cleared: it is soon appended to another, values as they came are best. */
    void keep_more() { most_ = kMostKept; }

    uint64_t size() const { return n_; }
    bool constant() const { return form_ == kConstant; }
    int64_t first() const { return first_; }
    int64_t last() const;
    void bump_last(int64_t by);   // rare: rebuilds the encoding
    Vec prefix(uint64_t n) const; // the first n values; an open vector goes on as long as needed and its values fit
    size_t nbytes() const;

    /* Same values as far as both go on: the length is not part of a trace's vectors, executions decide it. */
    bool same_values(const Vec &other) const;

    /* What a vector that is not constant is made of. */
    const std::vector<Term> &terms() const;
    bool open() const;        // the last term is a repetition that goes on
    bool bounded() const;     // ... but by a stride that makes no sense without end, so the length matters
    uint64_t matched() const; // values of its unfinished iteration

    /* Nothing more is to come: it is only compared and packed from now on, or put together anew. */
    void settle() const {
        if (!constant()) flat();
    }
    void pack(BytePacker &p) const;
    static Vec unpack(Unpacker &in) { // throws FormatError
        const size_t n = in.array();
        const uint64_t size = in.natural();
        return n == 2 ? Vec(in.integer(), size) : unpack_terms(in, n, size);
    }
    static void skip(Unpacker &in);

    /* Call `f(value, times)` for each run of equal values in order. */
    void runs(const std::function<void(int64_t, uint64_t)> &f) const;

  private:
    struct Detail;
    struct Flat;
    enum Form : uint8_t { kConstant, kFew, kDetail, kFlat };
    static constexpr uint16_t kMostFew = 16, kMostKept = 256;

    uint64_t n_ = 0;
    int64_t first_ = 0;
    mutable Detail *detail_ = nullptr; // owned; the compressed values, once there are more than a few
    mutable Flat *flat_ = nullptr;     // owned; the same in one piece: the merge only compares and packs them
    int64_t *few_ = nullptr;           // owned; up to `most_` values as they came ...
    uint16_t room_ = 0;                // ... and how many it has room for
    uint16_t most_ = kMostFew;
    mutable Form form_ = kConstant; // which of these holds the values

    void make_room();
    static Vec unpack_terms(Unpacker &in, size_t n, uint64_t size);

    void append_slow(int64_t value);
    const Detail &detail() const; // makes the terms of few values, or of flat ones: that can wait until somebody asks
    const Flat &flat() const;
    void compress() const;
    void open_up() const;
    void drop();
    void drop_detail();
    void swap(Vec &other) noexcept {
        std::swap(n_, other.n_);
        std::swap(first_, other.first_);
        std::swap(detail_, other.detail_);
        std::swap(flat_, other.flat_);
        std::swap(few_, other.few_);
        std::swap(room_, other.room_);
        std::swap(most_, other.most_);
        std::swap(form_, other.form_);
    }
};

} // namespace st
#endif
