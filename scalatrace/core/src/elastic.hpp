/* elastic.hpp - an elastic value: value vectors, each for a group of ranks (§5.2.1).
 *
 * While one vector serves all participants of its node no ranklist is stored (`groups` empty); the intra-node
 * stage never has more. The inter-node merge adds groups where ranks differ. */
#ifndef ST_ELASTIC_HPP
#define ST_ELASTIC_HPP

#include "ranks.hpp"
#include "vec.hpp"

#include <vector>

namespace st {

struct Group {
    RankSet ranks;
    Vec vec;
};

class Elastic {
  public:
    Vec vec; // of all participants, when there is no group

    bool dead = false; // a peer encoding given up because another needs far fewer vectors

    bool single() const { return !groups_; }
    const std::vector<Group> &groups() const { return *groups_; }
    std::vector<Group> &groups() { return *groups_; }
    size_t ngroups() const { return groups_ ? groups_->size() : 1; }

    Elastic() = default;
    Elastic(const Elastic &o)
        : vec(o.vec), dead(o.dead), groups_(o.groups_ ? new std::vector<Group>(*o.groups_) : nullptr) {}
    Elastic &operator=(const Elastic &o) {
        if (this != &o) *this = Elastic(o);
        return *this;
    }
    Elastic(Elastic &&) noexcept = default;
    Elastic &operator=(Elastic &&) noexcept = default;

    /* No values, as new. */
    void reset() {
        vec.clear();
        groups_.reset();
        dead = false;
    }
    /* Give the vector of all participants, `ranks`, its ranklist; no effect when there are groups. */
    void spread(const RankSet &ranks);

    /* Take over another elastic value of other ranks. `mine`, `theirs`: the participants of each. */
    void unite(const RankSet &mine, Elastic &&other, const RankSet &theirs);

    /* The vector of one rank; null when it has none. */
    const Vec *of(int32_t rank) const;

    size_t nbytes() const;

  private:
    std::unique_ptr<std::vector<Group>> groups_;

    void normalise();
};

} // namespace st
#endif
