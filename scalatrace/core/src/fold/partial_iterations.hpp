/* partial_iterations.hpp - the first and the last iteration of a loop, where they are not complete.
 *
 *     pipeline, first stage receives nothing, last one sends nothing:
 *
 *     calls    S   R W S   R W S   R W
 *     queue    S   [R W S] x 2     R W          found by the queue
 *     folded   [R W S] x 4                      R 0 1 1 1, W 0 1 1 1, S 1 1 1 0
 *
 * This is only known once the surrounding sequence is complete.
 */
#ifndef ST_PARTIAL_ITERATIONS_HPP
#define ST_PARTIAL_ITERATIONS_HPP

#include "fold/iterate.hpp"
#include "tree/order.hpp"

namespace st {

/* Turn neighbours of loops that are part of an iteration into iterations, where that takes less space. `body`: queue
 * nodes in the order they ran. Return false when nothing has changed. */
bool fold_partial_iterations(NodePool &pool, CodeOrder &order, Body &body);

/* Append a loop to the one before it, if by their seams both are iterations of the same program loop with different
 * calls, and the result takes less space. Return false when nothing has changed. */
bool join_loops(NodePool &pool, CodeOrder &order, Node *loop, Node *next);

} // namespace st
#endif
