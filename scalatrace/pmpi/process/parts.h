/* parts.h - part files: the events of one rank, saved where the trace may never be written.
 *
 *     out.st                     the trace, written in MPI_Finalize
 *     out.st.parts/              directory of the parts, deleted when the trace is written
 *     out.st.parts/rank-3.part   the part of rank 3; `scalatrace merge out.st.parts` makes a trace of the parts
 *     out.st.parts/README        a text that names this command
 *
 * A part has the events of its own rank only. Before a rank merges others' events into its core, it preserves its own
 * (st_part_preserve), and saves these from then on. All functions take the lock where they need it.
 */
#ifndef ST_PARTS_H
#define ST_PARTS_H

#include <stdbool.h>
#include <stddef.h>

/* Path of a rank's part. */
void st_part_path(char *path, size_t n, int rank);
/* Save this rank's part. `last`: the process may end now, so a pending event is written, too. Return ST_OK or an
 * error. */
int st_save_part(bool last);
/* Print where the parts are, once for all ranks that share the directory: only one can create the text beside them. */
void st_parts_report(void);
/* From now on save the events that the core has now. */
void st_part_preserve(void);
/* Delete this rank's part if it wrote one, and write none any more. */
void st_part_discard(void);
/* Delete the directory of the parts, after all ranks have discarded theirs. */
void st_parts_remove_directory(void);
/* Does another user redirect the directory of parts? Then nothing is deleted there; the core writes nothing there. */
bool st_parts_are_planted(const char *output);
/* Delete what an earlier run of this output left: this rank's part; on rank 0 those of ranks that do not exist now. */
void st_parts_discard_own_stale(void);
/* Delete parts of an earlier run of `output`: those of ranks from `rank` on, and unfinished files. */
void st_parts_discard_stale(const char *output, int rank);

#endif
