/* unfold.hpp - the executions of a node, one by one, in the order in which they ran.
 *
 *     [loop 2: a [loop 2, 1: b c]]    -->    a b c b c a b c
 */
#ifndef ST_UNFOLD_HPP
#define ST_UNFOLD_HPP

#include "tree/match.hpp"

#include <unordered_map>

namespace st {

/* Number of events of all executions of a queue node. */
uint64_t count_events(const Node *node);

/* Has the node a value for each execution? A histogram has as many as its bins count, in no order. */
bool has_all_values(const Node *node);

/* Visits the events of a tree in the order in which they ran. */
class Visitor {
  public:
    /* Call `f(event)` for each event of the next `times` executions of the node. */
    template <class F> void visit(Node *node, uint64_t times, const F &f) {
        if (node->leaf()) {
            for (; times; --times) f(node);
            return;
        }
        for (; times; --times)
            for (Node *kid : node->kids) visit(kid, next_repeat(kid), f);
    }

  private:
    struct Repeats {
        std::vector<int64_t> values;
        size_t next = 0;
    };
    std::unordered_map<const Node *, Repeats> repeats_;

    uint64_t next_repeat(const Node *kid);
};

/* Return a node of one execution of an event with these values, without a sample. */
Node *make_execution(NodePool &pool, const Node *event, const int64_t *row);

/* Release a queue node; return its events, each with its own values. Values and statistics of which only a histogram is
 * left are rebuilt from its bins. `before`: key of the event that ran before. */
Body unfold(NodePool &pool, Node *node, uint64_t before);

} // namespace st
#endif
