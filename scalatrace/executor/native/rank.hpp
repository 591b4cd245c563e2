/* rank.hpp - the state of one simulated rank, or of a further thread of one: its place in the tree, requests, and message
 * queues. Ranks come first. A thread's messages are in the queues of its rank, `home`.
 *
 *   live      requests in the order of their creation; a trace names them by age, from the newest
 *   posted    receives that no message has matched, in order
 *   arrived   messages that no receive has matched, in order of sending per sender
 *   waiting   requests without which the rank cannot go on
 *
 * Requests and messages are numbers of objects in pools that all ranks share.
 */
#ifndef ST_SIM_RANK_HPP
#define ST_SIM_RANK_HPP

#include "clock.hpp"
#include "network.hpp"
#include "path.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

namespace sim {

/* There are as many of the following structures as ranks, times the calls that a rank has under way: they are small. */

struct Envelope {
    int32_t peer = 0;   /* world rank of the other side, or ANY_SOURCE */
    int32_t family = 0; /* of a message: its channel, see choices.hpp */
    int32_t tag = 0;
};

/* A posted receive or an arrived message, with the envelope, so that matching does not read the request or message. */
struct QueueEntry {
    Envelope envelope;
    int32_t number; /* of the request or message */
};

struct Message {
    Envelope from;        /* peer: the sender */
    int32_t process = -1; /* of the sender: the rank, or its thread */
    int32_t request = -1; /* of the sender, if it waits for the rendezvous */
    int32_t node = -1;    /* of the send */
    int32_t flow = -1;    /* of its bytes, which are under way */
    bool eager = true;
    Clock at;              /* eager: the first byte arrives; rendezvous: the sender can start the transfer */
    int64_t busy_from = 0; /* the transfer begins: before it, a waiting receiver waits for the sender */
    int64_t transfer = 0;  /* of all bytes */
    int64_t latency = 0, handshake = 0, recv = 0;
};

struct Request {
    enum Kind : uint8_t { kNone, kSend, kRecv, kCollective, kFreed };
    enum State : uint8_t { kInactive, kPending, kMatched, kDone };

    int32_t owner = -1;      /* rank or thread that started it last: it may wait for it */
    int32_t node = -1;       /* that created it */
    int32_t also = -1;       /* the send of a nonblocking Sendrecv, which ends with its receive */
    float link_per_byte = 0; /* ps; the transfer takes at least so long */
    Envelope to;             /* of a collective call: peer is the root */
    Kind kind = kNone;
    State state = kInactive;
    bool persistent = false;
    bool ended_elsewhere = false; /* by another thread than its creator, for which it still counts in ages */
    bool awaited = false;         /* the rank waits for it */
    bool probes = false;          /* a probe, which takes no message; where messages are matched */
    int64_t nbytes = 0;
    Clock clock;           /* a receive: posted, once matched: the first byte arrives; others: complete */
    int64_t busy_from = 0; /* when the transfer began: before it, a waiting rank waits for the other side */
    int64_t transfer = 0, recv = 0;
};

/* Of a request, where ranks have several threads. */
struct Creation {
    int32_t creator = -1; /* rank or thread that made it */
    int64_t ordinal = 0;  /* among those that the creator made */
};

/* Of a request: the starting calls of the rank itself and of the other side. */
struct Origins {
    Origin own, other;
};

struct Frame {
    int32_t first, end, at; /* nodes of the sequence, and the next one */
    int64_t left;           /* iterations, this one included */
    int32_t loop;           /* the sequence's node */
    int64_t times;          /* iterations in all */
};

/* When a call of a thread ended, for those of other threads that come after it. */
struct ThreadEnd {
    Clock clock;
    int32_t process = -1;
    int64_t call = 0;

    void put_off(const Clock &c, int32_t r, int64_t ncalls) {
        if (process < 0 || c.t > clock.t) clock = c, process = r, call = ncalls;
    }
};

/* The order in which threads use an object; calls that may overlap are a group without an order. */
struct UseOrder {
    const int64_t *entries;
    int64_t n, next = 0;
    int64_t running = 0, left = 0;    /* uses that have begun; those of the group that have not */
    std::map<int64_t, int64_t> group; /* these by thread */
    ThreadEnd before, last;           /* all uses before the group, and all that have ended */

    void find_group() {
        before = last;
        for (; next < n && entries[next] % 2; ++next, ++left) ++group[entries[next] / 2];
    }
    bool in_group(int64_t thread) const {
        const auto at = group.find(thread);
        return at != group.end() && at->second > 0;
    }
    bool is_next(int64_t thread) const {
        return in_group(thread) || (!running && !left && next < n && entries[next] == 2 * thread);
    }
    /* Begin a use that is next; return after which end. */
    const ThreadEnd &begin(int64_t thread) {
        ++running;
        if (in_group(thread)) {
            --group[thread], --left;
            return before;
        }
        ++next;
        return last;
    }
    void end(const Clock &clock, int32_t process, int64_t call) {
        last.put_off(clock, process, call);
        if (!--running && !left) find_group();
    }
};

/* State of a process that only traces with several threads need. */
struct Thread {
    int64_t number = 0;              /* on the rank */
    std::deque<int32_t> made;        /* requests that it made, -1: ended ... */
    int64_t nforgotten = 0;          /* ... but the first so many, which are ended */
    std::map<int32_t, int64_t> next; /* by process: number behind the request of it that this one named last */
    bool held = false; /* it waits for a request that another thread makes, its turn, or a use of an object */
    std::vector<UseOrder *> in_use; /* objects of the current call that other threads use, too */
};

struct Rank {
    int32_t home = 0; /* the rank */
    Clock clock;
    Clock interface_free;      /* its interface can send the next message */
    int64_t receives_from = 0; /* the last received message occupied the interface from here */
    Clock receives_until;      /* to here */
    Clock one_sided;           /* its last one-sided transfer ends */
    int32_t pred = 0;
    uint64_t draws = 0;
    int64_t kernel_mean = -1, kernel_deviation = 0; /* ps, of the kernel that the last call began; -1: none */
    bool kernel_half = false;                       /* its noise is half-normal */
    int64_t calls = 0;                              /* completed */
    int64_t began = 0, computed = 0;                /* the current call, and the computation before it */
    std::vector<Frame> stack;
    std::vector<int32_t> live; /* requests */
    std::vector<QueueEntry> posted;
    std::vector<QueueEntry> arrived;
    std::vector<int32_t> waiting; /* requests */
    int32_t missing = 0;          /* of these, not yet complete */
    std::vector<int32_t> ending;  /* live requests that the current call ends */
    int32_t node = -1;            /* of the current call */
    int64_t left = 0, times = 0;  /* executions of it, this one included; in all */
    bool begun = false;           /* the current call has begun, and could not complete */
    bool flushes = false;         /* it waits for one-sided transfers before it enters a collective call */
    bool probes = false;          /* it waits in a probe */
    bool wild_changed = false;    /* its candidate (match_wildcards) is to be found again */
    int32_t nopen = 0;            /* posted receives from any source */
    int32_t probed = -1;          /* sender of the message that its last probe saw, which no receive has taken */
    uint32_t wild_version = 0;    /* how often its candidate was found */
    bool queued = false, parked = false, finished = false;
};

} // namespace sim
#endif
