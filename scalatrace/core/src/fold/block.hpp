/* block.hpp - a loop whose calls repeat exactly. A block is one or more of its iterations.
 *
 *     loop      [ a [b c] ]   repeats: [b c] 2        leaves    a  b  c  b  c     the events of the block
 *                                                                     ^ next
 *
 * The next event is known, so nothing is searched. Values of events are pending, as plain integers, until their block
 * is complete. Then they join the loop, whose repeats are those of the first block once more.
 */
#ifndef ST_BLOCK_HPP
#define ST_BLOCK_HPP

#include "tree/match.hpp"

namespace st {

class Block {
  public:
    /* Is there a loop? */
    bool active() const { return loop_ != nullptr; }
    /* Follow a loop that ran one block so far. Return false and stay inactive if this has not `period`
     * events. */
    bool begin(Node *loop, uint64_t period);
    /* Append an event if it is the expected one; it is released or owned from then on. */
    bool append(NodePool &pool, CodeOrder &order, Node *event);
    /* Nodes of the events of the block that is not complete. */
    Body pending(NodePool &pool) const;
    /* The same; end the loop. */
    Body end(NodePool &pool);
    void abandon() { loop_ = nullptr; }
    size_t nbytes() const {
        return (rows_.capacity() + leaves_.capacity() + wide_.capacity()) * sizeof(int64_t) + samples_.nbytes();
    }

  private:
    struct Repeats { // of a node below the loop, and its executions, in a block
        Node *node;
        Vec repeat;
        uint64_t runs;
    };

    Node *loop_ = nullptr; // the queue's last node
    uint64_t trips_ = 0;   // its iterations in a block
    Body leaves_;
    std::vector<Repeats> repeats_;
    std::vector<int64_t> rows_; // values of the pending events ...
    Samples samples_;           // ... and their statistics ...
    Body wide_;                 // ... one for each: its node where they are not in a row, else null

    void note_repeats(Node *node);
    /* Call row(leaf, values, sample) or wide(leaf, node) for each pending event in order. */
    template <class Row, class Wide> void each_pending(const Row &row, const Wide &wide) const;
    void clear_pending();
    void commit(NodePool &pool, CodeOrder &order);
};

} // namespace st
#endif
