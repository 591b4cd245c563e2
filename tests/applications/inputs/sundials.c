/* sundials.c - heat in a rod, by CVODE with a parallel vector; argument: output times. */
#include <cvode/cvode.h>
#include <mpi.h>
#include <nvector/nvector_parallel.h>
#include <stdio.h>
#include <stdlib.h>
#include <sundials/sundials_types.h>
#include <sunlinsol/sunlinsol_spgmr.h>

enum { POINTS = 24 };

static int heat(realtype t, N_Vector u, N_Vector du, void *data) {
    (void)t;
    int rank = ((int *)data)[0], size = ((int *)data)[1];
    int before = rank ? rank - 1 : MPI_PROC_NULL, after = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
    double *value = NV_DATA_P(u), *change = NV_DATA_P(du), first = 0, last = 0;
    MPI_Sendrecv(&value[POINTS - 1], 1, MPI_DOUBLE, after, 0, &first, 1, MPI_DOUBLE, before, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(&value[0], 1, MPI_DOUBLE, before, 1, &last, 1, MPI_DOUBLE, after, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < POINTS; i++)
        change[i] = (i ? value[i - 1] : first) - 2 * value[i] + (i + 1 < POINTS ? value[i + 1] : last);
    return 0;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int place[2], times = argc > 1 ? atoi(argv[1]) : 10;
    MPI_Comm_rank(MPI_COMM_WORLD, &place[0]);
    MPI_Comm_size(MPI_COMM_WORLD, &place[1]);
    MPI_Comm comm = MPI_COMM_WORLD;
    SUNContext context;
    SUNContext_Create(&comm, &context);
    N_Vector u = N_VNew_Parallel(comm, POINTS, (sunindextype)POINTS * place[1], context);
    for (int i = 0; i < POINTS; i++) NV_Ith_P(u, i) = i == POINTS / 2;
    void *solver = CVodeCreate(CV_BDF, context);
    CVodeInit(solver, heat, 0, u);
    CVodeSStolerances(solver, 1e-6, 1e-8);
    CVodeSetUserData(solver, place);
    CVodeSetLinearSolver(solver, SUNLinSol_SPGMR(u, SUN_PREC_NONE, 5, context), NULL);
    double t;
    for (int k = 1; k <= times; k++) CVode(solver, k, u, &t, CV_NORMAL);
    long steps;
    CVodeGetNumSteps(solver, &steps);
    double norm = N_VDotProd(u, u);
    if (place[0] == 0) printf("result steps %ld norm %.6e\n", steps, norm);
    N_VDestroy(u);
    CVodeFree(&solver);
    SUNContext_Free(&context);
    MPI_Finalize();
    return 0;
}
