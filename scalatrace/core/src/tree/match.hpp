/* match.hpp - the weighted longest common subsequence of two bodies (§5.2.2, §5.2.4).
 *
 *     a    Bcast   Irecv   -      Isend   [Send Recv]            score   + 30 per matched event
 *            |       |              |         |                          -  8 per event on one side only
 *     b    Bcast   Irecv   Test   Isend   Send Recv
 *            1~1     1~1    0~1     1~1       1~2: a pseudo-loop
 *
 * Events match when operation and stack signature are equal. Sequences match when their bodies align. A run of nodes
 * that looks like one iteration of a sequence in the other body matches this sequence, too: the pseudo-loop of the
 * dissertation's rule 2. Equal nodes at the beginning and the end match without a table.
 */
#ifndef ST_MATCH_HPP
#define ST_MATCH_HPP

#include "tree/order.hpp"

#include <map>
#include <span>

namespace st {

using Body = std::vector<Node *>;
using Nodes = std::span<Node *const>; // of a body, or of a stretch of the queue

/* The na nodes from index a match the nb nodes from index b: 1~1 a match, k~1 or 1~k a pseudo-loop, 1~0 only in the
 * left body, 0~1 only in the right one. */
struct Step {
    uint32_t a, na, b, nb;
};

struct Alignment {
    std::vector<Step> steps; // cover both bodies in their orders
    int64_t score = 0;
    uint32_t matched = 0;   // events in both bodies
    uint32_t unmatched = 0; // events in one body only, except those that some iterations skip anyway
    /* Does a common body take less space than two? */
    bool worth(uint32_t max_unmatched = 3) const {
        return score > 0 && matched > 0 && uint64_t{max_unmatched} * matched >= unmatched;
    }
};

struct AlignRules {
    explicit AlignRules(CodeOrder &program) : order(&program) {}
    uint32_t max_unmatched = 3; // limit of unmatched events per matched one
    int64_t match = 30;         // bytes that an event takes in a file, with histograms
    int64_t miss = 8;           // bytes of a repeat that is no longer constant
    int64_t known_miss = 1;     // the same where the repeat is not constant before
    bool same_shapes = false;   // do only equal structures match?
    bool same_ends = true;      // must sequences begin and end with equal events (§5.2.2)?
    CodeOrder *order;           // the order of unmatched nodes of both sides
};

class Aligner {
  public:
    /* `credit`: number of table cells that may be computed, reduced by those that are; null: no such limit. */
    explicit Aligner(AlignRules rules, int64_t *credit = nullptr) : rules_(rules), credit_(credit) {}
    /* Return an alignment that is not worth it where the credit does not suffice. */
    Alignment align(Nodes a, Nodes b);
    /* Can they be merged into one node? */
    bool can_match(const Node *a, const Node *b) {
        uint32_t matched, unmatched;
        return node_score(a, b, &matched, &unmatched) > 0;
    }

  private:
    /* Score of merging a and b; 0 when they cannot be merged. */
    int64_t node_score(const Node *a, const Node *b, uint32_t *matched, uint32_t *unmatched);
    int64_t miss(const Node *x) const { return (x->skipped ? rules_.known_miss : rules_.miss) * x->nleaves; }
    bool affordable(size_t cells);
    std::vector<Step> align_middle(Nodes a, Nodes b, size_t head, size_t n, size_t m);
    void sort_gaps(std::vector<Step> &steps, Nodes a, Nodes b);

    struct Score {
        int64_t score;
        uint32_t matched, unmatched;
    };
    struct Choice { // of a cell: nodes of the left and of the right body that its step takes
        uint32_t na, nb;
    };
    struct Column { // what the table needs of a right node
        uint64_t shape;
        int64_t miss; // cost where it is on one side only
        bool leaf;
    };
    AlignRules rules_;
    int64_t *credit_;
    std::map<std::pair<const Node *, const Node *>, Score> known_;
};

} // namespace st
#endif
