#include "elastic.hpp"

#include <algorithm>

namespace st {

void Elastic::spread(const RankSet &ranks) {
    if (groups_) return;
    groups_.reset(new std::vector<Group>);
    groups_->push_back(Group{ranks, std::move(vec)});
    vec = Vec();
}

void Elastic::add_group(Group &&group) {
    for (Group &g : *groups_) {
        if (!g.vec.same_values(group.vec)) continue;
        g.ranks.unite(group.ranks);
        return;
    }
    groups_->push_back(std::move(group));
}

/* Groups in the order of their lowest rank; one group for everybody needs no ranklist. */
void Elastic::normalise() {
    std::sort(groups_->begin(), groups_->end(),
              [](const Group &a, const Group &b) { return a.ranks.lowest() < b.ranks.lowest(); });
    if (groups_->size() != 1) return;
    vec = std::move(groups_->front().vec);
    groups_.reset();
}

void Elastic::unite(const RankSet &mine, Elastic &&other, const RankSet &theirs) {
    if (single() && other.single() && vec.same_values(other.vec)) return;
    spread(mine);
    other.spread(theirs);
    for (Group &g : *other.groups_) add_group(std::move(g));
    normalise();
}

const Vec *Elastic::of(int32_t rank) const {
    if (!groups_) return &vec;
    for (const Group &g : *groups_)
        if (g.ranks.contains(rank)) return &g.vec;
    return nullptr;
}

size_t Elastic::nbytes() const {
    size_t n = vec.nbytes();
    if (groups_)
        for (const Group &g : *groups_)
            n += sizeof(Group) + g.vec.nbytes() + g.ranks.intervals().size() * sizeof(Interval);
    return n;
}

} // namespace st
