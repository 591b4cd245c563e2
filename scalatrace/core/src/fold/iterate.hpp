/* iterate.hpp - append later executions to a node: iterations of a loop become one body (§5.2.2, rules 1-5).
 *
 *     loop body       A  B  C        repeats  A 1,1   B 1,1   C 1,1       two executions
 *     next iteration  A  C  D
 *     result          A  B  C  D              A 1,1,1 B 1,1,0 C 1,1,1 D 0,0,1
 */
#ifndef ST_ITERATE_HPP
#define ST_ITERATE_HPP

#include "tree/match.hpp"

namespace st {

/* Append the content of a node of the same shape that ran later; release that node. */
void append_content(NodePool &pool, CodeOrder &order, Node *node, Node *later);

/* Return a new sequence of these queue nodes, executed once. */
Node *begin_loop(NodePool &pool, Body &&nodes);

/* Append `runs` later executions of a body to the loop's. `alignment`: of both bodies. Nodes of the loop only get
 * repeat 0 for the new executions, nodes of `later` only repeat 0 for the past ones. */
void append_body(NodePool &pool, CodeOrder &order, Node *loop, Body &&later, uint64_t runs, const Alignment &alignment);

/* Join the loop's iteration `at` (above 0) with the one before, if it only continues it: its events are further
 * ahead in the body and in the program's text. */
void close_iteration(CodeOrder &order, Node *loop, uint64_t at);

/* Turn queue nodes into one execution of a body: each node's count becomes its repeat. */
void as_iteration(Body &nodes);

} // namespace st
#endif
