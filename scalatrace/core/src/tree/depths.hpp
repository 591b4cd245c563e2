/* depths.hpp - the stack depth at which a tree of many call paths would have far fewer nodes.
 *
 *     depth 3   reduce<newview<traverse   reduce<newview<evaluate   reduce<newview<traverse   reduce<newview<evaluate ...
 *     depth 2   reduce<newview            reduce<newview            ... : the second one repeats the first, and is dropped
 *
 * Event nodes are compared by operation and innermost frames. Lists of nodes are folded anew, from the leaves up: a block
 * that repeats the one before it is dropped. scalatrace.report.trees.depths does the same for a trace file.
 */
#ifndef ST_DEPTHS_HPP
#define ST_DEPTHS_HPP

#include "tree/node.hpp"
#include "tree/tables.hpp"

namespace st {

struct DepthAdvice {
    int depth = 0;        // 0: the call paths are no problem
    size_t nodes = 0;     // estimate of the event nodes at this depth; the compressor makes fewer
    size_t nodes_now = 0; // event nodes of the tree
};

DepthAdvice advised_depth(const std::vector<Node *> &roots, const Tables &tables);

} // namespace st
#endif
