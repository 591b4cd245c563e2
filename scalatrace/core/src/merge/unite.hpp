/* unite.hpp - inter-node compression: the trees of two disjoint sets of ranks become one (§5.2.4).
 *
 *     ranks 0..1   Bcast   [Send Recv] x 10                   ranks 2..3   Bcast   [Send Recv] x 20   Barrier
 *
 *     ranks 0..3   Bcast   [Send Recv] x {0..1: 10, 2..3: 20}   Barrier {2..3}
 *
 * The trees are merged along the radix tree of ranks (pmpi/process/finish.h), each rank into its parent. Events are
 * aligned whatever the loops around them. Where trip counts or values differ, an elastic value gets another group
 * <value vector, ranklist>. Bodies of equal shapes need no alignment: they take linear time.
 */
#ifndef ST_UNITE_HPP
#define ST_UNITE_HPP

#include "tree/match.hpp"
#include "merge/peers.hpp"

namespace st {

/* Merge `theirs` into `mine`. Both are roots, whose bodies run once. The lowest rank is in `mine`. */
void unite_roots(NodePool &pool, CodeOrder &order, Body &mine, Body &&theirs, const std::vector<OpSchema> &ops,
                 Peers &peers, bool loop_agnostic);

} // namespace st
#endif
