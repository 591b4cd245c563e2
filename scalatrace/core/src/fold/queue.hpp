/* queue.hpp - intra-node compression: the past of one rank as a list of nodes, kept compressed as events arrive.
 *
 *   queue   Bcast   [loop L: a {b c} d]   a   [loop M: b c]
 *                                              ^ cursor: M has run twice, next expected b (again), or whatever follows M
 *
 * Steady state: the last node is a loop and a cursor (a frame per nested loop) stands in its body. An event that is
 * expected there costs O(1): it is held until its iteration is whole, then joined to the body. Because a loop's trip
 * count is only fixed when the cursor leaves it, there are no trailing iterations (the delayed merge of Algorithm
 * 4). Otherwise what is unfinished is laid out in the queue, and two neighbouring stretches of it with equal first
 * and last events are looked for: equal ones are joined at once, others when their alignment is worth it (§5.2.2). */
#ifndef ST_QUEUE_HPP
#define ST_QUEUE_HPP

#include "fold/fold.hpp"

#include <unordered_map>

namespace st {

class Queue {
  public:
    Queue(NodePool &pool, CodeOrder &order) : pool_(pool), order_(order) {}
    ~Queue();

    /* After a failure in the middle of a change: forget the nodes, whose state nobody knows. */
    void abandon();

    bool align_loops = true; // iterations that differ become one loop

    void append(Node *event);        // takes it over
    void finish();                   // close all loops
    Body take();                     // the nodes, after finish(); the queue is empty then
    Body copy(NodePool &pool) const; // the nodes as they stand, unfinished iterations laid out; the queue goes on
    size_t nbytes() const;

    /* When the event only goes on a run of the same event, where to append it; else null. Saves making a node. */
    Node *running(uint64_t key) {
        if (!frames_.empty() || queue_.empty()) return nullptr;
        Node *n = queue_.back().node;
        return n->leaf() && n->first == key ? n : nullptr;
    }

  private:
    struct Entry {
        Node *node;
        uint32_t before; // index + 1 of the previous entry with the same last event
        CodeStep step;   // from the entry in front
    };
    struct Frame {
        Node *loop;               // being extended: the queue's last node, or the outer frame's last pending one
        size_t next = 0;          // index in the body of what is expected
        Body pending;             // of the unfinished iteration
        std::vector<uint32_t> at; // their indices in the body
    };

    NodePool &pool_;
    CodeOrder &order_;
    std::vector<Entry> queue_;
    std::vector<Frame> frames_;
    const Node *next_ = nullptr; // the event that is about to be appended
    int64_t credit_ = 0;         // steps of looking and aligning that the events so far have paid for
    std::unordered_map<uint64_t, uint32_t> latest_; // last event -> index + 1 of the latest entry ending with it

    void push(Node *node);
    Body pop_from(size_t index);

    bool advance(Node *event);
    void place(size_t frame, size_t index, Node *event);
    void commit(Frame &frame);
    bool completable(const Frame &frame) const;
    void spill();

    bool detect();
    bool seam(size_t head, size_t first) const;
    bool continues(size_t from);
    bool fold(size_t from);
    bool join_equal(size_t tail, size_t length);
    bool join_trailing(size_t tail);
    bool join_similar(size_t tail, size_t length);
    bool join_missing_head(size_t first, size_t length, size_t reach);
    size_t iteration_head(size_t first, size_t reach);
    bool pay(size_t work);
    Body stretch(size_t from, size_t end) const;
    void repeat_from(size_t head, size_t first, const Alignment *alignment);
    void extend(size_t loop_index, const Alignment *alignment);
    void open(Node *loop);
};

} // namespace st
#endif
