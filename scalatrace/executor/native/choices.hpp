/* choices.hpp - executions without time: whose message a receive from any source gets, and what is recorded of it.
 *
 *   certain   a receive that only one sender and tag can match gets these at once
 *   box       messages that a rank gets on a channel, where some of its receives are open
 *   policy    orders the candidates: of each sender the first message that fits
 *   slots     matches of the recorded nodes, in the order of their executions
 *
 * A channel is a family of communicators, twice: messages of partitioned calls are another one.
 */
#ifndef ST_SIM_CHOICES_HPP
#define ST_SIM_CHOICES_HPP

#include "quota.hpp"
#include "st_sim.h"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace sim {

/* When a call is made in the order of the program's text: node, iteration, node, iteration, ... from the root. */
using When = std::vector<int64_t>;

struct SenderOption {
    size_t place; /* of its message among those that have arrived */
    int32_t source, tag;
    const When *when;
    int64_t chosen; /* how often this receive has taken a message from there */
    int64_t spare;  /* messages that no receive with a certain sender needs */
    int64_t distance;
    bool hinted;  /* the receiver's next calls suggest it, as the answer of a manager does */
    bool allowed; /* all other receives still get a message, if this one takes it */
};

struct Asked {            /* of a request */
    Kind kind;            /* of a receive: as it was called, or the only one that can match */
    bool open = false;    /* the call left source or tag open, or it may be cancelled */
    int32_t slot = -1;    /* of its last start */
    int32_t creator = -1; /* of a persistent request: slot of the call that made it */
    int64_t stream = -1;  /* of a persistent collective call: which one of its rank it is */
};

class Choices {
  public:
    struct Box {
        std::map<int32_t, int64_t> left; /* by sender: messages that no receive with a certain sender needs */
        Counts left_of_tag;
        Counts sent;
        std::optional<Quota> quota;

        int64_t spare(int32_t source, int32_t tag) const;
        bool allows(const Kind &receive, const Kind &message) const {
            return !quota || quota->allows(receive, message);
        }
    };
    struct Decision {
        int32_t rank, source, node;
    };
    struct Repeat { /* entries of a log, again so many times */
        int64_t first, last, times;
    };
    struct Log { /* of a node and a rank: slots, or of a Start how many requests follow, negative */
        std::vector<int32_t> entries;
        std::vector<Repeat> repeats;
        size_t mark = 0; /* entries before the last edge of a loop */
    };
    struct Taking {
        std::pair<int32_t, int32_t> box;
        Kind receive, message;
    };

    Choices(const st_sim_matching &parameters, const st_sim_program &program);

    bool is_there(int64_t rank) const { return rank >= 0 && rank < nranks_ && p.present[rank]; }
    /* The only message that a receive can match; the same kind if there are several, or none. */
    Kind certain(int32_t channel, int32_t dest, const Kind &kind) const;
    Box *box(int32_t channel, int32_t dest);
    /* The best candidate; nullptr: rather none. `forced`: one must be. */
    const SenderOption *best(const std::vector<SenderOption> &candidates, bool forced);
    void note_decision(int32_t rank, int32_t source, int32_t node);

    /* Slots. */
    int32_t add_slot(int32_t node, int32_t rank, int32_t family);
    void add_start(int32_t node, int32_t rank, const std::vector<int32_t> &slots);
    void fill(int32_t slot, int32_t source, int32_t tag);
    bool records(int32_t node) const { return p.recording && log_of_[node] >= 0; }
    Log &log(int32_t node, int32_t rank) { return logs_[static_cast<size_t>(log_of_[node]) * nranks_ + rank]; }
    std::vector<Log> &logs() { return logs_; }

    const st_sim_matching p;
    std::vector<st_sim_slot> slots;
    std::deque<Decision> decisions; /* the last ones that had a choice */
    std::vector<Taking> takings;    /* since the last edge of a loop */
    std::map<std::pair<int32_t, int32_t>, Box> boxes;
    std::map<std::tuple<int32_t, int32_t, int32_t>, int64_t> chosen; /* (rank, node, source) */
    std::vector<When> sent;                                          /* by number of a message */
    std::vector<Asked> asked;                                        /* by number of a request */

  private:
    bool before(const SenderOption &a, const SenderOption &b) const;

    int64_t nranks_;
    std::map<std::pair<std::pair<int32_t, int32_t>, Kind>, Kind> certain_;
    std::vector<int32_t> log_of_; /* [node] -1: not recorded */
    std::vector<Log> logs_;
    uint64_t draws_ = 0;
};

} // namespace sim
#endif
