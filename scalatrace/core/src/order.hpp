/* order.hpp - where call sites stand in the program's text, relative to each other.
 *
 * Two call paths are compared from the outermost frame on; the first frame that differs decides, when it is in the same function: the
 * lower line comes first; functions called from one line have an order too, that of a hash. Native frames have none. In straight-line code
 * events run in this order, so the step from the last event of a loop's iteration to the first of the next goes back (or stays), in the frame of the loop, and no step within the iteration is in a frame
 * further out. Loops are only made with such a seam: every rank then cuts the same program loop at the same place,
 * whatever part of an iteration it takes part in. Each cycle has a step that may be the seam, so no loop is lost. */
#ifndef ST_ORDER_HPP
#define ST_ORDER_HPP

#include "node.hpp"
#include "tables.hpp"

#include <compare>

namespace st {

struct CodeFrame {
    uint64_t function = 0; // hash of file and function (native: module); 0: the path has ended
    uint64_t number = 0;   // line or offset; 0 when that is not known
    bool native = false;   // an offset
    auto operator<=>(const CodeFrame &) const = default;
};

/* From one event to the one that ran next. */
struct CodeStep {
    enum Way { kAhead, kBack, kUnknown } way = kUnknown; // unknown: no stacks
    uint32_t depth = 0;                                  // of the frame that decides, from the outermost on
    CodeFrame from, to;                                  // there

    /* A loop may have `this` as its seam and `inner` within an iteration. */
    bool encloses(const CodeStep &inner) const {
        if (inner.depth != depth) return inner.depth > depth;
        return way != kBack || inner.way != kBack || inner.to > to || (inner.to == to && inner.from <= from);
    }
    /* Both go back in the same frame of the same function. */
    bool in_loop_of(const CodeStep &o) const {
        return way == kBack && o.way == kBack && depth == o.depth && from.function == to.function &&
               o.from.function == o.to.function && from.function == o.from.function;
    }
    /* Both go back from one statement to another, the same ones, of the same function. */
    bool same_loop(const CodeStep &o) const { return in_loop_of(o) && from == o.from && to == o.to; }
};

class CodeOrder {
  public:
    explicit CodeOrder(const Tables &tables) : tables_(tables) {}

    CodeStep step(uint64_t a, uint64_t b);
    /* From the end of a loop's iteration to the beginning of the next. */
    CodeStep seam(const Node *loop) { return step(loop, loop); }
    /* From the end of `a` to the beginning of `b`. */
    CodeStep step(const Node *a, const Node *b) { return step(last_signature(a), first_signature(b)); }

    static uint64_t first_signature(const Node *n);
    static uint64_t last_signature(const Node *n);

  private:
    using Path = std::vector<CodeFrame>; // outermost first

    const Path &path(uint64_t signature);

    const Tables &tables_;
    std::unordered_map<uint64_t, Path> paths_;
};

} // namespace st
#endif
