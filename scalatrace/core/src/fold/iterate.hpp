/* iterate.hpp - joining stretches of one past in time: iterations of loops into one body (§5.2.2, rules 1-5). */
#ifndef ST_ITERATE_HPP
#define ST_ITERATE_HPP

#include "fold/align.hpp"

namespace st {

/* `later` has the same shape and ran after `node`: append its content. `later` is released. */
void append_content(NodePool &pool, CodeOrder &order, Node *node, Node *later);

/* A new sequence that has run once: these queue nodes, in this order. */
Node *begin_loop(NodePool &pool, Body &&nodes);

/* Append `later` (nodes with a repeat for each of `runs` executions) to the body of `loop` along an alignment.
 * Left-only nodes get repeat 0 for the new executions, right-only nodes repeat 0 for the past ones. */
void append_body(NodePool &pool, CodeOrder &order, Node *loop, Body &&later, uint64_t runs, const Alignment &alignment);

/* Make the loop's iteration `at` (from 0, not the first) part of the one before where it only goes on with it:
 * events further ahead in the body and in the program's text. */
void close_iteration(CodeOrder &order, Node *loop, uint64_t at);

/* Queue nodes as one execution of a body: each node's count becomes its repeat. */
void as_iteration(Body &nodes);

} // namespace st
#endif
