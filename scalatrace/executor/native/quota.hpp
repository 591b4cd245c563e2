/* quota.hpp - whether all receives of a rank can still get a message, whatever the order.
 *
 * Kinds of receives (sender and tag, either of them open) and kinds of messages are the two sides of a transport
 * problem. A plan gives each receive a message. A receive may take a message that the plan gives to another one if the
 * plan can be mended, which a search for an augmenting path says (Ford and Fulkerson).
 *
 *   receives   (any, 5) x 2    (1, 5) x 1
 *                   | 1       \ 1      X  no message is left for it if (any, 5) takes both of sender 1
 *   messages   (0, 5) x 1      (1, 5) x 2
 */
#ifndef ST_SIM_QUOTA_HPP
#define ST_SIM_QUOTA_HPP

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace sim {

using Kind = std::pair<int32_t, int32_t>; /* sender and tag; of a receive: or ANY_SOURCE, ANY_TAG */
using Counts = std::map<Kind, int64_t>;
using Takings = std::map<std::pair<Kind, Kind>, int64_t>; /* (receive, message) -> how often */

bool fits(const Kind &receive, const Kind &message);

class Quota {
  public:
    Quota(Counts messages, Counts receives);

    /* Whether each receive gets a message. If not, all is allowed. */
    bool whole() const { return whole_; }
    /* Whether a receive can take a message so that all others still get one. */
    bool allows(const Kind &receive, const Kind &message) const;
    void take(const Kind &receive, const Kind &message);
    /* What is left once all this was taken so many times. */
    Quota later(const Takings &taken, int64_t times) const;

  private:
    struct Move { /* a receive gives a message back and gets another one */
        Kind receive, from, to;
    };
    using Moves = std::vector<Move>;

    bool give(const Kind &receive, int64_t n);
    bool exchange(const Kind &receive, const Kind &message);
    bool free_for(const Kind &message, const Kind &receive, Moves &moves) const;
    void move(const Moves &moves, int64_t n);
    template <class Ends>
    bool search(std::vector<Kind> starts, const Kind *without, Ends &&ends, Kind &first, Moves &moves) const;

    Counts messages_, receives_;
    Counts left_; /* messages that the plan gives to no receive */
    std::map<Kind, Counts> plan_;
    bool whole_ = true;
};

} // namespace sim
#endif
