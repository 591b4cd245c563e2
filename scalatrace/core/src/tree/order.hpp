/* order.hpp - the order of call sites in the program's text, from which loops of the program are recognised.
 *
 *     main:10 > solve:20 > step:31          compare from the outermost frame on: main is equal,
 *     main:10 > solve:24                    solve decides: 20 < 24, so the step to the second path leads ahead
 *
 * Two call paths are compared from the outermost frame on. The first frame that differs decides when it is in the
 * same function: the lower line comes first. Functions called from one line are ordered by a hash. Native frames
 * have no order.
 *
 * In straight-line code events run in this order. The step from the last event of a loop's iteration to the first of
 * the next one leads back (or to the same place), in the frame of the loop; no step within the iteration is in a
 * frame further out. This step is the loop's seam:
 *
 *     for (...) {                A:11 -> B:12 -> C:13 -> A:11 -> B:12 ...
 *         A(); B(); C();            ahead   ahead   back: the seam
 *     }
 *
 * Compression makes loops only at seams. So every rank begins the iterations of a program loop at the same place,
 * even if it takes part in some of its calls only. Each cycle of call sites has a step that can be the seam, so no
 * loop is missed.
 */
#ifndef ST_ORDER_HPP
#define ST_ORDER_HPP

#include "tree/node.hpp"
#include "tree/tables.hpp"

#include <compare>

namespace st {

struct CodeFrame {
    uint64_t function = 0; // hash of file and function (native: module); 0: the path has ended
    uint64_t number = 0;   // line or offset; 0: not known
    bool native = false;   // is the number an offset?
    auto operator<=>(const CodeFrame &) const = default;
};

/* The step from one event to the one that ran next. */
struct CodeStep {
    enum Way { kAhead, kBack, kUnknown } way = kUnknown; // unknown: no stacks, or native ones
    uint32_t depth = 0;                                  // of the frame that decides, counted from the outermost one
    CodeFrame from, to;                                  // this frame in both paths

    /* Can a loop have this step as its seam and `inner` within its iterations? */
    bool encloses(const CodeStep &inner) const {
        if (inner.depth != depth) return inner.depth > depth;
        return way != kBack || inner.way != kBack || inner.to > to || (inner.to == to && inner.from <= from);
    }
    /* Do both lead back in the same frame of the same function? */
    bool in_loop_of(const CodeStep &o) const {
        return way == kBack && o.way == kBack && depth == o.depth && from.function == to.function &&
               o.from.function == o.to.function && from.function == o.from.function;
    }
    /* Do both lead back between the same two statements? */
    bool same_loop(const CodeStep &o) const { return in_loop_of(o) && from == o.from && to == o.to; }
};

class CodeOrder {
  public:
    explicit CodeOrder(const Tables &tables) : tables_(tables) {}

    /* The step between two signatures. */
    CodeStep step(uint64_t a, uint64_t b);
    /* The step from the end of a loop's iteration to the beginning of the next. */
    CodeStep seam(const Node *loop) { return step(loop, loop); }
    /* The step from the end of `a` to the beginning of `b`. */
    CodeStep step(const Node *a, const Node *b) { return step(last_signature(a), first_signature(b)); }

    static uint64_t first_signature(const Node *n);
    static uint64_t last_signature(const Node *n);

  private:
    using Path = std::vector<CodeFrame>; // outermost first

    struct Known {
        uint64_t a = 0, b = 0;
        CodeStep step;
    };
    static constexpr size_t kMaxKnown = 512;

    const Path &path(uint64_t signature);
    CodeStep compare(const Path &x, const Path &y) const;

    const Tables &tables_;
    std::vector<Known> known_; // the steps asked for last, by a hash of both signatures
    std::unordered_map<uint64_t, Path> paths_;
};

} // namespace st
#endif
