/* st_core.h - the C ABI of the compressor.
 *
 *   PMPI wrappers --st_event--> queue (intra-node compression) --st_core_merge--> one trace --> file
 *
 * The core knows neither MPI nor Python: operations are what the caller registers, parameters have kinds,
 * communicators, datatypes, strings and arrays are tables of things named by a 64-bit hash of their content, so that
 * the same thing has the same name on every rank without any message.
 *
 * Threads: a core is not locked; the caller serialises the calls on it. Errors: functions returning int give 0 or a
 * negative ST_E_*; st_core_error() then says what happened. Out of memory never throws through this ABI: it is
 * ST_E_MEMORY. When it strikes in a call that changes the core (define, set, append, finish, merge, also those that
 * return a name) the core is broken: its memory is freed, every later call answers ST_E_MEMORY, and what was recorded is
 * lost. Calls that only read it (pack, write) can be repeated.
 */
#ifndef ST_CORE_H
#define ST_CORE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ST_API __attribute__((visibility("default")))

/* Values that stand for MPI constants, the same for every MPI implementation (and in the file). */
#define ST_PROC_NULL INT64_C(-1000000001)
#define ST_ANY_SOURCE INT64_C(-1000000002)
#define ST_ROOT INT64_C(-1000000003)
#define ST_UNDEFINED INT64_C(-1000000004)
#define ST_ANY_TAG INT64_C(-1000000005)
#define ST_SPECIAL_MAX INT64_C(-1000000000) /* every value below this one is a special value */
#define ST_SPECIAL_MIN INT64_C(-1000000015) /* the least number that is reserved for one */

enum st_error {
    ST_OK = 0,
    ST_E_MEMORY = -1,
    ST_E_IO = -2,     /* a file could not be written; st_core_error() has path and reason */
    ST_E_FORMAT = -3, /* packed bytes that are damaged or of another version */
    ST_E_USAGE = -4   /* a call that makes no sense (unknown op, too many values) */
};

/* What a parameter is, hence how its values are stored and compared across ranks. */
enum st_kind {
    ST_INT = 0,    /* tag, count, root, request age, trip count, flag, ... */
    ST_PEER = 1,   /* rank in the event's communicator (st_event.self, .size), or a special value */
    ST_COMM = 2,   /* name of a communicator family, see st_define_comm */
    ST_TYPE = 3,   /* name of a datatype, see st_define_type */
    ST_STRING = 4, /* name of a string, see st_string */
    ST_ARRAY = 5   /* name of an array of integers, see st_array */
};

#define ST_MAX_VALUES 24
#define ST_MAX_STATS 16
#define ST_MAX_RESOLUTION 1e30 /* of a stat, so that no sum of its values is infinite */

/* One MPI call as the wrapper saw it. Peers are absolute ranks of the event's communicator here; the core
 * finds the encoding (absolute, relative, relative modulo size, exclusive-or) that needs the fewest values. */
struct st_event {
    uint32_t op;        /* number from st_define_op */
    int32_t self;       /* the caller's rank in the event's communicator */
    int32_t size;       /* that communicator's size (remote size for an intercommunicator) */
    uint32_t nvalues;   /* must equal the op's number of parameters */
    uint32_t thread;    /* stream of the event: the calls of each thread are compressed on their own; below 2^20 */
    uint64_t signature; /* stack signature; 0 = none taken */
    int64_t values[ST_MAX_VALUES];
    double stats[ST_MAX_STATS]; /* one sample per registered stat; NaN = none for this event */
};

typedef struct st_core st_core;

/* A core for world rank `rank` of `nprocs`; NULL when out of memory. */
ST_API st_core *st_core_new(int rank, int nprocs);
ST_API void st_core_free(st_core *core);

/* Text of the last error on this core; never NULL. */
ST_API const char *st_core_error(const st_core *core);

/* Register an operation: its number is the return value (>= 0) and is what st_event.op carries. `names[i]`,
 * `kinds[i]`: the parameters in the order of st_event.values. Registering a name twice gives the same number. */
ST_API int st_define_op(st_core *core, const char *name, int nparams, const char *const *names, const int *kinds);

/* Calls of this operation move data between ranks or synchronise them, where their communicator has several. Before its
 * first event. What comes before the first and after the last such call of a rank is start-up and shut-down: the loads
 * in the file are without it. */
ST_API int st_set_communicating(st_core *core, int op);

/* Calls of this operation are collective: where several threads of a rank make them on one communicator, the file has the
 * order of these threads. Before its first event. */
ST_API int st_set_collective(st_core *core, int op);

/* Several threads may make calls of this operation on one window, file or persistent request at the same time: their order
 * is not stored. Before its first event. Of other calls that have a parameter `win` or `fh`, the file has the order of the
 * threads where there are several. */
ST_API int st_set_overlapping(st_core *core, int op);

/* What is recorded of a parameter ("count", or of one operation: "Alltoallv.sendcounts"); before the first event.
 * limit 0: every value (the default). n > 0: every value while they take up to n terms or groups of ranks, then a
 * histogram of them; of an array, length and average. -1: nothing. Communicators, datatypes and strings are always
 * recorded. */
ST_API int st_set_policy(st_core *core, const char *parameter, int limit);

/* Register a statistic; its number (>= 0) is the index into st_event.stats. `resolution`: what one integer step in
 * the file means (1 for times in ns). By convention: "compute_ns", "comm_ns", "source" (matched wildcard source),
 * "polls". The first two have loads: samples of the first are before a call, of the second in it. */
ST_API int st_define_stat(st_core *core, const char *name, double resolution);

/* Name of an array of n integers, of a string of n bytes. Same content, same name, on every rank. */
ST_API uint64_t st_array(st_core *core, const int64_t *values, size_t n);
ST_API uint64_t st_string(st_core *core, const char *text, size_t n);

/* Name of a datatype. `description`: predefined name or constructor expression (docs/reference/format.md); size and extent in
 * bytes. */
ST_API uint64_t st_define_type(st_core *core, const char *description, int64_t size, int64_t extent);

/* Define the communicator this rank belongs to in family `family`. All communicators that one collective call made
 * (the rows of a Comm_split) are one family: the same name on all ranks. `family`: st_family(parent, ordinal);
 * `kind`: "world", "self", "dup", "split", "cart", ...; `members`: world ranks, in communicator order.
 * `remote`/`nremote`: the remote group of an intercommunicator, else NULL, 0. Idempotent. */
ST_API int st_define_comm(st_core *core, uint64_t family, uint64_t parent, const char *kind, const int64_t *members,
                          size_t nmembers, const int64_t *remote, size_t nremote);
ST_API uint64_t st_family(uint64_t parent, uint64_t ordinal); /* ordinal: how many were made from parent before */
#define ST_COMM_WORLD UINT64_C(1)
#define ST_COMM_SELF UINT64_C(2)
#define ST_COMM_NULL UINT64_C(3)

/* Define a stack signature: `frames` innermost first, each "file:line:function" (Python) or "module+0xoffset" (native).
 * The name is a hash of the texts, equal on all ranks; it is what st_event.signature carries. Idempotent. */
ST_API uint64_t st_define_signature(st_core *core, const char *const *frames, size_t nframes);

/* Before the first event. "signature_tolerance": signatures whose lines (or offsets) differ by at most so much are
 * one (0); "loop_alignment": loops whose iterations differ are found by alignment (1); "loop_agnostic": the
 * inter-node merge aligns events whatever the loops around them (1). These two are there to show what each step
 * brings. "fold_recursion": a sequence of frames that repeats itself in a signature is one sequence (1). "threads": events
 * may have a thread other than 0 (0). */
ST_API int st_set_option(st_core *core, const char *name, int64_t value);
/* Frames of a file (what its path ends with) with lines, or offsets, from low to high all count as one call site. */
ST_API int st_add_site_range(st_core *core, const char *file, uint64_t low, uint64_t high);
/* Whether a frame is of such a file and lies in such a range: 1 or 0. */
ST_API int st_frame_in_range(const char *frame, const char *file, uint64_t low, uint64_t high);

/* Header entries ("program", "mpi", "date", "options", ...; NULL: none) and the number of calls that were only counted. */
ST_API int st_set_meta(st_core *core, const char *key, const char *value);
ST_API int st_set_count(st_core *core, const char *op_name, uint64_t ncalls);

/* Append an event: intra-node compression, amortised O(1). Writes the flat log first when one is open. */
ST_API int st_core_append(st_core *core, const struct st_event *event);

/* A thread uses a persistent request that thread `creator` made, as its `ordinal`-th one that has a name in events. Where
 * several threads use it, the file has their order. */
ST_API int st_core_use(st_core *core, uint32_t creator, int64_t ordinal, uint32_t thread, int overlaps);
/* The request is freed: where one thread used it, nothing is stored. */
ST_API int st_core_end_use(st_core *core, uint32_t creator, int64_t ordinal);

/* Write every event to `path` as text, straight from st_core_append and past the compressor (docs/reference/format.md). */
ST_API int st_flatlog_open(st_core *core, const char *path);
ST_API int st_flatlog_close(st_core *core);
/* In a forked child: drop the lines that are not written yet, which the parent writes. */
ST_API void st_flatlog_forget(st_core *core);

/* Number of events appended; bytes of heap the core holds now (approximate). */
ST_API uint64_t st_core_nevents(const st_core *core);
ST_API uint64_t st_core_nbytes(const st_core *core);
/* Sum of all samples of the first or second statistic (0, 1) on all ranks; after finish. 0 for any other. And without
 * start-up and shut-down. */
ST_API double st_core_total(const st_core *core, int stat);
ST_API double st_core_total_between(const st_core *core, int stat);

/* Number of communicator families of a kind ("split", "spawn", ...). */
ST_API uint64_t st_core_ncomms(const st_core *core, const char *kind);
/* Frames of a stack at which the finished core would have at most half of its event nodes, where it has very many for
 * each call site; 0: it has not. Stores an estimate of the nodes at this depth, and the number of nodes now. */
ST_API int st_core_advised_depth(st_core *core, uint64_t *nodes, uint64_t *nodes_now);

/* Close all open loops. Further st_core_append calls are allowed (they start a new tail). */
ST_API int st_core_finish(st_core *core);

/* Inter-node compression: pack a finished core into bytes (malloc'ed, st_free), merge another rank's bytes into this
 * core. Merge order is the caller's: a parent merges child after child, lowest rank first. */
ST_API int st_core_pack(st_core *core, void **bytes, size_t *nbytes);
ST_API int st_core_merge(st_core *core, const void *bytes, size_t nbytes);
ST_API void st_free(void *bytes);

/* Write the trace to `path`: a regular file is replaced in one step, a FIFO or device is written. compress: 1 = deflate
 * when zlib can be loaded and it helps. */
ST_API int st_core_write(st_core *core, const char *path, int compress);
/* Write the core as a part file, finished or not: open loops stay open and the core goes on as before; a flat log
 * has all its events then, too. Or write what st_core_pack made of it earlier. And make a core from a part file
 * (NULL: see `error`, a buffer of nerror bytes). */
ST_API int st_core_write_part(st_core *core, const char *path);
ST_API int st_core_write_packed(st_core *core, const void *bytes, size_t nbytes, const char *path);
ST_API st_core *st_core_read_part(const char *path, char *error, size_t nerror);

/* Whether the way to a path leads through a symbolic link of another user in a folder such as /tmp: 1 or 0. */
ST_API int st_has_planted_link(const char *path);

/* Version of the file format the core writes, and of the core ("0.1.0"). */
ST_API int st_format_version(void);
ST_API const char *st_core_version(void);

#ifdef __cplusplus
}
#endif
#endif
