/* vec.cpp - find repetitions while values arrive.
 *
 * After each new term, fold() compares the terms at the end with those before:
 *
 *   terms   9 1 2 3 | 1 2 3        the last k = 3 terms equal the 3 before: 9, 2 x {1, 2, 3}
 *   terms   9 5 | 6 | 7            blocks of k = 1 differ by 1 twice: 9, 3 x {5}, stride 1
 *
 *   k <= kMaxStridedPeriod   blocks may differ by a constant, the stride; this takes three blocks
 *   k <= kMaxShortPeriod     equal blocks, found by comparing
 *   longer                   equal blocks, found by the lag table in O(1) per term
 *
 * Of many terms the older half is packed, as in the flat form: values without a rule take two to five bytes each.
 *
 * The new repetition is a term itself, so repetitions of repetitions are found in the same way. Tags, hashes of terms,
 * make most comparisons one of integers.
 */
#include "values/vec.hpp"

#include "st_core.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>

namespace st {

namespace {
constexpr size_t kMaxShortPeriod = 32;  // terms of a period found by comparing; longer periods by the lag table
constexpr size_t kMaxStridedPeriod = 8; // terms of a block whose repetitions may differ by a constant
constexpr size_t kGram = 4;             // last terms whose hash is the key of the lag table
constexpr size_t kMaxDepth = 16;        // nesting of repetitions
// Terms that are not packed: they take 36 to 66 bytes each. Half of them have two periods of 16,384 terms. The lag table
// hardly finds longer ones in any case, since the terms of a period replace each other's entries.
constexpr size_t kMaxTerms = size_t{1} << 16;
constexpr int64_t kMaxStride = int64_t{1} << 40; // larger strides are between names (hashes): no progression

/* MPI_PROC_NULL and the like are symbols: no progression leads from or to one. */
bool is_special(int64_t value) { return value >= ST_SPECIAL_MIN && value < ST_SPECIAL_MAX; }

/* A base is a sum of strides. It may exceed 64 bits where value plus base does not. */
using Wide = __int128;

/* Sum modulo 2^64: names (hashes) wrap around. */
int64_t plus(int64_t value, Wide base) {
    return static_cast<int64_t>(static_cast<uint64_t>(value) + static_cast<uint64_t>(base));
}

uint64_t mix(uint64_t h) {
    h ^= h >> 31;
    h *= 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

/* Hash of a term: equal terms have equal tags. */
uint64_t term_tag(const Term &t) {
    if (!t.rep) return mix(static_cast<uint64_t>(t.value) + 1);
    uint64_t h = mix(t.rep->count * 31 + static_cast<uint64_t>(t.rep->stride));
    for (const Term &inner : t.rep->block) h = mix(h + term_tag(inner));
    return h;
}

/* Nesting of repetitions in a term. */
size_t depth(const Term &t) {
    size_t d = 0;
    if (t.rep)
        for (const Term &inner : t.rep->block) d = std::max(d, 1 + depth(inner));
    return d;
}

/* Call f(value, times) for each run of equal values of a term, with `base` added. */
void expand(const Term &t, Wide base, const std::function<void(int64_t, uint64_t)> &f) {
    ExpansionLimit::take(1);
    if (!t.rep) {
        f(plus(t.value, base), 1);
        return;
    }
    const Rep &r = *t.rep;
    if (r.stride == 0 && r.block.size() == 1 && !r.block[0].rep) {
        f(plus(r.block[0].value, base), r.count);
        return;
    }
    for (uint64_t i = 0; i < r.count; ++i, base += r.stride)
        for (const Term &inner : r.block) expand(inner, base, f);
}

/* A literal is an integer, a repetition [count, stride, terms]. Count 0: without end. */
void pack_term(BytePacker &p, const Term &t, bool endless) {
    if (!t.rep) return p.integer(t.value);
    p.array(3);
    p.natural(endless ? 0 : t.rep->count);
    p.integer(t.rep->stride);
    p.array(t.rep->block.size());
    for (const Term &inner : t.rep->block) pack_term(p, inner, false);
}

std::vector<Term> unpack_terms(Unpacker &in, size_t n);

Term unpack_term(Unpacker &in) {
    if (!in.peek_array()) return Term(in.integer());
    in.array();
    const uint64_t count = in.natural();
    const int64_t stride = in.integer();
    const size_t n = in.array();
    return Term(count, stride, unpack_terms(in, n));
}

std::vector<Term> unpack_terms(Unpacker &in, size_t n) {
    std::vector<Term> out;
    out.reserve(n);
    for (; n; --n) out.push_back(unpack_term(in));
    return out;
}
} // namespace

thread_local uint64_t ExpansionLimit::left_ = UINT64_MAX;

void ExpansionLimit::exceeded() {
    left_ = 0;
    throw FormatError("too many values to be merged one by one: the part is damaged, or its run too long");
}

Term::Term(uint64_t count, int64_t stride, std::vector<Term> block) : rep(new Rep{count, stride, std::move(block)}) {}
Term::Term(const Term &other) : value(other.value), rep(other.rep ? new Rep(*other.rep) : nullptr) {}
Term &Term::operator=(const Term &other) {
    if (this != &other) {
        value = other.value;
        rep.reset(other.rep ? new Rep(*other.rep) : nullptr);
    }
    return *this;
}

/* Are two terms equal up to a constant difference? `diff`: the difference, set by the first literals if not `known`. */
static bool same_rep(const Rep &a, const Rep &b, int64_t &diff, bool &known);

static bool same_term(const Term &a, const Term &b, int64_t &diff, bool &known) {
    if (!a.rep != !b.rep) return false;
    if (a.rep) return same_rep(*a.rep, *b.rep, diff, known);
    int64_t d;
    if (__builtin_sub_overflow(b.value, a.value, &d)) return false; // no stride of a file
    if (d && (is_special(a.value) || is_special(b.value))) return false;
    if (known) return d == diff;
    known = true;
    diff = d;
    return true;
}

static bool same_rep(const Rep &a, const Rep &b, int64_t &diff, bool &known) {
    if (a.count != b.count || a.stride != b.stride || a.block.size() != b.block.size()) return false;
    for (size_t i = 0; i < a.block.size(); ++i)
        if (!same_term(a.block[i], b.block[i], diff, known)) return false;
    return true;
}

/* The state of the detail form.
 *
 * `terms` ends with the repetition the cursor is in when `predicting`; the values matched in its unfinished iteration
 * (`matched` of them) are in no term. `older` has the `nolder` terms before these, packed. */
struct Vec::Detail {
    struct Level { // one repetition the cursor is inside of
        Rep *rep;
        uint64_t iteration;
        size_t index;
        Wide base; // what the strides of this and the outer levels add now
    };

    std::unique_ptr<BytePacker> older; // null: none
    size_t nolder = 0;
    std::vector<Term> terms;
    std::vector<uint32_t> tags; // of the terms: equal terms have equal tags
    bool predicting = false;
    uint64_t matched = 0;
    std::vector<Level> cursor;
    std::vector<uint32_t> lag_table; // hash of the last kGram terms -> index after them
    size_t last_lag = 0, lag_run = 0;

    Detail() = default;
    Detail(const Detail &other)
        : nolder(other.nolder), terms(other.terms), tags(other.tags), predicting(other.predicting),
          lag_table(other.lag_table), last_lag(other.last_lag), lag_run(other.lag_run) {
        if (nolder) {
            older.reset(new BytePacker);
            older->out.append(other.older->out);
        }
        if (predicting) {
            start_cursor();
            for (uint64_t i = 0; i < other.matched; ++i) advance();
        }
    }

    /* Pack all terms but the last ones. */
    void pack_older() {
        const size_t n = terms.size() - kMaxTerms / 2;
        if (!older) older.reset(new BytePacker);
        for (size_t i = 0; i < n; ++i) pack_term(*older, terms[i], false);
        nolder += n;
        terms.erase(terms.begin(), terms.begin() + static_cast<ptrdiff_t>(n));
        tags.erase(tags.begin(), tags.begin() + static_cast<ptrdiff_t>(n));
        lag_table.clear(); // which has indices of terms
    }

    /* Call f(term) for each packed one. */
    template <class F> void each_older(F f) const {
        if (!nolder) return;
        const std::string_view bytes = older->out;
        for (Unpacker in(bytes.data(), bytes.size()); !in.at_end();) f(unpack_term(in));
    }

    /* All terms in one vector. */
    void unpack_older() {
        std::vector<Term> all;
        all.reserve(nolder + terms.size());
        each_older([&all](Term &&t) { all.push_back(std::move(t)); });
        std::move(terms.begin(), terms.end(), std::back_inserter(all));
        terms.swap(all);
        tags.insert(tags.begin(), nolder, 0);
        lag_table.clear();
        older.reset();
        nolder = 0;
    }

    /* Pack all terms; `open`: the last one has no end. */
    void pack(BytePacker &p, bool open) const {
        p.array(nolder + terms.size());
        if (nolder) p.out.append(older->out);
        for (const Term &t : terms) pack_term(p, t, open && &t == &terms.back());
    }

    /* Put the cursor behind the last complete iteration of the last term. */
    void start_cursor() {
        predicting = true;
        matched = 0;
        Rep *rep = terms.back().rep.get();
        cursor.assign(1, Level{rep, rep->count, 0, static_cast<Wide>(rep->count) * rep->stride});
        descend();
    }

    /* Enter repetitions until the cursor stands on a literal. */
    void descend() {
        for (;;) {
            Level &top = cursor.back();
            Rep *inner = top.rep->block[top.index].rep.get();
            if (!inner) return;
            cursor.push_back(Level{inner, 0, 0, top.base});
        }
    }

    /* The value that continues the repetition. Return false when no value does: it exceeds 64 bits, or a stride
     * leads to a special value. */
    bool expected(int64_t &value) const {
        const Level &top = cursor.back();
        if (__builtin_add_overflow(Wide{top.rep->block[top.index].value}, top.base, &value)) return false;
        return !top.base || !is_special(value);
    }

    /* Move to the next value. The outermost repetition has no end: its count grows. */
    void advance() {
        ++matched;
        for (;;) {
            Level &top = cursor.back();
            if (++top.index < top.rep->block.size()) break;
            top.index = 0;
            top.base += top.rep->stride;
            ++top.iteration;
            if (cursor.size() == 1) {
                ++top.rep->count;
                matched = 0;
                break;
            }
            if (top.iteration < top.rep->count) break;
            cursor.pop_back();
        }
        descend();
    }

    /* Append a value: follow the cursor, or add a literal and look for repetitions. */
    void append(int64_t value) {
        if (predicting) {
            int64_t next;
            if (expected(next) && next == value) {
                advance();
                return;
            }
            leave_repetition(value);
            return;
        }
        terms.emplace_back(value);
        tags.push_back(static_cast<uint32_t>(term_tag(terms.back())));
        fold();
        if (terms.size() >= kMaxTerms) pack_older();
    }

    /* Where the cursor is in a run of one value, append as many values as continue it. Return their number. */
    size_t follow_run(const int64_t *values, size_t n, size_t stride) {
        if (!predicting) return 0;
        Level &top = cursor.back();
        Rep &r = *top.rep;
        if (r.stride || r.block.size() != 1) return 0;
        const bool endless = cursor.size() == 1;
        const uint64_t most = endless ? n : std::min<uint64_t>(n, r.count - top.iteration);
        int64_t value;
        if (!expected(value)) return 0;
        size_t run = 0;
        while (run < most && values[run * stride] == value) ++run;
        if (!run) return 0;
        top.iteration += run - 1;
        if (endless)
            r.count += run - 1;
        else
            matched += run - 1;
        advance();
        return run;
    }

    /* The value does not continue the last repetition: append the values of the unfinished iteration, then the
     * value. */
    void leave_repetition(int64_t value) {
        std::vector<std::pair<int64_t, uint64_t>> prefix;
        uint64_t left = matched;
        const Rep &r = *terms.back().rep;
        const Wide base = static_cast<Wide>(r.count) * r.stride;
        for (size_t i = 0; left && i < r.block.size(); ++i) collect(r.block[i], base, left, prefix);
        predicting = false;
        matched = 0;
        tags.back() = static_cast<uint32_t>(term_tag(terms.back())); // its count is final now
        fold();
        for (auto [v, times] : prefix)
            for (uint64_t i = 0; i < times; ++i) append(v);
        append(value);
    }

    /* Append the first `left` values of a term as runs. */
    static void collect(const Term &t, Wide base, uint64_t &left, std::vector<std::pair<int64_t, uint64_t>> &out) {
        if (!left) return;
        if (!t.rep) {
            out.emplace_back(plus(t.value, base), 1);
            --left;
            return;
        }
        if (t.rep->stride == 0 && t.rep->block.size() == 1 && !t.rep->block[0].rep) {
            out.emplace_back(plus(t.rep->block[0].value, base), std::min(left, t.rep->count));
            left -= out.back().second;
            return;
        }
        for (uint64_t i = 0; left && i < t.rep->count; ++i, base += t.rep->stride)
            for (const Term &inner : t.rep->block) collect(inner, base, left, out);
    }

    /* Replace equal blocks of terms at the end by a repetition, the shortest block first. */
    void fold() {
        const size_t n = terms.size();
        for (size_t k = 1; k <= kMaxShortPeriod && 2 * k <= n; ++k) {
            int64_t diff = 0, before = 0;
            if (tags[n - 1] == tags[n - 1 - k]) {
                if (!blocks_match(n, k, diff) || diff != 0) continue;
                make_rep(n - 2 * k, k, 2, 0);
                return;
            }
            if (k > kMaxStridedPeriod || no_stride(n, k)) continue;
            if (k == 1 && terms[n - 1].rep) {
                if (!blocks_match(n, 1, diff)) continue;
                make_rep(n - 2, 1, 2, diff);
                return;
            }
            // any two blocks of one literal differ by a constant: a progression needs three
            if (n < 3 * k || !blocks_match(n, k, diff) || !blocks_match(n - k, k, before) || before != diff) continue;
            make_rep(n - 3 * k, k, 3, diff);
            return;
        }
        fold_long();
    }

    /* Whether two differences show that the last k terms before index n are not the k terms before them plus a
     * constant. Two terms of a block must have the same difference, and so must three blocks of one term. */
    bool no_stride(size_t n, size_t k) const {
        if (n < k + 2) return false;
        const Term *end = terms.data() + n, *before = end - k;
        if (end[-1].rep || end[-2].rep || before[-1].rep || before[-2].rep) return false;
        const auto step = [](const Term &from, const Term &to) { // modulo 2^64
            return static_cast<uint64_t>(to.value) - static_cast<uint64_t>(from.value);
        };
        return step(before[-1], end[-1]) != step(before[-2], end[-2]);
    }

    /* Do the k terms before index n repeat the k terms before these, up to a constant? */
    bool blocks_match(size_t n, size_t k, int64_t &diff) const {
        bool known = false;
        for (size_t i = 1; i <= k; ++i) {
            if (!same_term(terms[n - i - k], terms[n - i], diff, known)) return false;
        }
        return true;
    }

    /* Long periods. The lag table has the last index at which each sequence of kGram terms ended. When it was k
     * terms ago for each of the last k terms, k is a period. O(1) per term. */
    void fold_long() {
        const size_t n = terms.size();
        if (n < kGram) return;
        uint64_t h = 0;
        for (size_t i = n - kGram; i < n; ++i) h = mix(h * 3 + tags[i]);
        if (lag_table.size() < 2 * n) grow_lag_table(n);
        uint32_t &slot = lag_table[h & (lag_table.size() - 1)];
        const size_t seen = slot;
        slot = static_cast<uint32_t>(n);
        const size_t lag = seen && seen < n ? n - seen : 0;
        lag_run = lag && lag == last_lag ? lag_run + 1 : 0;
        last_lag = lag;
        if (lag <= kMaxShortPeriod || lag_run + kGram < lag || 2 * lag > n) return;
        int64_t diff = 0;
        lag_run = 0;
        if (blocks_match(n, lag, diff) && diff == 0) make_rep(n - 2 * lag, lag, 2, 0);
    }

    /* Rebuild the table for more terms, from all places so far. */
    void grow_lag_table(size_t n) {
        size_t size = 64;
        while (size < 4 * n) size *= 2;
        std::vector<uint32_t> bigger(size, 0);
        for (size_t end = kGram; end < n; ++end) {
            uint64_t h = 0;
            for (size_t i = end - kGram; i < end; ++i) h = mix(h * 3 + tags[i]);
            bigger[h & (size - 1)] = static_cast<uint32_t>(end);
        }
        lag_table.swap(bigger);
    }

    /* Replace all terms from `from` on by `count` times the first `block` of them, and put the cursor into it. */
    void make_rep(size_t from, size_t block, uint64_t count, int64_t diff) {
        std::vector<Term> inner(std::make_move_iterator(terms.begin() + static_cast<ptrdiff_t>(from)),
                                std::make_move_iterator(terms.begin() + static_cast<ptrdiff_t>(from + block)));
        Term rep(count, diff, std::move(inner));
        if (depth(rep) > kMaxDepth) { // deeper nests cost more than they save
            std::move(rep.rep->block.begin(), rep.rep->block.end(), terms.begin() + static_cast<ptrdiff_t>(from));
            return;
        }
        terms.erase(terms.begin() + static_cast<ptrdiff_t>(from), terms.end());
        tags.resize(from);
        terms.push_back(std::move(rep));
        tags.push_back(0); // not compared while its count grows
        start_cursor();
    }
};

/* The flat form: the terms as msgpack, in memory behind the struct. An open vector's last term has count 0, so equal
 * values have equal bytes, however many executions there were. */
struct Vec::Flat {
    uint64_t matched;
    uint64_t count; // of the last term of an open vector
    uint32_t nbytes;
    bool open, bounded;

    std::string_view terms() const { return {reinterpret_cast<const char *>(this + 1), nbytes}; }
    bool operator==(const Flat &o) const { return open == o.open && terms() == o.terms(); }

    static Flat *make(const Flat &head, std::string_view terms) {
        if (terms.size() > UINT32_MAX) throw std::bad_alloc();
        Flat *created = new (::operator new(sizeof(Flat) + terms.size())) Flat(head);
        created->nbytes = static_cast<uint32_t>(terms.size());
        std::memcpy(static_cast<void *>(created + 1), terms.data(), terms.size());
        return created;
    }
    static void free(Flat *flat) { ::operator delete(flat); }
};

namespace {

constexpr int kMaxPackedDepth = 32; // as in trace/values/vec.py; deeper input is hostile

/* Facts of packed terms that are needed without unpacking them. */
struct Outline {
    bool any = false, rep = false; // is there a value? Is the last term a repetition?
    int64_t first = 0, stride = 0; // the first value; the last term's stride
};

/* Adds `times` * `each` to a number of values. */
void add_values(Unpacker &in, uint64_t &values, uint64_t times, uint64_t each) {
    uint64_t more;
    if (__builtin_mul_overflow(times, each, &more) || __builtin_add_overflow(values, more, &values))
        in.fail("a vector of too many values");
}

/* Check packed terms. Return the number of values; an open vector's last term counts `count` times. */
uint64_t check_terms(Unpacker &in, bool open, uint64_t count, int depth, Outline &seen) {
    if (depth > kMaxPackedDepth) in.fail("values are nested too deeply");
    const size_t n = in.array();
    uint64_t values = 0;
    if (!n) in.fail("an empty repetition");
    for (size_t i = 0; i < n; ++i) {
        bool rep = in.peek_array();
        int64_t stride = 0;
        if (rep) {
            if (in.array() != 3) in.fail("a damaged value vector");
            const uint64_t times = in.natural();
            const bool endless = times == 0;
            if (endless != (open && i + 1 == n)) in.fail("an empty repetition");
            stride = in.integer();
            add_values(in, values, endless ? count : times, check_terms(in, false, 0, depth + 1, seen));
        } else {
            add_values(in, values, 1, 1);
            const int64_t value = in.integer();
            if (!seen.any) seen.first = value;
            seen.any = true;
        }
        seen.rep = rep;
        seen.stride = stride;
    }
    return values;
}

/* Is a stride unfit to continue without end: falling, or between names? */
bool is_bounded(int64_t stride) { return stride < 0 || stride > kMaxStride; }

} // namespace

Vec::Vec(const Vec &o) : n_(o.n_), first_(o.first_), max_few_values_(o.max_few_values_), form_(o.form_) {
    if (o.form_ == kPlain) {
        few_values_ = new int64_t[o.few_capacity_];
        few_capacity_ = o.few_capacity_;
        std::copy(o.few_values_, o.few_values_ + n_, few_values_);
    } else if (o.form_ == kDetail) {
        detail_ = new Detail(*o.detail_);
    } else if (o.form_ == kFlat) {
        flat_ = Flat::make(*o.flat_, o.flat_->terms());
    }
}
Vec &Vec::operator=(const Vec &o) {
    if (this != &o) *this = Vec(o);
    return *this;
}

void Vec::drop_detail() {
    delete detail_;
    Flat::free(flat_);
    detail_ = nullptr;
    flat_ = nullptr;
}

void Vec::drop() {
    drop_detail();
    delete[] few_values_;
}

/* More memory for the plain form. */
void Vec::grow_values() {
    const uint16_t room = n_ < kMaxFewValues ? kMaxFewValues : kMaxKeptValues;
    int64_t *bigger = new int64_t[room];
    if (form_ == kPlain) std::copy(few_values_, few_values_ + n_, bigger);
    delete[] few_values_;
    few_values_ = bigger;
    few_capacity_ = room;
}

/* Append a value that differs from a constant vector's, or to another form. */
void Vec::append_slow(int64_t value) {
    if (constant() && n_ < max_few_values_) { // the first value that differs
        if (few_capacity_ <= n_) grow_values();
        std::fill(few_values_, few_values_ + n_, first_);
        form_ = kPlain;
    }
    if (form_ == kPlain && n_ < max_few_values_) {
        if (few_capacity_ <= n_) grow_values();
        few_values_[n_++] = value;
        return;
    }
    if (constant()) { // a long constant vector becomes a term
        std::unique_ptr<Detail> created(new Detail);
        std::vector<Term> block;
        block.emplace_back(first_);
        created->terms.emplace_back(n_, 0, std::move(block));
        created->tags.push_back(0);
        created->start_cursor();
        detail_ = created.release();
        form_ = kDetail;
    }
    detail();
    detail_->append(value);
    ++n_;
}

void Vec::append(const int64_t *values, size_t n, size_t stride) {
    size_t i = 0;
    for (; i < n && form_ != kDetail; ++i) append(values[i * stride]);
    if (i == n) return;
    n_ += n - i;
    while (i < n) {
        const size_t run = detail_->follow_run(values + i * stride, n - i, stride);
        if (!run) detail_->append(values[i * stride]);
        i += std::max<size_t>(run, 1);
    }
}

/* From the plain form to terms. */
void Vec::compress() const {
    std::unique_ptr<Detail> created(new Detail);
    for (uint64_t i = 0; i < n_; ++i) created->append(few_values_[i]);
    detail_ = created.release();
    form_ = kDetail;
}

/* From the flat form to terms and cursor. */
void Vec::restore_detail() const {
    std::unique_ptr<Detail> created(new Detail);
    Unpacker in(flat_->terms().data(), flat_->nbytes);
    const size_t n = in.array();
    created->terms = st::unpack_terms(in, n);
    if (flat_->open) created->terms.back().rep->count = flat_->count;
    for (const Term &t : created->terms) created->tags.push_back(static_cast<uint32_t>(term_tag(t)));
    if (flat_->open) {
        created->start_cursor();
        for (uint64_t i = 0; i < flat_->matched; ++i) created->advance();
    }
    Flat::free(flat_);
    flat_ = nullptr;
    detail_ = created.release();
    form_ = kDetail;
}

const Vec::Detail &Vec::detail() const {
    if (form_ == kPlain) compress();
    if (form_ == kFlat) restore_detail();
    return *detail_;
}

const Vec::Flat &Vec::flat() const {
    if (form_ != kFlat) {
        const Detail &d = detail();
        BytePacker p;
        d.pack(p, d.predicting);
        const uint64_t count = d.predicting ? d.terms.back().rep->count : 0;
        flat_ = Flat::make(Flat{d.matched, count, 0, d.predicting, bounded()}, p.out);
        delete detail_;
        detail_ = nullptr;
        form_ = kFlat;
    }
    return *flat_;
}

/* [number of values, value] when all are equal; else [number of values, open, matched, count, terms]. */
void Vec::pack(BytePacker &p) const {
    p.array(constant() ? 2 : 5);
    p.natural(n_);
    if (constant()) return p.integer(first_);
    const Flat *f = form_ == kFlat ? flat_ : nullptr;
    const Detail *d = f ? nullptr : &detail();
    p.natural(f ? f->open : d->predicting);
    p.natural(f ? f->matched : d->matched);
    p.natural(f ? f->count : d->predicting ? d->terms.back().rep->count : 0);
    if (f) return p.str(f->terms());
    BytePacker terms;
    d->pack(terms, d->predicting);
    p.str(terms.out);
}

void Vec::skip(Unpacker &in) {
    const size_t n = in.array();
    if (n != 2 && n != 5) in.fail("a damaged value vector");
    for (size_t i = 0; i < (n == 2 ? 2 : 4); ++i) in.integer();
    if (n == 5) in.view();
}

Vec Vec::unpack_terms(Unpacker &in, size_t n, uint64_t size) {
    Vec v;
    v.n_ = size;
    if (n != 5) in.fail("a damaged value vector");
    Flat head{};
    head.open = in.natural() != 0;
    head.matched = in.natural();
    head.count = in.natural();
    const std::string_view terms = in.view();
    Unpacker inside(terms.data(), terms.size());
    Outline seen;
    uint64_t values = check_terms(inside, head.open, head.count, 0, seen);
    add_values(in, values, head.matched, 1);
    if (values != size) in.fail("a value vector of another length than it claims");
    if (!inside.at_end() || !seen.any || head.matched > v.n_ || (head.open && (!seen.rep || !head.count)))
        in.fail("a damaged value vector");
    head.bounded = head.open && is_bounded(seen.stride);
    v.first_ = seen.first;
    v.flat_ = Flat::make(head, terms);
    v.form_ = kFlat;
    return v;
}

/* Long runs cost O(1) once they are in a repetition. */
void Vec::append_run(int64_t value, uint64_t times) {
    if (constant() && times && (n_ == 0 || value == first_)) {
        first_ = value;
        n_ += times;
        return;
    }
    for (; times; --times) {
        ExpansionLimit::take(1);
        append(value);
        if (!detail_ || !detail_->predicting || detail_->cursor.size() != 1) continue;
        Rep &r = *detail_->cursor[0].rep;
        if (r.stride == 0 && r.block.size() == 1 &&
            r.block[0].value == value) { // a run of the value: append the rest at once
            n_ += times - 1;
            r.count += times - 1;
            detail_->cursor[0].iteration = r.count;
            return;
        }
    }
}

void Vec::concat(const Vec &other) {
    if (other.constant())
        append_run(other.first_, other.n_);
    else if (other.form_ == kPlain)
        append(other.few_values_, other.n_, 1);
    else
        other.runs([this](int64_t v, uint64_t times) { append_run(v, times); });
}

void Vec::runs(const std::function<void(int64_t, uint64_t)> &f) const {
    if (constant()) {
        if (n_) f(first_, n_);
        return;
    }
    if (form_ == kPlain) {
        for (uint64_t i = 0; i < n_; ++i) f(few_values_[i], 1);
        return;
    }
    each_term([&f](const Term &t) { expand(t, 0, f); });
    if (matched()) {
        const Detail &d = detail();
        std::vector<std::pair<int64_t, uint64_t>> prefix;
        uint64_t left = d.matched;
        const Rep &r = *d.terms.back().rep;
        for (size_t i = 0; left && i < r.block.size(); ++i)
            Detail::collect(r.block[i], static_cast<Wide>(r.count) * r.stride, left, prefix);
        for (auto [v, times] : prefix) f(v, times);
    }
}

int64_t Vec::last() const {
    int64_t value = first_;
    if (!constant()) runs([&](int64_t v, uint64_t) { value = v; });
    return value;
}

/* Append all values but the last again, then the changed one. */
void Vec::add_to_last(int64_t by) {
    Vec rebuilt;
    uint64_t left = n_;
    runs([&](int64_t v, uint64_t times) {
        left -= times;
        rebuilt.append_run(v, left ? times : times - 1);
        if (!left) rebuilt.append(plus(v, by));
    });
    *this = std::move(rebuilt);
}

Vec Vec::prefix(uint64_t n) const {
    if (constant()) return Vec(first_, n);
    Vec out;
    runs([&](int64_t v, uint64_t times) { out.append_run(v, std::min(times, n - out.size())); });
    if (out.size() == n || !open()) return out;
    Vec longer = *this;
    longer.terms();
    int64_t next;
    while (longer.size() < n && longer.open() && longer.detail_->expected(next)) {
        ExpansionLimit::take(1);
        longer.append(next);
    }
    return longer;
}

static size_t term_bytes(const std::vector<Term> &terms) {
    size_t n = terms.capacity() * sizeof(Term);
    for (const Term &t : terms)
        if (t.rep) n += sizeof(Rep) + term_bytes(t.rep->block);
    return n;
}

size_t Vec::nbytes() const {
    size_t n = few_capacity_ * sizeof *few_values_;
    if (flat_) n += sizeof(Flat) + flat_->nbytes;
    if (detail_)
        n += sizeof(Detail) + (detail_->older ? detail_->older->out.size() : 0) + term_bytes(detail_->terms) +
             (detail_->tags.capacity() + detail_->lag_table.capacity()) * 4;
    return n;
}

bool Vec::same_values(const Vec &other) const {
    if (constant() || other.constant()) return constant() && other.constant() && first_ == other.first_;
    return first_ == other.first_ && flat() == other.flat() && (!bounded() || n_ == other.n_);
}

const std::vector<Term> &Vec::terms() const {
    if (detail().nolder) detail_->unpack_older();
    return detail_->terms;
}

size_t Vec::nterms() const {
    if (form_ == kFlat) return Unpacker(flat_->terms().data(), flat_->nbytes).array();
    return detail().nolder + detail().terms.size();
}

void Vec::each_term(const std::function<void(const Term &)> &f) const {
    if (form_ != kFlat) {
        detail().each_older(f);
        for (const Term &t : detail().terms) f(t);
        return;
    }
    Unpacker in(flat_->terms().data(), flat_->nbytes);
    for (size_t n = in.array(); n; --n) {
        Term t = unpack_term(in);
        if (n == 1 && flat_->open) t.rep->count = flat_->count;
        f(t);
    }
}

bool Vec::open() const {
    if (constant()) return true;
    return form_ == kFlat ? flat_->open : detail().predicting;
}

bool Vec::bounded() const {
    if (constant() || !open()) return false;
    return form_ == kFlat ? flat_->bounded : is_bounded(detail_->terms.back().rep->stride);
}

uint64_t Vec::matched() const {
    if (constant()) return 0;
    return form_ == kFlat ? flat_->matched : detail().matched;
}

} // namespace st
