/* arrays.cpp - shorter forms of arrays, and the terms of vectors in the form of the file.
 *
 * relative()  rotate each rank's array so that it begins at the rank's own element; fewer different arrays may remain
 * sums()      displacements that are the sums of counts need no elements of their own
 *
 * Both are tried where a parameter has at least kMinArrays different arrays, and used where they save at least half.
 */
#include "core/arrays.hpp"

#include "tree/hash.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace st {

namespace {

constexpr size_t kMinArrays = 3; // different arrays of a parameter from which on a shorter form is sought

/* `without_end`: the last term of an open vector, whose count is 0 in the file. */
void put_term(Packer &p, const Term &t, bool without_end) {
    if (!t.rep) return p.integer(t.value);
    p.array(2 + t.rep->block.size());
    p.natural(without_end ? 0 : t.rep->count);
    p.integer(t.rep->stride);
    for (const Term &inner : t.rep->block) put_term(p, inner, false);
}

/* Finds arrays that are sums of another one: displacements 0, n0, n0 + n1, ... of a collective with counts n0, n1,
 * ... */
class Sums {
  public:
    /* Add the next array. Return the index of the earlier array whose sums are its elements, or -1. */
    int64_t next(const Array &array) {
        std::vector<int64_t> values;
        array.values.runs([&](int64_t x, uint64_t times) {
            ExpansionLimit::take(times);
            values.insert(values.end(), times, x);
        });
        const int64_t result = array.values.constant() ? -1 : counts_of(values);
        if (!values.empty()) values.pop_back(); // the last count is in no sum
        if (result < 0) by_content_.emplace(hash(values), static_cast<int64_t>(pieces_.size()));
        pieces_.push_back(std::move(values));
        return result;
    }
    /* Add an array that is no candidate. */
    void skip() { pieces_.emplace_back(); }

  private:
    std::vector<std::vector<int64_t>> pieces_; // each array without its last value
    std::unordered_multimap<uint64_t, int64_t> by_content_;

    static uint64_t hash(const std::vector<int64_t> &values) {
        return hash_bytes(values.data(), values.size() * sizeof(int64_t), 31);
    }
    int64_t counts_of(const std::vector<int64_t> &sums) const {
        if (sums.size() < 3 || sums[0]) return -1;
        std::vector<int64_t> counts;
        for (size_t i = 1; i < sums.size(); ++i) {
            counts.emplace_back();
            if (__builtin_sub_overflow(sums[i], sums[i - 1], &counts.back())) return -1;
        }
        const auto [begin, end] = by_content_.equal_range(hash(counts));
        for (auto it = begin; it != end; ++it)
            if (pieces_[static_cast<size_t>(it->second)] == counts) return it->second;
        return -1;
    }
};

/* Replace each name n of a vector by f(n). Return false when f returns 0. */
template <class F> bool renamed(const Vec &names, Vec &out, F &&f) {
    bool good = true;
    names.runs([&](int64_t name, uint64_t times) {
        const uint64_t other = good ? f(static_cast<uint64_t>(name)) : 0;
        good = good && other;
        if (good) out.append_run(static_cast<int64_t>(other), times);
    });
    return good;
}

} // namespace

void put_terms(Packer &p, const std::vector<Term> &terms, bool open) {
    p.array(terms.size());
    for (size_t i = 0; i < terms.size(); ++i) put_term(p, terms[i], open && i + 1 == terms.size());
}

void put_closed(Packer &p, const Vec &v) {
    if (v.size() == 0) return p.array(0);
    if (v.constant()) {
        if (v.size() == 1) return p.integer(v.first());
        p.array(1);
        p.array(3);
        p.natural(v.size());
        p.integer(0);
        return p.integer(v.first());
    }
    std::vector<int64_t> rest; // values of the last repetition's unfinished iteration
    uint64_t at = 0;
    if (v.matched())
        v.runs([&](int64_t x, uint64_t times) {
            for (; times; --times)
                if (at++ >= v.size() - v.matched()) rest.push_back(x);
        });
    p.array(v.nterms() + rest.size());
    v.each_term([&p](const Term &t) { put_term(p, t, false); });
    for (int64_t x : rest) p.integer(x);
}

void put_vec(Packer &p, const Vec &v) {
    if (v.constant()) return p.integer(v.first());
    if (v.bounded()) return put_closed(p, v);
    size_t left = v.nterms();
    p.array(left);
    v.each_term([&](const Term &t) { put_term(p, t, --left == 0 && v.open()); });
}

const Array *ArrayTable::find(uint64_t name) const {
    if (const Array *a = tables_.arrays.find(name)) return a;
    const auto it = derived_.find(name);
    return it == derived_.end() ? nullptr : &it->second.array;
}

int64_t ArrayTable::index(uint64_t name) {
    if (const auto it = index_.find(name); it != index_.end()) return it->second;
    if (!find(name)) return -1;
    if (const auto it = derived_.find(name); it != derived_.end() && it->second.sums_of)
        index(it->second.sums_of); // the file has an array before its sums
    const auto at = static_cast<int64_t>(used_.size());
    used_.push_back(name);
    return index_[name] = at;
}

/* Insert an array under a hash of its content and kind, a name that no recorded array has. */
uint64_t ArrayTable::add(DerivedArray &&derived) {
    std::string key;
    for (const auto &[value, times] : runs_of(derived.array)) {
        key.append(reinterpret_cast<const char *>(&value), sizeof value);
        key.append(reinterpret_cast<const char *>(&times), sizeof times);
    }
    key.append(reinterpret_cast<const char *>(&derived.sums_of), sizeof derived.sums_of);
    const uint64_t name = hash_bytes(key.data(), key.size(), derived.relative ? 41 : 37);
    derived_.try_emplace(name, std::move(derived));
    return name;
}

int64_t ArrayTable::average_array(Averaged a, bool displacements) {
    const int64_t step =
        a.length < 2 ? 0 : round_to_int64(2.0 * static_cast<double>(a.mean) / (static_cast<double>(a.length) - 1));
    DerivedArray derived{{a.length, {}}};
    if (displacements) {
        ExpansionLimit::take(a.length);
        for (uint64_t i = 0; i < a.length; ++i) derived.array.values.append(static_cast<int64_t>(i) * step);
    } else {
        derived.array.values.append_run(a.mean, a.length);
    }
    return index(add(std::move(derived)));
}

ArrayTable::Runs ArrayTable::runs_of(const Array &array) {
    Runs result;
    array.values.runs([&](int64_t value, uint64_t times) { result.emplace_back(value, times); });
    return result;
}

/* Elements before the rank's own go to the end. */
uint64_t ArrayTable::rotated(uint64_t name, Place place) {
    const Array *array = find(name);
    if (!array) return name; // a special value
    if (static_cast<int64_t>(array->length) != place.size || array->values.size() != array->length) return 0;
    DerivedArray derived{{array->length, {}}, true};
    Runs before;
    auto left = static_cast<uint64_t>(place.self); // elements before the rank's own, which move to the end
    for (const auto &[value, times] : runs_of(*array)) {
        const uint64_t moved = std::min(left, times);
        if (moved) before.emplace_back(value, moved);
        if (times > moved) derived.array.values.append_run(value, times - moved);
        left -= moved;
    }
    for (const auto &[value, times] : before) derived.array.values.append_run(value, times);
    return add(std::move(derived));
}

std::optional<Elastic> ArrayTable::relative(const Node *n, const Elastic &arrays) {
    if (arrays.single() || arrays.summary || arrays.ngroups() < kMinArrays) return {};
    std::set<int64_t> different;
    for (const Group &g : arrays.groups()) g.vec.runs([&](int64_t name, uint64_t) { different.insert(name); });
    if (different.size() < kMinArrays) return {};
    const size_t most = different.size() / 2;
    std::set<int64_t> needed;
    Elastic result;
    RankSet done;
    for (const Interval i : n->ranks.intervals())
        for (int64_t rank = i.low; rank <= i.high; ++rank) {
            const auto r = static_cast<int32_t>(rank);
            Place place;
            Elastic one;
            const Vec *names = arrays.of(r);
            const bool good = names && peers_.place_in(n, r, place) &&
                              renamed(*names, one.vec, [&](uint64_t name) { return rotated(name, place); });
            if (good) one.vec.runs([&](int64_t name, uint64_t) { needed.insert(name); });
            if (!good || needed.size() > most) return {};
            const RankSet self(r);
            if (done.empty())
                result = std::move(one);
            else
                result.unite(done, std::move(one), self);
            done.unite(self);
        }
    return result;
}

/* Is one array the sums of the elements before each element of the other? */
bool ArrayTable::are_sums(uint64_t sums, uint64_t counts) const {
    const Array *s = find(sums), *c = find(counts);
    if (!s || !c || s->length != c->length) return false;
    int64_t at = 0;
    bool same = true; // and within 64 bits: readers do not check
    std::vector<int64_t> expected;
    c->values.runs([&](int64_t value, uint64_t times) {
        for (; times; --times) {
            same = same && expected.size() < s->values.size();
            if (!same) return;
            expected.push_back(at);
            if (__builtin_add_overflow(at, value, &at)) same = expected.size() == s->values.size();
        }
    });
    size_t i = 0;
    same = same && expected.size() == s->values.size();
    s->values.runs([&](int64_t value, uint64_t times) {
        for (; times && same; --times) same = expected[i++] == value;
    });
    return same;
}

/* Name of the sums of a relative array; 0: it is a recorded array, which is no relative one. */
uint64_t ArrayTable::sums_name(uint64_t name) {
    const auto it = derived_.find(name);
    if (it == derived_.end()) return find(name) ? 0 : name;
    DerivedArray derived{it->second.array, true, name};
    return add(std::move(derived));
}

std::optional<Elastic> ArrayTable::sums(const Node *n, const Elastic &arrays, const Elastic &counts,
                                        const Elastic &shorter) {
    if (arrays.single() || arrays.summary || arrays.ngroups() < kMinArrays) return {};
    for (const Interval i : n->ranks.intervals())
        for (int64_t rank = i.low; rank <= i.high; ++rank) {
            const Vec *s = arrays.of(static_cast<int32_t>(rank)), *c = counts.of(static_cast<int32_t>(rank));
            if (!s || !c) return {};
            std::vector<uint64_t> names; // names of the counts, one per execution
            c->prefix(std::max(s->size(), c->size())).runs([&](int64_t name, uint64_t times) {
                names.insert(names.end(), times, static_cast<uint64_t>(name));
            });
            size_t at = 0;
            bool same = true;
            std::pair<uint64_t, uint64_t> good{0, 0}; // the last pair, which mostly comes again
            s->prefix(names.size()).runs([&](int64_t name, uint64_t times) {
                for (; times && same; --times, ++at) {
                    const std::pair pair{static_cast<uint64_t>(name), names[at]};
                    same = pair == good || are_sums(pair.first, pair.second);
                    good = pair;
                }
            });
            if (!same || at != names.size()) return {};
        }
    auto of = [&](const Vec &names, Vec &out) {
        return renamed(names, out, [&](uint64_t name) { return sums_name(name); });
    };
    Elastic result = shorter;
    if (shorter.single()) {
        result.vec.clear();
        if (!of(shorter.vec, result.vec)) return {};
        return result;
    }
    for (size_t i = 0; i < shorter.groups().size(); ++i) {
        result.groups()[i].vec.clear();
        if (!of(shorter.groups()[i].vec, result.groups()[i].vec)) return {};
    }
    return result;
}

/* [length, values], [length, values, 1] for a relative array, [index] for the sums of another one. */
void ArrayTable::put(Packer &p) {
    p.array(used_.size());
    Sums known;
    for (const uint64_t name : used_) {
        const auto it = derived_.find(name);
        const bool relative = it != derived_.end() && it->second.relative;
        const Array &array = *find(name);
        const int64_t counts = !relative ? known.next(array) : it->second.sums_of ? index_.at(it->second.sums_of) : -1;
        if (relative) known.skip();
        if (counts >= 0) {
            p.array(1);
            p.integer(counts);
            continue;
        }
        p.array(relative ? 3 : 2);
        p.natural(array.length);
        put_vec(p, array.values);
        if (relative) p.integer(1);
    }
}

} // namespace st
