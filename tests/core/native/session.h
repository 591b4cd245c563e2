/* session.h - a recording session of three ranks in one process, which uses each function of st_core.h.
 *
 *     rank 0  define, append, flat log, finish ------------------------> merge 1, merge 2 --> trace.st
 *     rank 1  define, append, part (open loops), finish --> pack -----------'       |
 *     rank 2  define, append, finish --> pack --> packed.part ----------------------'
 *     rank-1.part --> read --> copy.st
 */
#ifndef SESSION_H
#define SESSION_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct session_result {
    int memory_errors; /* calls that reported that memory ran out */
    int other_error;   /* the first other error, or 0 */
    bool written;      /* the trace was written */
    uint64_t nevents;  /* events of all ranks in the trace */
};

/* Write the files of the session into a folder. */
void session(const char *folder, struct session_result *into);

#ifdef __cplusplus
}
#endif
#endif
