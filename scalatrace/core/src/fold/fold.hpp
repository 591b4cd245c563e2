/* fold.hpp - the first and the last iteration of a loop that are not whole.
 *
 * A pipeline's first stage receives nothing and its last sends nothing: S, [R W S] twice, R W is the loop [R W S]
 * four times, with repeats 0 1 1 1, 0 1 1 1 and 1 1 1 0. Which is only known when what encloses the loop is
 * complete. */
#ifndef ST_FOLD_HPP
#define ST_FOLD_HPP

#include "fold/iterate.hpp"
#include "tree/order.hpp"

namespace st {

/* Make neighbours of loops that are parts of an iteration iterations, where that is smaller. `body` is queue nodes
 * in the order they ran; false: nothing changed. */
bool fold_partial_iterations(NodePool &pool, CodeOrder &order, Body &body);

/* Two loops that ran one after the other become the first when they are, by where they go back, iterations of the
 * same loop of the program that made different calls, and that is smaller. */
bool join_loops(NodePool &pool, CodeOrder &order, Node *loop, Node *next);

} // namespace st
#endif
