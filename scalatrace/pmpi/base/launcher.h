/* launcher.h - facts that launchers (mpiexec, srun) leave in environment variables. */
#ifndef ST_LAUNCHER_H
#define ST_LAUNCHER_H

#include <stdint.h>

/* Number of this host's ranks, as the launcher says; 1 where it does not. */
int st_ranks_here(void);
/* A number that processes of one job share and those of other jobs do not have, unless the launcher names no job. */
uint64_t st_job(void);

#endif
