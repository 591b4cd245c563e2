/* queue.hpp - intra-node compression: the events of one rank as a list of nodes, compressed as events arrive
 * (§5.2.2).
 *
 *   queue    Bcast   [loop L: a {b c} d]   a   [loop M: b c]
 *                                               ^ cursor: M has run twice; expected next: b, or the event behind M
 *
 * Cursor. In the steady state the last node is a loop, and the cursor stands in its body, with a frame for each nested
 * loop. Or this loop is an exact repetition (below). An expected event costs O(1). It is pending until its iteration is complete, then the iteration joins
 * the body:
 *
 *   frames_[0]  loop L, next = 1, pending = a          at = 0        outer loop: index in the body of what comes next
 *   frames_[1]  loop {b c}, next = 1, pending = b      at = 0        inner loop: c is expected
 *
 * A loop's trip count is fixed only when the cursor leaves it, so there are no trailing iterations (the delayed
 * merge of Algorithm 4). Another event ends the loop: unfinished iterations are laid out in the queue behind it
 * (spill).
 *
 * Search. Each new last event is the match tail; entries with the same last event, found through `latest_` and
 * Entry::before, are candidates for the target tail, up to kWindow nodes back. Two neighbouring runs of nodes with
 * equal first and last events are two iterations of a loop:
 *
 *      target head      target tail   match head       match tail
 *           v                v            v                v
 *   ...     a        b       c            a        b       c          equal: joined at once  (join_equal)
 *           a        b       c            a        x       c          else aligned           (join_similar)
 *           `-- first iteration --'       `-- second ------'
 *                                    seam: the step from tail to head leads back in the program's text (order.hpp)
 *
 * Searching and aligning are paid from a credit that each event increases, so the cost per event is bounded. Where
 * alignments fail again and again, an event adds less.
 *
 * Repetition. Where the cursor and the search leave new nodes behind again and again although the events repeat exactly
 * (periods.hpp), the last nodes are unfolded (unfold.hpp). One period of events is folded on its own, and becomes a loop
 * that takes the others, and those that follow, without a search (block.hpp).
 */
#ifndef ST_QUEUE_HPP
#define ST_QUEUE_HPP

#include "fold/block.hpp"
#include "fold/partial_iterations.hpp"
#include "fold/periods.hpp"

#include <unordered_map>

namespace st {

class Queue {
  public:
    Queue(NodePool &pool, CodeOrder &order) : pool_(pool), order_(order) {}

    /* After a failure in the middle of a change: forget the nodes, which the pool frees. */
    void abandon();

    bool align_loops = true; // find loops whose iterations differ?

    /* Announce the next event. Return the last node if it is a run of the same event, to which the event can be
     * appended directly; else null: a node of the event must be appended. */
    Node *next(uint64_t key) {
        if (align_loops) periods_.add(key);
        return block_.active() ? nullptr : running(key);
    }
    void append(Node *event);        // owns it from now on
    void finish();                   // close all loops
    Body take();                     // the nodes, after finish(); the queue is empty then
    Body copy(NodePool &pool) const; // copies, with unfinished iterations laid out; the queue is unchanged
    size_t nbytes() const;

  private:
    struct Places { // index + 1 of an entry that begins, and of one that ends, with an event; 0: none
        uint32_t begins = 0, ends = 0;
    };
    struct Entry {     // of the queue
        Places before; // the previous entries with the same first event, and with the same last one
        CodeStep step; // from the entry before
    };
    struct Frame {                // of the cursor: one loop that it stands in
        Node *loop;               // that is extended: the queue's last node, or the outer frame's last pending node
        size_t next = 0;          // index in the body of the node that is expected
        Body pending;             // nodes of the unfinished iteration ...
        std::vector<uint32_t> at; // ... and their indices in the body
    };

    NodePool &pool_;
    CodeOrder &order_;
    Body nodes_;               // of the queue ...
    std::vector<Entry> queue_; // ... and their entries
    std::vector<Frame> frames_;
    Periods periods_;
    Block block_;
    uint64_t next_try_ = 0;      // number of events before which no repetition is tried: the cost per event is bounded
    uint64_t last_search_ = 0;   // number of events when the search was needed last
    const Node *next_ = nullptr; // the event that is about to be appended
    int64_t credit_ = 0;         // steps of search and alignment that may still be spent
    int64_t failed_cells_ = 0;   // cells of alignments that were not worth it, less what successes and the cursor saved
    std::unordered_map<uint64_t, Places> latest_; // event -> the last entries that begin and end with it

    /* Return the last node if it is a run of the same event; else null. */
    Node *running(uint64_t key) {
        if (!frames_.empty() || queue_.empty()) return nullptr;
        Node *n = nodes_.back();
        return n->leaf() && n->first == key ? n : nullptr;
    }
    bool place_event(Node *event); // by cursor or search; true: the cursor did not expect it
    void continue_run(Node *run, Node *event);
    void push(Node *node);
    Body pop_from(size_t index); // the nodes of the entries from `index` on

    // The cursor.
    bool advance(Node *event); // append the event if it is expected; false: it is not
    void place(size_t frame, size_t index, Node *event);
    void commit(Frame &frame);                  // join the pending iteration to the body
    bool completable(const Frame &frame) const; // can the pending iteration be complete?
    void spill();
    void open(Node *loop); // put the cursor into a loop

    // Exact repetitions.
    void leave_block();
    void repeat_exactly(const Repetition &found);
    uint64_t max_unfolded(const Repetition &found) const;
    bool can_unfold(const Repetition &found) const;
    Body unfold_last(const Repetition &found);
    size_t block_head(const Body &events, size_t from, uint64_t period);
    Body folded_apart(const Body &events);
    void begin_block(const Body &events);

    // The search: each joins two iterations and opens the loop, or returns false and changes nothing.
    bool detect();
    bool join_equal(size_t tail, size_t length);
    bool join_trailing(size_t tail);
    bool join_similar(size_t tail, size_t length);
    bool join_missing_head(size_t first, size_t length, size_t reach);

    bool seam(size_t head, size_t first) const;
    bool continues(size_t from);
    bool fold(size_t from);
    size_t iteration_head(size_t first, size_t reach);
    bool pay(size_t work);
    int64_t credit_per_event() const;
    Alignment aligned(Nodes before, Nodes later);
    Nodes stretch(size_t from, size_t end) const { return Nodes(nodes_).subspan(from, end - from); }
    void repeat_from(size_t head, size_t first, const Alignment *alignment);
    void extend(size_t loop_index, const Alignment *alignment);
};

} // namespace st
#endif
