/* children.h - a world that another one spawned (MPI_Comm_spawn) has a trace of its own, beside that of its parents.
 *
 *     out.st           the first world's            logs/             its flat logs
 *     out.st.child-1   the first one spawned        logs/child-1/
 */
#ifndef ST_CHILDREN_H
#define ST_CHILDREN_H

#include <stdbool.h>

/* In MPI_Init, before an output path is used: replace the paths in st_options in a spawned world; else delete the
 * outputs of children of an earlier run. Every rank takes part. */
void st_children_start(void);
/* Has this run a spawned world that is recorded? */
bool st_children_exist(void);

#endif
