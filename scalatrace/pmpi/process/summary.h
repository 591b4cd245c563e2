/* summary.h - one line on the standard error about the trace that was just written, as text or as JSON:
 *
 *     scalatrace: wrote out.st: 5250 bytes, 8 events of 2 ranks, 0.10 s each, 41 % in MPI. Next: ...
 *     {"output": "/home/a/out.st", "bytes": 5250, "nprocs": 2, "events": 8, "seconds": 0.1, "mpi_share": 0.41, ...}
 */
#ifndef ST_SUMMARY_H
#define ST_SUMMARY_H

/* Print the line about the trace at this path: JSON where `record --json` asks for it, else text unless --quiet. Rank 0
 * calls it; the core is finished. */
void st_summary_print(const char *trace);

#endif
