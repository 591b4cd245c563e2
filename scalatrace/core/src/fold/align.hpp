/* align.hpp - the weighted longest common subsequence of two bodies (§5.2.2, §5.2.4).
 *
 * Events match by operation and stack signature; sequences match when their bodies align. A stretch of one body that
 * looks like one iteration of a sequence in the other matches it too (a pseudo-loop of the dissertation's rule 2). */
#ifndef ST_ALIGN_HPP
#define ST_ALIGN_HPP

#include "tree/order.hpp"

#include <map>

namespace st {

using Body = std::vector<Node *>;

/* na nodes from a on stand for nb nodes from b on: 1~1 a match, k~1 or 1~k a pseudo-loop, 1~0 only left, 0~1 only
 * right. */
struct Step {
    uint32_t a, na, b, nb;
};

struct Alignment {
    std::vector<Step> steps; // in an order that keeps both bodies' orders
    int64_t score = 0;
    uint32_t matched = 0;   // events in both
    uint32_t unmatched = 0; // events in one only, not counting those that are skipped now and then anyway
    bool worth(uint32_t max_unmatched = 3) const {
        return score > 0 && matched > 0 && uint64_t{max_unmatched} * matched >= unmatched;
    }
};

struct AlignRules {
    explicit AlignRules(CodeOrder &program) : order(&program) {}
    uint32_t max_unmatched = 3; // events without a partner, for each that has one
    int64_t match = 30;         // about the bytes an event costs, histograms included
    int64_t miss = 8;           // a repeat that is no longer constant
    int64_t known_miss = 1;     // a repeat that is not constant anyway
    bool same_shapes = false;   // only equal structures match
    bool same_ends = true;      // sequences of different shape need equal first and last events (rule of §5.2.2)
    CodeOrder *order;           // nodes of one side only stand in the order of the program's text, where that is known
};

class Aligner {
  public:
    /* `credit`: table cells that may still be computed, reduced by what is; null: as many as one table may have. */
    explicit Aligner(AlignRules rules, int64_t *credit = nullptr) : rules_(rules), credit_(credit) {}
    Alignment align(const Body &a, const Body &b);
    /* They can stand for the same node. */
    bool can_match(const Node *a, const Node *b) {
        uint32_t matched, unmatched;
        return node_score(a, b, &matched, &unmatched) > 0;
    }

  private:
    /* Events matched when a and b are taken for the same node; 0 when they cannot be. */
    int64_t node_score(const Node *a, const Node *b, uint32_t *matched, uint32_t *unmatched);
    bool affordable(size_t cells);
    void sort_gaps(std::vector<Step> &steps, const Body &a, const Body &b);

    struct Score {
        int64_t score;
        uint32_t matched, unmatched;
    };
    AlignRules rules_;
    int64_t *credit_;
    std::map<std::pair<const Node *, const Node *>, Score> known_;
};

} // namespace st
#endif
