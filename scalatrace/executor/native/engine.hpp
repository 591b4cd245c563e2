/* engine.hpp - the simulation of all ranks.
 *
 * Each rank runs until it needs a message, rendezvous or collective call that is not there yet. What completes it puts
 * the rank at the front of the queue: it ends its requests before other ranks make more. Times do not depend on the
 * order in which ranks run (a process network), so there is no queue of events by time. There are exceptions.
 * Receives from any source are matched when no rank can run otherwise, with the message that arrives first (see
 * match_wildcards). The cost of matching is an estimate, from the lengths of the queues at that moment. A cancelled
 * receive is complete if no message has matched it so far. Where messages are flows, time advances to their next end when
 * no rank can run (advance_flows).
 *
 * A rank's further threads are processes: r is the number of a process, ranks first. Messages and collective calls have
 * numbers of ranks, home(r). What a thread needs of another one of its rank holds it back before its call begins: a request
 * that is not made yet, a collective call on the same communicator that comes first, or a use of the same persistent
 * request, window or file (take_turn).
 *
 * Without time (Choices) the same ranks, requests and messages are executed, and a policy decides receives from any
 * source; see matching.cpp.
 */
#ifndef ST_SIM_ENGINE_HPP
#define ST_SIM_ENGINE_HPP

#include "choices.hpp"
#include "collectives.hpp"
#include "flows.hpp"
#include "path.hpp"
#include "pool.hpp"
#include "program.hpp"
#include "rank.hpp"
#include "flow_rounds.hpp"
#include "steady.hpp"

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <queue>
#include <unordered_map>
#include <vector>

namespace sim {

constexpr int64_t kOfStream = int64_t{1} << 40; /* as in pmpi/handles/live.h: names of other threads' requests */

class Engine {
  public:
    Engine(const st_sim_program &program, const st_sim_platform &platform, st_sim_result &result,
           int (*progress)(int64_t), PathFinder *path = nullptr, int64_t *path_by_node = nullptr,
           const st_sim_matching *matching = nullptr);

    /* Run all ranks to their end. Returns ST_SIM_OK or ST_SIM_E_DEADLOCK. */
    int run();

    /* Follow the hops of the run back from its end. */
    void trace_back();

    /* Reports of an execution without time; see st_sim_match_*. */
    Choices &choices() { return *choices_; }
    std::vector<st_sim_wait> waits();
    std::vector<int32_t> missing(int32_t meeting) const;
    std::vector<int32_t> left();

  private:
    friend class Steady;

    struct Meeting { /* one collective call of a communicator */
        int32_t arrived = 0;
        Call call{};
        std::vector<Clock> entries;
        std::vector<int32_t> requests; /* of each member */
        std::vector<Origin> origins;   /* of each member, if paths are followed */
    };
    struct WildMatch { /* the candidate of a rank */
        int64_t at;
        int32_t rank;
        uint32_t version;
        bool operator<(const WildMatch &o) const { return at != o.at ? at > o.at : rank > o.rank; }
    };
    struct Gathering { /* one collective call of a communicator, without time */
        int32_t arrived = 0;
        int32_t first_rank = -1, first_node = -1;
        std::vector<int32_t> requests; /* of each member, -1: not there */
        std::vector<bool> done;        /* of each member: it need not wait any longer */
    };
    struct Turn { /* of a rank's threads on a communicator */
        const st_sim_turns *order;
        int64_t run = 0, ncalls = 0; /* in the order, and in this run */
        ThreadEnd last;
    };
    using StreamKey = std::array<int64_t, 5>; /* family, instance, tag2, tag; number of a persistent request */
    struct Stream {                           /* collective calls that keep one order */
        std::vector<int32_t> calls;           /* of each member so far */
        std::deque<Gathering> gatherings;
        int32_t ended = 0;
    };
    struct Edge { /* of an iteration, where all ranks stop */
        int32_t loop = -1;
        int64_t iteration = 0;
    };
    struct Cursor { /* calls to come of a rank */
        std::vector<Frame> stack;
        int32_t node;
        int64_t left;
        std::map<int32_t, uint32_t> entries, executions; /* besides those of the engine, by node */
    };
    struct Group {                  /* a communicator */
        std::vector<int32_t> calls; /* of each member so far */
        std::deque<Meeting> meetings;
        std::deque<std::unique_ptr<RoundCall>> calls_under_way; /* in place of meetings, if messages are flows */
        int32_t ended = 0; /* meetings, or these, that are no longer in the queue */
    };

    /* Threads. */
    int32_t home(int32_t r) const { return ranks_[r].home; }
    int32_t process_of(int32_t rank, int64_t thread) const;
    template <class F> void each_name(int32_t r, const st_sim_node &node, F &&f) const;
    int32_t named(int32_t r, int64_t name, std::map<int32_t, int64_t> &next) const;
    bool has_requests(int32_t r, const st_sim_node &node) const;
    Turn *turn_of(int32_t r, const st_sim_node &node);
    bool may_begin(int32_t r, const st_sim_node &node);
    void list_uses(int32_t r, const st_sim_node &node);
    void take_turn(int32_t r, const st_sim_node &node);
    void come_after(int32_t r, const ThreadEnd &end);
    void release_held(int32_t r);
    void note_ended(int32_t r, int32_t request);
    void resume_held(int32_t r);
    void own(int32_t r, int32_t request);

    /* Control flow. */
    void advance(int32_t r);
    bool next_call(int32_t r);
    bool call(int32_t r);
    void begin(int32_t r, const st_sim_node &node);
    bool complete(int32_t r, const st_sim_node &node);
    void note_times(const Rank &rank, const int64_t *at);
    bool mark_queued(int32_t r);
    void resume(int32_t r); /* after all ranks in the queue */
    void wake(int32_t r);   /* before them, unless it is the rank that runs */
    void run_ranks();
    void finish_run();
    int64_t repeat(int32_t node, int32_t r);
    int64_t field(const st_sim_field &f, int32_t r) const;
    float link_per_byte(int32_t r, const st_sim_node &node) const;
    int64_t compute_ps(const st_sim_node &node, int32_t r);
    int64_t kernel_ps(int32_t r);

    /* Requests. */
    int32_t make_request(int32_t r, Request::Kind kind, const st_sim_node &node);
    void own_or_await(int32_t r, int32_t request, const st_sim_node &node);
    void start(int32_t r, int32_t request);
    void own_done(int32_t r, const Clock &at, const st_sim_node &node);
    void done(int32_t request);
    void await(int32_t r, int32_t request);
    void end_listed(int32_t r);
    void listed(int32_t r, int64_t age, std::vector<int32_t> &into);
    void wait_for(int32_t r, const st_sim_node &node);

    /* Messages. */
    void start_send(int32_t r, int32_t request);
    void start_recv(int32_t r, int32_t request);
    void cancel(int32_t r, int32_t request);
    void deliver(int32_t dest, int32_t number);
    void match(int32_t dest, int32_t request, int32_t number);
    void match_arrived(int32_t dest, int32_t request, size_t place);
    std::vector<QueueEntry>::iterator find_posted(Rank &rank, int32_t request) const;
    bool take(int32_t r, int32_t request, size_t posted_before);
    void take_matches(int32_t r);
    void receive(int32_t r, int32_t request, int64_t *parts);
    struct Candidate { /* INT64_MAX: none; else indices into what is posted and has arrived */
        int64_t at;
        size_t posted, message;
    };
    size_t first_message(const Rank &rank, const Envelope &wanted, size_t posted_before, int64_t &arrival);
    bool is_overtaking(const Rank &rank, const Envelope &wanted, const Envelope &from) const;
    bool is_wanted(const Rank &rank, const Envelope &from, size_t count) const;
    Candidate candidate(int32_t r);
    void note_wild(int32_t r);
    void find_candidates();
    int64_t first_candidate();
    bool match_wildcards();
    void wake_probes(int32_t dest);
    bool probe(int32_t r, const st_sim_node &node);
    void one_sided(int32_t r, const st_sim_node &node, bool get);

    /* Without time (matching.cpp). */
    void ask(int32_t r, int32_t request);
    void note_start(int32_t r, const std::vector<int32_t> &requests);
    bool prepare_receive(int32_t request);
    void note_match(int32_t dest, int32_t request, const Message &message);
    bool choose();
    bool decide(int32_t r, bool forced);
    bool decide_receive(int32_t r, int32_t request, bool forced);
    void close(Rank &rank, int32_t request);
    int32_t hinted(int32_t dest, int32_t request, const std::vector<int32_t> &senders);
    bool peek(int32_t r, Cursor &cursor) const;
    int64_t field(const st_sim_field &f, int32_t r, const Cursor &cursor) const;
    std::vector<int64_t> ages(const st_sim_node &node, int32_t r, const Cursor &cursor) const;
    bool leave_polls();
    When when(int32_t r) const;
    bool is_edged(int32_t loop) const;
    void stand(int32_t r, Edge edge);
    bool release_edges();
    void compare(const Edge &edge);
    bool leave_out(int64_t iterations);
    bool state(std::vector<int64_t> &values);
    void meet(int32_t r, int32_t request);
    void part(Gathering &gathering, int32_t position);
    int32_t root_of(const Request &request) const;

    /* Collective calls. */
    void receive_all(int32_t r);
    void hop(int32_t r, const Clock &cause, int32_t request);
    void enter(int32_t r, int32_t request);
    void leave(Meeting &meeting, const int32_t *members);

    /* Messages as flows (engine_flows.cpp). */
    void make_flows();
    bool is_flow(int32_t from, int32_t to, int64_t nbytes) const;
    int32_t start_flow(int32_t from, int32_t to, int64_t nbytes, int64_t alone_ps, const FlowOwner &owner,
                       int32_t node);
    void start_transfer(int32_t r, const st_sim_node &node, const Cost &cost, int64_t latency);
    bool await_transfers(int32_t r);
    void report_links();
    bool advance_flows();
    void end_flow(const FlowOwner &owner, int64_t at);
    void enter_rounds(Group &group, size_t number, int32_t position, int32_t size, int32_t request,
                      const int32_t *ranks);
    int64_t size_of_call(const st_sim_node &node, int64_t own) const;
    void leave_rounds(RoundCall &call, const RoundCall::Member &member);

    const st_sim_program &program_;
    const st_sim_platform &platform_;
    st_sim_result &result_;
    int (*progress_)(int64_t);
    PathFinder *path_;
    int64_t *path_by_node_;
    Network network_;
    std::unique_ptr<RoundLoads> round_loads_; /* where links are shared by loads, ... */
    std::unique_ptr<Flows> flows_;            /* ... and where by flows */
    std::unique_ptr<FlowRounds> flow_rounds_;
    std::vector<FlowOwner> flow_owners_; /* of each flow */
    std::vector<Flows::End> flow_ends_;
    std::vector<std::vector<int32_t>>
        transfers_; /* of each rank: requests of one-sided ones that no flush has awaited */
    std::vector<int32_t> route_;
    std::unordered_map<uint64_t, double> link_uses_; /* bytes by link and node, of flows */
    std::vector<Rank> ranks_;
    Pool<Request> requests_;
    std::vector<Origins> origins_;     /* of the requests, where paths are followed */
    std::vector<Creation> creations_;  /* of the requests, where ranks have several threads */
    Pool<Message> messages_;           /* those under way, until a receive takes them */
    std::vector<Origin> sending_ends_; /* of the messages, where paths are followed: ends of the senders' overheads */
    std::vector<std::pair<int64_t, int32_t>> arrivals_; /* of requests that a rank waits for */
    std::deque<int32_t> queue_;
    int32_t running_ = -1;                                    /* rank */
    std::vector<std::vector<Group>> groups_;                  /* [family][instance] */
    std::vector<std::vector<uint32_t>> entries_, executions_; /* [node][rank] of nodes whose values or times vary */
    std::priority_queue<WildMatch> wild_; /* the earliest first; outdated where the rank has another version */
    std::vector<int32_t> wild_changed_;   /* ranks whose candidates are to be found anew */
    std::vector<uint64_t> seen_;          /* by rank: the search in which a message of it was seen last */
    uint64_t nsearches_ = 0;              /* for a message from any source */
    std::vector<Envelope> tried_;         /* receives from any source of one rank, without equal ones */
    int64_t lookahead_ = 0;               /* no message arrives sooner after it was sent */
    int32_t unfinished_ = 0;
    std::map<std::pair<int32_t, int64_t>, int32_t> processes_; /* rank and thread, of further threads */
    std::vector<std::vector<int32_t>> threads_;                /* processes of each rank; empty: one each */
    std::vector<Thread> thread_of_;                            /* each process; empty, too */
    std::map<std::pair<int32_t, int32_t>, Turn> turns_;        /* family and rank */
    std::map<std::array<int64_t, 4>, UseOrder> uses_;          /* rank, kind, name and number of an object */
    Steady steady_;

    std::unique_ptr<Choices> choices_; /* where calls are matched, without time */
    std::map<StreamKey, Stream> streams_;
    std::map<std::pair<int32_t, StreamKey>, int64_t> created_; /* persistent collective requests of a rank */
    std::vector<Edge> edges_;                                  /* where ranks stand */
    Edge last_edge_;
    std::vector<int64_t> last_state_; /* empty: unknown */
};

/* Members of a communicator make different collective calls. */
struct MismatchError : std::runtime_error {
    MismatchError(std::array<int32_t, 4> c) : std::runtime_error("collective calls differ"), calls(c) {}
    std::array<int32_t, 4> calls; /* rank and node of both */
};

} // namespace sim
#endif
