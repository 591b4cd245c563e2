/* launcher.h - facts that launchers (mpiexec, srun) leave in environment variables (launchers.def). */
#ifndef ST_LAUNCHER_H
#define ST_LAUNCHER_H

#include <stdint.h>

/* Number of this host's ranks, as the launcher says; 1 where it does not. */
int st_ranks_here(void);
/* Did each launcher around this process start several tasks? Return the number of this task, and how many there are;
 * or -1. */
int st_launched_task(int *ntasks);
/* A number that processes of one job share and those of other jobs do not have, unless the launcher names no job. */
uint64_t st_job(void);

#endif
