/* unite.hpp - inter-node compression: the trees of two disjoint sets of ranks become one (§5.2.4).
 *
 * Events are aligned whatever the loops around them; trip counts that differ are further <value vector, ranklist>
 * groups of a repeat. Equal structures take a linear path. */
#ifndef ST_UNITE_HPP
#define ST_UNITE_HPP

#include "fold/align.hpp"
#include "merge/peers.hpp"

namespace st {

/* Unite `theirs` into `mine`. Both are roots: their bodies run once. Ranks of `mine` come first. */
void unite_roots(NodePool &pool, CodeOrder &order, Body &mine, Body &&theirs, const std::vector<OpSchema> &ops,
                 Peers &peers, bool loop_agnostic);

} // namespace st
#endif
