/* program.h - the header entry `program` where ranks run different programs, as mpiexec writes them:
 *
 *     -n 4 ./ocean in.nml : -n 2 ./atmosphere
 */
#ifndef ST_PROGRAM_H
#define ST_PROGRAM_H

/* In MPI_Init: on rank 0, replace the entry unless all ranks have the same. Every rank takes part. */
void st_program_start(void);

#endif
