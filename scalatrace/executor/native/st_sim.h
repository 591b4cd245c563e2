/* st_sim.h - the C ABI of the simulator.
 *
 *   trace --lowering (Python)--> nodes with fields --st_sim_run--> clocks, and times by node and rank
 *
 * Nodes are the trace's tree in preorder: a sequence's children follow it up to `end`. A field is a quantity of a node
 * for every rank and execution. All arrays belong to the caller and stay valid until st_sim_free. Times are integers in
 * picoseconds, so that sums are exact and independent of their order.
 *
 * The same program, lowered without costs, is matched: st_sim_match runs all ranks without time.
 */
#ifndef ST_SIM_H
#define ST_SIM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ST_SIM_API __attribute__((visibility("default")))

#define ST_SIM_PROC_NULL INT64_C(-1000000001)
#define ST_SIM_ANY_SOURCE INT64_C(-1000000002)
#define ST_SIM_ANY_TAG INT64_C(-1000000005)
#define ST_SIM_SPECIAL_MAX INT64_C(-1000000000) /* values below are special */

enum st_sim_op {
    ST_SIM_SEQUENCE = 0,
    ST_SIM_LOCAL,      /* takes `duration` */
    ST_SIM_SEND,       /* peer, nbytes, tag, family */
    ST_SIM_RECV,       /* peer, tag, family */
    ST_SIM_SENDRECV,   /* peer, nbytes, tag; peer2, tag2: of the receive */
    ST_SIM_COLLECTIVE, /* nbytes, peer: root, family. Matched: peer: world rank of the root; calls with equal tag and
                        * tag2 keep an order of their own (a window, a file) */
    ST_SIM_WAIT,       /* list: age of one request */
    ST_SIM_WAITALL,    /* list: index of an array of ages */
    ST_SIM_WAITANY,    /* list: index of an array of ages; peer: the completed entry */
    ST_SIM_WAITSOME,   /* list: index of an array of ages, of the completed requests only */
    ST_SIM_START,      /* list: age of one request */
    ST_SIM_STARTALL,   /* list: index of an array of ages */
    ST_SIM_FREE,       /* list: age of one request */
    ST_SIM_PROBE,      /* peer, tag, family */
    ST_SIM_MRECV,      /* of a message that Mprobe, a receive here, has received */
    ST_SIM_PUT,        /* peer, nbytes */
    ST_SIM_GET,        /* peer, nbytes */
    ST_SIM_FLUSH,      /* waits for all earlier one-sided transfers of the rank */
    ST_SIM_KERNEL,     /* nbytes: mean (ps) of the kernel that begins, or enum st_sim_mark; tag: its deviation (ps);
                        * peer: 1 if its noise is half-normal */
    ST_SIM_CANCEL,     /* list: age of one request */
    ST_SIM_NAME        /* list: age of one request, or index of an array of them (flag LISTS), which are only named */
};

/* Marks that begin no kernel with a model. The computation before the end of a kernel takes the time of its model, if
 * the rank's call before it has begun one. */
enum st_sim_mark { ST_SIM_KERNEL_END = -2, ST_SIM_KERNEL_UNKNOWN = -1 };

enum st_sim_collective {
    ST_SIM_BARRIER = 0,
    ST_SIM_BCAST,
    ST_SIM_REDUCE,
    ST_SIM_ALLREDUCE,
    ST_SIM_GATHER,
    ST_SIM_SCATTER,
    ST_SIM_ALLGATHER,
    ST_SIM_ALLTOALL,
    ST_SIM_REDUCE_SCATTER,
    ST_SIM_SCAN,
    ST_SIM_NCOLLECTIVES
};

enum st_sim_field_kind { ST_SIM_CONSTANT = 0, ST_SIM_PER_RANK = 1, ST_SIM_VARYING = 2, ST_SIM_CYCLIC = 3 };
enum st_sim_encoding { ST_SIM_AS_IS = 0, ST_SIM_RELATIVE = 1, ST_SIM_MODULO = 2, ST_SIM_XOR = 3 };

/* A quantity: one value; a value for each rank; or, for each class of ranks, the values of successive executions,
 * which start again at the end if they are cyclic. */
struct st_sim_field {
    int32_t kind;
    int32_t encoding; /* of ranks of the world */
    int64_t value;
    const int64_t *values;   /* [nranks] */
    const int32_t *class_of; /* [nranks], -1: none */
    const int64_t *offsets;  /* [nclasses + 1] into pool */
    const int64_t *pool;
};

enum st_sim_flags {
    ST_SIM_NONBLOCKING = 1, /* makes a request */
    ST_SIM_PERSISTENT = 2,  /* makes an inactive request */
    ST_SIM_SYNCHRONOUS = 4, /* a send that waits for its receive */
    ST_SIM_BUFFERED = 8,    /* a send that never waits */
    ST_SIM_STEADY = 16,     /* a loop whose iterations are equal, see steady.hpp */
    ST_SIM_FLUSHES = 32,    /* a collective call that first waits for the rank's one-sided transfers */
    /* Of programs that are matched. */
    ST_SIM_RECORDED = 64,     /* matches of the node are wanted */
    ST_SIM_POLLS = 128,       /* returns at once if it has no result */
    ST_SIM_PARTITIONED = 256, /* its messages match none of other calls */
    ST_SIM_CANCELLABLE = 512, /* a receive that may end without a message */
    ST_SIM_AWAITED = 1024,    /* a nonblocking collective call that waits where it starts */
    ST_SIM_FROM_ROOT = 2048,  /* of a collective call: others wait for the root alone */
    ST_SIM_AT_ROOT = 4096,    /* only the root waits for others */
    ST_SIM_LISTS = 8192,      /* see ST_SIM_NAME */
    ST_SIM_IN_TURN = 16384,   /* threads of a rank take turns in such calls on the communicator `turn` */
    ST_SIM_OF_WINDOW = 32768, /* it uses the window `object` of the communicator `turn`, which threads may share ... */
    ST_SIM_OF_FILE = 65536,   /* ... or the file */
    ST_SIM_BLOCK_LISTS = 131072 /* a collective call with a size for each member (Alltoallv), not one for all */
};

/* The computation before an event, by the call before it: a mean, or bins to draw from. */
struct st_sim_times {
    int32_t pred;
    int32_t nbins; /* 0: only the mean */
    int64_t mean_ps;
    const double *bins; /* [nbins][4]: cumulated share of samples, minimum, mean, maximum (ps) */
    double more, less;  /* what a rank may have beyond the mean and below it, over the mean */
};

struct st_sim_node {
    int32_t op;
    int32_t end; /* index after the last node of the subtree */
    int32_t flags;
    int32_t own_pred;   /* predecessor index of the next call */
    int32_t collective; /* enum st_sim_collective; where messages are matched: number of the operation */
    int32_t ntimes;
    struct st_sim_field repeat, peer, nbytes, tag, family, peer2, tag2, list, turn, object;
    const struct st_sim_times *times; /* [ntimes] */
    int64_t duration_ps;              /* at its beginning, besides what messages cost */
    /* [nlinked][nranks] the least time per byte (ps) of messages, on links that they share, in executions that repeat
     * after nlinked; or NULL. */
    const float *link_per_byte;
    int32_t nlinked;
};

/* The communicators of a family; position NULL: all ranks, in their order. */
struct st_sim_family {
    const int32_t *instance; /* [nranks] of each rank, -1: none */
    const int32_t *position; /* [nranks] in its communicator */
    int32_t ninstances;
    const int64_t *offsets; /* [ninstances + 1] into members */
    const int32_t *members;
};

/* A thread of a rank with a stream of its own: a process that sends and receives as the rank. */
struct st_sim_stream {
    int32_t rank, thread;
    int32_t first, end; /* its nodes */
};

/* The order of threads on a communicator that several threads of a rank use: `count` calls of `thread`, .... */
struct st_sim_turns {
    int32_t family, rank;
    int64_t nruns;
    const int64_t *runs; /* [nruns][2] thread, count */
};

/* Kinds of objects that threads of a rank use in an order. */
enum st_sim_shared { ST_SIM_REQUEST, ST_SIM_WINDOW, ST_SIM_FILE };

/* The uses of such objects of one name, a creating thread of requests or a communicator: for each object the number of
 * those between it and the one before, the number of its uses, and these: 2 * thread, plus 1 for calls that may overlap. */
struct st_sim_uses {
    int32_t kind, name, rank;
    int64_t nvalues;
    const int64_t *values;
};

struct st_sim_segment {
    int64_t from_bytes;
    double latency, per_byte, gap; /* ps, ps per byte */
    double send_overhead, recv_overhead, send_per_byte, recv_per_byte;
    int32_t nfactors; /* of durations over their median, each as probable; 0: they do not vary */
    const double *factors;
};

struct st_sim_network {
    int32_t nsegments;
    const struct st_sim_segment *segments;
    int64_t rendezvous_above; /* bytes; -1: never */
    double rendezvous_latency;
};

struct st_sim_rule {
    int32_t collective, algorithm;               /* its number in schedules.hpp */
    int64_t max_bytes, min_ranks, max_ranks;     /* -1: any */
    int64_t max_total_bytes, max_bytes_per_rank; /* bytes times ranks, bytes over ranks; -1: any */
    int32_t power_of_two;                        /* only of ranks */
    int32_t lists;                               /* 0: calls with one size, 1: with a size for each member; -1: any */
};

enum st_sim_topology_kind {
    ST_SIM_CLUSTER,
    ST_SIM_FAT_TREE,
    ST_SIM_TORUS,
    ST_SIM_MESH,
    ST_SIM_DRAGONFLY,
    ST_SIM_GRAPH
};

/* Links between nodes; see topology.hpp. All have two directions. The arrays stay valid until st_sim_links_free. */
struct st_sim_topology {
    int32_t kind, nnodes;
    int32_t nvertices; /* of a graph: nodes, then switches */
    int32_t nshape;
    const int32_t *shape; /* torus, mesh: nodes by dimension. Fat tree: children, parents, parallel links by level.
                           * Dragonfly: groups, chassis, routers, nodes. Graph: the two ends of each link. */
    const double *per_byte, *latency; /* ps per byte and ps, by class of link: level, or link of a graph */
    double own_latency;               /* ps: this part of a route's latency is in that of the network's messages */
};

struct st_sim_platform {
    struct st_sim_network network, memory;
    int32_t has_memory;
    int32_t ranks_per_node;     /* 0: all on one node */
    const int32_t *node_of;     /* [nranks] or NULL: ranks_per_node after each other */
    struct st_sim_links *links; /* NULL: messages share none */
    int32_t flows;              /* messages share links by max-min fair flows, not by loads; never steady */
    int32_t serializes;         /* messages of one rank wait for its network interface */
    int32_t nrules;
    const struct st_sim_rule *rules;
    double reduce_per_byte;
    double match_entry;
    int32_t noisy; /* durations of messages are drawn, by the factors of their segments */
    uint64_t noise_seed;
};

struct st_sim_program {
    int32_t nranks, nnodes, nfamilies, narrays;
    const struct st_sim_node *nodes;
    const struct st_sim_family *families;
    const int64_t *array_offsets; /* [narrays + 1] */
    const int64_t *array_values;
    const double *load;   /* [nranks] factor on computation, or NULL */
    const double *uneven; /* [nranks] part of `more`, or negative of `less`, that is added to the load, or NULL */
    uint64_t seed;        /* of drawn times */
    int32_t drawn;
    int32_t steady;        /* look for steady loops; not with drawn times, nor when paths are followed */
    const float *slowness; /* [nranks] further factor on computation, or NULL */
    const float *noise;    /* [nranks] deviation of kernels over their mean, half-normal, or NULL: as their models */
    double kernel_scale;   /* factor on kernels, in place of the load; negative: they take recorded times */
    int32_t nstreams;      /* threads of ranks besides the first one of each, whose nodes come first */
    int32_t nturns;
    int32_t nuses;
    const struct st_sim_stream *streams;
    const struct st_sim_turns *turns;
    const struct st_sim_uses *uses;
};

/* Parts of a time: computation, transfer (overheads, latency, bytes), waiting for others. */
enum { ST_SIM_COMPUTE = 0, ST_SIM_TRANSFER = 1, ST_SIM_WAITING = 2, ST_SIM_PARTS = 3 };
/* Parts of the path that ends last: total, computation, latency, bytes, number of latencies. */
enum { ST_SIM_PATH = 5 };

/* A sum over ranks: high * 2^64 + low. A million ranks of 106 days each need 83 bits. */
struct st_sim_sum {
    uint64_t low;
    int64_t high;
};

struct st_sim_result {
    int64_t *clocks;            /* [nranks][ST_SIM_PATH] at the end of each rank */
    struct st_sim_sum *by_node; /* [nnodes][ST_SIM_PARTS] sums over ranks */
    int64_t *by_rank;           /* [nranks][ST_SIM_PARTS] */
    struct st_sim_sum *calls;   /* [nnodes] executions of all ranks */
    int32_t *blocked;           /* [nranks] node where a rank waits for ever, or whose time is too long; -1 */
    int64_t executed;           /* calls that were simulated one by one */
    /* [ranks and further threads + 1] where the calls of each begin in `times`, or NULL; not with `steady`. */
    const int64_t *times_at;
    int64_t *times; /* [calls][2] beginning, after the computation, and end (ps) of each call, in their order */
    /* [calls][4], or NULL: node of each call; rank or thread that let the last of its waits end, -1: it did not wait;
     * in which of its calls, and when (ps). */
    int64_t *causes;
    /* [links] of the topology, or NULL: bytes of collective calls, and of all messages that are flows; the bytes of the
     * node that sends most of them; that node, -1: none. */
    double *link_bytes, *link_most;
    int32_t *link_node;
    char message[256]; /* of an error */
};

/* E_TIME: a clock or a cost is longer than 2^63 ps. */
enum {
    ST_SIM_OK = 0,
    ST_SIM_E_MEMORY = -1,
    ST_SIM_E_DEADLOCK = -2,
    ST_SIM_E_TRACE = -3,
    ST_SIM_E_TIME = -4,
    ST_SIM_E_MISMATCH = -5
};

/* Run the program once. `stop`: polled now and then; nonzero ends the run with ST_SIM_E_TRACE. */
ST_SIM_API int st_sim_run(const struct st_sim_program *program, const struct st_sim_platform *platform,
                          struct st_sim_result *result, int (*progress)(int64_t executed));

/* Run twice: by_node gets the parts of the longest path by node, [nnodes][ST_SIM_PARTS]. Not with `steady`. */
ST_SIM_API int st_sim_run_path(const struct st_sim_program *program, const struct st_sim_platform *platform,
                               struct st_sim_result *result, int64_t *by_node, int (*progress)(int64_t executed));

/* An algorithm of a collective operation (schedules.hpp). */
struct st_sim_algorithm {
    int32_t collective;
    const char *name;      /* NULL: there is none of this number */
    const char *condition; /* on calls; "": none */
    const char *otherwise; /* name of the algorithm of other calls, or NULL */
};

/* What a member does in a round: -1 where it sends, or receives, no message. */
struct st_sim_step {
    int32_t round, to, from, reduces; /* reduces: what it receives */
    int64_t sent, received;           /* bytes */
};

ST_SIM_API struct st_sim_algorithm st_sim_describe_algorithm(int32_t algorithm);

/* Number of the algorithm in the first rule that holds for a call of `size` ranks, or -1. lists: whether it has a size
 * for each member. */
ST_SIM_API int32_t st_sim_choose_algorithm(const struct st_sim_rule *rules, int32_t nrules, int32_t collective,
                                           int64_t nbytes, int32_t size, int32_t lists);

/* Number of the algorithm that is used where a call does not fulfil the condition of one. */
ST_SIM_API int32_t st_sim_usable_algorithm(int32_t algorithm, int32_t size, int32_t equal_sizes);

/* Steps of a member in the order of rounds; messages of a round are under way together. Returns the number of steps,
 * of which at most `capacity` are written, or ST_SIM_E_MEMORY. sends, recvs: bytes that the member sends to each, and
 * receives from each, or NULL where sizes are equal. */
ST_SIM_API int64_t st_sim_schedule(int32_t algorithm, int32_t rank, int32_t size, int64_t nbytes, int32_t root,
                                   const int64_t *sends, const int64_t *recvs, int64_t capacity,
                                   struct st_sim_step *steps);

/* Exit clocks of one collective call of members on ranks 0..size-1, for tests: times in ps, in and out; -1 where it
 * takes too long. */
ST_SIM_API void st_sim_collective_times(const struct st_sim_platform *platform, int32_t algorithm, int64_t nbytes,
                                        int32_t root, int32_t size, int64_t *times);

/* Topologies. */

/* The links of a topology, with the routes that were searched in a graph so far, for one run after the other. NULL: out
 * of memory. */
struct st_sim_links;
ST_SIM_API struct st_sim_links *st_sim_links_new(const struct st_sim_topology *topology);
ST_SIM_API void st_sim_links_free(struct st_sim_links *links);

/* Number of links, each direction counted. */
ST_SIM_API int64_t st_sim_count_links(const struct st_sim_links *links);

/* Links of the routes between nodes a[i] and b[i]: offsets [n + 1]; returns their number, of which at most `capacity`
 * are written. -1 in place of a route that does not exist. */
ST_SIM_API int64_t st_sim_routes(const struct st_sim_links *links, int64_t n, const int32_t *a, const int32_t *b,
                                 int64_t *offsets, int64_t capacity, int32_t *routes);

/* Messages between ranks that are under way together: `bytes` of messages of `own` bytes each. Writes the least time per
 * byte (ps) of each, 0 where links are not shared. */
ST_SIM_API int st_sim_link_loads(const struct st_sim_platform *platform, int64_t n, const int32_t *from,
                                 const int32_t *to, const double *bytes, const double *own, float *per_byte);

/* Matching: executions without time. */

/* The order in which senders are taken; see choices.cpp. The first three, and drawn ones, take no message that another
 * receive needs. */
enum st_sim_policy {
    ST_SIM_CAREFUL,
    ST_SIM_IN_TURNS,
    ST_SIM_FAIR,
    ST_SIM_LOWEST,
    ST_SIM_HIGHEST,
    ST_SIM_ADVERSE,
    ST_SIM_DRAWN
};

/* Messages, or receives, of a rank; a channel is 2 * family, + 1 for partitioned calls. */
struct st_sim_kind {
    int64_t channel, dest, source, tag, count;
};
struct st_sim_certain { /* a receive with open source or tag that can match one kind of message only */
    int64_t channel, dest, source, tag, only_source, only_tag;
};

struct st_sim_matching {
    int32_t policy;
    int32_t synchronous;   /* sends wait for their receives, and members of collective calls for all others */
    int32_t polls_wait;    /* else ranks that poll go on where no rank can */
    int32_t keeps_senders; /* all starts of a persistent receive get messages of one sender */
    int32_t recording;
    uint64_t seed;
    const uint8_t *present; /* [nranks] ranks that the trace has */
    int64_t ncertain, nsent, nwanted;
    const struct st_sim_certain *certain;
    const struct st_sim_kind *sent, *wanted; /* where some receives, or probes, are open */
};

enum st_sim_slot_state {
    ST_SIM_UNFILLED, /* no message */
    ST_SIM_FILLED,
    ST_SIM_DIFFERS, /* messages of several senders or tags, by starts of a persistent request */
    ST_SIM_STARTED, /* a Start: `source` requests follow */
    ST_SIM_NAMED    /* a started request that is no open receive */
};

struct st_sim_slot {
    int32_t source, tag, family, state;
};

/* What a rank waits for. */
enum st_sim_wait_kind { ST_SIM_FOR_RECEIVE, ST_SIM_FOR_MESSAGE, ST_SIM_FOR_MEMBERS };
struct st_sim_wait {
    int32_t rank, node; /* of its call */
    int32_t kind, peer, tag, family;
    int32_t request_node; /* of the call that made the request */
    int32_t meeting;      /* number among the collective calls that are not complete */
};

/* Rows of an answer; valid until the next one. */
struct st_sim_rows {
    int64_t count;
    const void *rows;
};

struct st_sim_execution;

/* Execute once; `executed` calls one by one. NULL: out of memory. Program and matching outlive the execution. */
ST_SIM_API struct st_sim_execution *st_sim_match(const struct st_sim_program *program,
                                                 const struct st_sim_matching *matching, int *status, int64_t *executed,
                                                 char message[256]);
ST_SIM_API void st_sim_match_free(struct st_sim_execution *execution);

/* Matches of a recorded node on a rank: st_sim_slot in the order of executions. */
ST_SIM_API struct st_sim_rows st_sim_match_slots(struct st_sim_execution *execution, int32_t node, int32_t rank);
/* Of these, what loops repeat: int64_t first, last + 1, times. */
ST_SIM_API struct st_sim_rows st_sim_match_repeats(struct st_sim_execution *execution, int32_t node, int32_t rank);
/* st_sim_wait of all ranks that did not end. */
ST_SIM_API struct st_sim_rows st_sim_match_waits(struct st_sim_execution *execution);
/* int32_t: members that are missing in a collective call. */
ST_SIM_API struct st_sim_rows st_sim_match_missing(struct st_sim_execution *execution, int32_t meeting);
/* int32_t[3]: rank, source, node of the last decisions that had a choice. */
ST_SIM_API struct st_sim_rows st_sim_match_decisions(struct st_sim_execution *execution);
/* int32_t[5]: source, dest, channel, tag, node of the send, of each message that no rank received. */
ST_SIM_API struct st_sim_rows st_sim_match_left(struct st_sim_execution *execution);
/* int32_t[2]: rank and node of two different calls where members of a communicator have to make the same. */
ST_SIM_API struct st_sim_rows st_sim_match_mismatch(struct st_sim_execution *execution);

/* Whether the receives get a message, for tests: int64_t[3] source, tag, count. */
struct st_sim_quota;
ST_SIM_API struct st_sim_quota *st_sim_quota_new(const int64_t *messages, int64_t nmessages, const int64_t *receives,
                                                 int64_t nreceives);
ST_SIM_API int st_sim_quota_whole(const struct st_sim_quota *quota);
/* `kinds`: source and tag of a receive, and of a message. */
ST_SIM_API int st_sim_quota_allows(const struct st_sim_quota *quota, const int32_t *kinds);
ST_SIM_API void st_sim_quota_take(struct st_sim_quota *quota, const int32_t *kinds);
ST_SIM_API void st_sim_quota_free(struct st_sim_quota *quota);

#ifdef __cplusplus
}
#endif
#endif
