/* options.h - what the user asked for, from the environment variables that `scalatrace record` sets.
 *
 * The options are read once, in MPI_Init, and are constant afterwards (children.c replaces the two paths there, too).
 */
#ifndef ST_OPTIONS_H
#define ST_OPTIONS_H

#include <stdbool.h>

enum st_stacks { ST_STACKS_NONE, ST_STACKS_AUTO, ST_STACKS_PYTHON, ST_STACKS_NATIVE, ST_STACKS_BOTH };

struct st_options {
    const char *output;    /* path of the trace */
    const char *flat_log;  /* directory of the uncompressed logs, or NULL */
    const char *python;    /* the Python that runs commands on the written trace, or NULL */
    bool resolve;          /* run `scalatrace resolve` on it */
    int resolve_limit;     /* seconds for that */
    const char *report;    /* path of the page that `scalatrace report` makes of it, or NULL */
    int wait_limit;        /* seconds to wait for a lock (wait.h) */
    int rank_limit;        /* seconds to wait for other ranks in MPI_Finalize */
    const char *meta;      /* entries key=value, separated by unit separators (0x1f), or NULL */
    enum st_stacks stacks; /* kind of stack signatures */
    int stack_depth;       /* frames of a stack signature at most */
    int checkpoint;        /* seconds between checkpoints, 0: none */
    bool queries;          /* record queries (MPI_Comm_rank, ...) as events, not only count them */
    bool quiet;            /* print no warnings */
    bool json;             /* print the line about the trace as JSON */
    bool compress;         /* deflate the trace file */
};
extern struct st_options st_options;

/* Fill st_options from the environment. Text is copied, since a program may change its environment. */
void st_read_options(void);

/* Call `use` for each entry "left=right" of an environment variable; unit separators (0x1f) separate entries. The texts
 * are valid during the call only. */
void st_option_each(const char *variable, void (*use)(const char *left, const char *right));

#endif
