/* vec.hpp - a value vector: integers in the order they were appended, compressed as they arrive (§5.2.1).
 *
 *   values    7 7 7 7          0 1 2 0 1 2 0 1 2             3 1 2 1 2
 *   terms     constant 7       3 x { 3 x {0}, stride 1 }     3, 2 x {1, 2}
 *
 * A term is a literal, or a repetition: a block of terms, `count` times, with i * stride added the i-th time. So nested
 * loops over a grid become nested progressions:
 *
 *   0 1 2 10 11 12 20 21 22      3 x ---stride 10--- { 3 x ---stride 1--- {0} }
 *                                    outer repetition        inner one     literal
 *
 * While values follow the last repetition, a cursor stands on the value that comes next: for each level its repetition,
 * iteration and place in the block. Appending this value moves the cursor, in O(1). A value that does not follow ends
 * the repetition; what its unfinished iteration has matched becomes literals.
 *
 *   terms    5, 4 x { 1, 2 x {3}, 8 }     values so far  5 1 3 3 8 1 3 3 8 1 3 3 8 1 3 3 8 1 3
 *                         ^ cursor: expects 3                                            `-' matched, in no term
 *
 * A vector is stored in one of four forms, each used once the one before is too small or too slow:
 *
 *   kConstant   all values are first_
 *   kPlain      up to 16 values as they are (256 in nodes that are soon appended to others)
 *   kDetail     terms and cursor; of many terms, the older ones are packed
 *   kFlat       terms as msgpack: vectors that only are compared, merged and packed
 *
 * The encoding depends only on the values, not on how they were appended: equal vectors have equal encodings on every
 * rank. A vector whose last repetition can continue is open: it stands for as many values as the executions need.
 */
#ifndef ST_VEC_HPP
#define ST_VEC_HPP

#include "io/msgpack.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace st {

/* While it lives, at most `values` values of this thread's vectors are expanded one by one; after that FormatError is
 * thrown. Parts of a trace are not trusted: a few bytes may claim any number of values. */
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

/* A literal, or a repetition of a block of terms. */
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
        if (detail_ || few_values_ || flat_) drop();
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
    /* Append n values, which are `stride` elements apart in memory. */
    void append(const int64_t *values, size_t n, size_t stride);
    void append_run(int64_t value, uint64_t times);
    void concat(const Vec &other);
    void clear() { // keeps the memory of the plain form: nodes of inner loops are cleared again and again
        n_ = 0;
        form_ = kConstant;
        max_few_values_ = kMaxFewValues;
        if (detail_ || flat_) drop_detail();
    }

    /* Keep more values in the plain form until the vector is cleared: it is soon appended to another one. */
    void keep_values() { max_few_values_ = kMaxKeptValues; }

    uint64_t size() const { return n_; }
    bool constant() const { return form_ == kConstant; }
    int64_t first() const { return first_; }
    int64_t last() const;
    void add_to_last(int64_t by); // rare: rebuilds the encoding
    Vec prefix(uint64_t n) const; // the first n values; an open vector is continued as long as values fit 64 bits
    size_t nbytes() const;

    /* Are the values equal as far as both go? The length is no part of a trace's vectors: executions decide it. */
    bool same_values(const Vec &other) const;

    /* The terms of a vector that is not constant. */
    const std::vector<Term> &terms() const;
    size_t nterms() const;
    /* Call f(term) for each in order; packed ones are unpacked one by one. */
    void each_term(const std::function<void(const Term &)> &f) const;
    bool open() const;        // is the last term a repetition that can continue?
    bool bounded() const;     // ... but by a stride that is no progression without end, so that the length matters?
    uint64_t matched() const; // number of values of its unfinished iteration

    /* Nothing will be appended: change to the flat form. */
    void flatten() const {
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
    enum Form : uint8_t { kConstant, kPlain, kDetail, kFlat };
    static constexpr uint16_t kMaxFewValues = 16, kMaxKeptValues = 256;

    uint64_t n_ = 0;
    int64_t first_ = 0;
    mutable Detail *detail_ = nullptr; // owned; terms and cursor
    mutable Flat *flat_ = nullptr;     // owned; the terms as msgpack
    int64_t *few_values_ = nullptr;    // owned; the values of the plain form ...
    uint16_t few_capacity_ = 0;        // ... and how many fit its memory
    uint16_t max_few_values_ = kMaxFewValues;
    mutable Form form_ = kConstant; // the one of these that holds the values

    void grow_values();
    static Vec unpack_terms(Unpacker &in, size_t n, uint64_t size);

    void append_slow(int64_t value);
    const Detail &detail() const; // changes to this form
    const Flat &flat() const;
    void compress() const;
    void restore_detail() const;
    void drop();
    void drop_detail();
    void swap(Vec &other) noexcept {
        std::swap(n_, other.n_);
        std::swap(first_, other.first_);
        std::swap(detail_, other.detail_);
        std::swap(flat_, other.flat_);
        std::swap(few_values_, other.few_values_);
        std::swap(few_capacity_, other.few_capacity_);
        std::swap(max_few_values_, other.max_few_values_);
        std::swap(form_, other.form_);
    }
};

} // namespace st
#endif
