/* output.h - the path of the trace: the same on all ranks, and not that of another world or run.
 *
 *     out.st           the trace
 *     out.st.task-3    of task 3 where the launcher started several tasks and MPI made each a world of one rank
 *     out.st.run-2     of a run that found a trace of another run, written meanwhile or of the same job array
 *     out.st.child-1   of a spawned world (children.h)
 */
#ifndef ST_OUTPUT_H
#define ST_OUTPUT_H

/* Before an output path is used: set st_options.output. In MPI_Init every rank takes part; before it, in a world of
 * sessions, each rank has its own path. */
void st_output_start(void);

/* Before rank 0 writes the trace: return its path, reserved by an empty file where there was none. */
const char *st_output_claim(void);
/* The trace could not be written: remove that empty file. */
void st_output_release(void);

#endif
