/* elastic.cpp - groups of ranks with equal value vectors.
 *
 * unite() looks up the vector of each of the other's groups. An equal vector gets the other's ranks, any other
 * becomes a group. Equality of vectors is equality of their packed terms (vec.hpp), so a look-up compares bytes.
 */
#include "values/elastic.hpp"

#include <algorithm>
#include <unordered_map>

namespace st {

void Summary::add(int64_t value, uint64_t times, bool averaged) {
    if (averaged) lengths += static_cast<double>(Averaged::from(value).length) * static_cast<double>(times);
    values.add(static_cast<double>(averaged ? Averaged::from(value).mean : value), times);
}

/* Each vector counts once for each of its ranks. */
void Elastic::summarise(uint64_t nranks) {
    if (summary) return;
    std::unique_ptr<Summary> result(new Summary);
    auto add = [&](const Vec &v, uint64_t n) {
        v.runs([&](int64_t value, uint64_t times) { result->add(value, times * n, averaged); });
    };
    if (single()) add(vec, nranks);
    for (size_t i = 0; groups_ && i < groups_->size(); ++i) add((*groups_)[i].vec, (*groups_)[i].ranks.size());
    summary = std::move(result);
    vec.clear();
    groups_.reset();
}

/* Cheap tests first: counting terms compresses the values. */
void Elastic::check_terms() {
    if (!vec.constant() && vec.size() > limit && vec.nterms() > limit) summarise(1);
}

void Elastic::append_limited(int64_t value) {
    if (summary) return summary->add(value, 1, averaged);
    vec.append(value);
    check_terms();
}

void Elastic::append_later(const Elastic &later) {
    dead |= later.dead;
    if (later.limit) {
        limit = later.limit;
        averaged = later.averaged;
    }
    if (later.summary) {
        summarise(1);
        return summary->merge(*later.summary);
    }
    if (summary) return later.vec.runs([this](int64_t value, uint64_t times) { summary->add(value, times, averaged); });
    if (later.vec.constant() && later.vec.size() == 1)
        vec.append(later.vec.first());
    else
        vec.concat(later.vec);
    if (limit) check_terms();
}

void Elastic::spread(const RankSet &ranks) {
    if (groups_) return;
    groups_.reset(new std::vector<Group>);
    groups_->reserve(2); // another one will be added
    groups_->push_back(Group{ranks, std::move(vec)});
    vec = Vec();
}

namespace {

/* Finds the group with given values. Where there are many groups, an index by first value saves most comparisons. */
class Index {
  public:
    Index(std::vector<Group> &groups, size_t nmore) : groups_(groups) {
        if (groups.size() + nmore > kMaxLinear)
            for (size_t i = 0; i < groups.size(); ++i) by_first_.emplace(groups[i].vec.first(), i);
    }
    void add(Vec &&vec, RankSet &&ranks) {
        if (Group *known = find(vec)) return known->ranks.unite(ranks);
        if (!by_first_.empty()) by_first_.emplace(vec.first(), groups_.size());
        groups_.push_back(Group{std::move(ranks), std::move(vec)});
    }

  private:
    static constexpr size_t kMaxLinear = 32; // groups that are searched without an index

    std::vector<Group> &groups_;
    std::unordered_multimap<int64_t, size_t> by_first_; // empty: search all groups

    Group *find(const Vec &vec) {
        if (by_first_.empty()) {
            for (Group &g : groups_)
                if (g.vec.first() == vec.first() && g.vec.same_values(vec)) return &g;
            return nullptr;
        }
        const auto [from, to] = by_first_.equal_range(vec.first());
        for (auto it = from; it != to; ++it)
            if (groups_[it->second].vec.same_values(vec)) return &groups_[it->second];
        return nullptr;
    }
};

} // namespace

/* Sort the groups by their lowest rank. A single group becomes the vector of all participants. */
void Elastic::normalise() {
    std::sort(groups_->begin(), groups_->end(),
              [](const Group &a, const Group &b) { return a.ranks.lowest() < b.ranks.lowest(); });
    if (groups_->size() != 1) return;
    vec = std::move(groups_->front().vec);
    groups_.reset();
}

/* A histogram on either side makes the result a histogram. Of two limits the lower one counts. */
void Elastic::unite(const RankSet &mine, Elastic &&other, const RankSet &theirs) {
    if (other.limit && (!limit || other.limit < limit)) limit = other.limit;
    if (summary || other.summary) {
        summarise(mine.size());
        other.summarise(theirs.size());
        return summary->merge(*other.summary);
    }
    if (single() && other.single() && vec.same_values(other.vec)) return;
    spread(mine);
    Index index(*groups_, other.ngroups());
    if (other.single()) index.add(std::move(other.vec), RankSet(theirs));
    for (size_t i = 0; other.groups_ && i < other.groups_->size(); ++i) {
        Group &g = (*other.groups_)[i];
        index.add(std::move(g.vec), std::move(g.ranks));
    }
    normalise();
    if (limit && ngroups() > limit) summarise(0);
}

const Vec *Elastic::of(int32_t rank) const {
    if (!groups_) return &vec;
    for (const Group &g : *groups_)
        if (g.ranks.contains(rank)) return &g.vec;
    return nullptr;
}

size_t Elastic::nbytes() const {
    size_t n = vec.nbytes() + (summary ? sizeof *summary : 0);
    if (groups_)
        for (const Group &g : *groups_) n += sizeof(Group) + g.vec.nbytes() + g.ranks.nbytes();
    return n;
}

} // namespace st
