/* order.hpp - where call sites stand in the program's text, relative to each other.
 *
 * Two call paths are compared from the outermost frame on; the first frame that differs decides, when it is in the same function: the
 * lower line (native: offset) comes first. In straight-line code events run in this order, so the step from the last event of a loop's
 * iteration to the first of the next is one that does not go forward. Loops are only made with such a seam: every rank
 * then cuts the same program loop at the same place, whatever part of an iteration it takes part in. A cycle has at least one
 * step that does not go forward, so no loop is lost. */
#ifndef ST_ORDER_HPP
#define ST_ORDER_HPP

#include "node.hpp"
#include "tables.hpp"

namespace st {

class CodeOrder {
  public:
    explicit CodeOrder(const Tables &tables) : tables_(tables) {}

    /* The event with signature `a` stands before the one with `b`, as far as that can be told. */
    bool before(uint64_t a, uint64_t b);
    bool before(const Node *a, const Node *b) { return before(first_signature(a), first_signature(b)); }
    bool known(const Node *n) const { return first_signature(n) != 0; }
    /* An iteration may end with `last` and the next begin with `first`. */
    bool seam(const Node *last, const Node *first) { return !before(last_signature(last), first_signature(first)); }

    static uint64_t first_signature(const Node *n);
    static uint64_t last_signature(const Node *n);

  private:
    struct Frame {
        uint64_t function; // hash of file and function (native: module)
        uint64_t number;   // line or offset
    };
    using Path = std::vector<Frame>; // outermost first

    const Path &path(uint64_t signature);

    const Tables &tables_;
    std::unordered_map<uint64_t, Path> paths_;
};

} // namespace st
#endif
