/* heat.c - the heat equation on a rod, in C.
 *
 *     mpicc -O2 -o heat samples/heat.c -lm
 *     mpiexec -n 4 scalatrace record -o heat.st -- ./heat 500 32
 *
 * Size: any number of ranks; arguments: time steps (500), points per rank (32).
 * Expect: "correct" and status 0. Per step two Sendrecv with the neighbours (MPI_PROC_NULL at the ends),
 * every 100 steps an Allreduce of the hottest point. A sine between cold ends decays by a known factor.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* Fill the ghost points u[0] and u[n + 1] from the neighbours. */
static void exchange(double *u, int n, int left, int right) {
    MPI_Sendrecv(u + n, 1, MPI_DOUBLE, right, 0, u, 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(u + 1, 1, MPI_DOUBLE, left, 1, u + n + 1, 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static double hottest(const double *u, int n) {
    double own = 0, all = 0;
    for (int i = 1; i <= n; i++) own = fmax(own, u[i]);
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

/* Advance `steps` steps; true when the heat never rose. */
static int diffuse(double *u, double *next, int n, int steps, int left, int right) {
    double before = hottest(u, n);
    int good = 1;
    for (int step = 1; step <= steps; step++) {
        exchange(u, n, left, right);
        for (int i = 1; i <= n; i++) next[i] = (u[i - 1] + 2 * u[i] + u[i + 1]) / 4;
        for (int i = 1; i <= n; i++) u[i] = next[i];
        if (step % 100 == 0) {
            double now = hottest(u, n);
            good = good && now <= before;
            before = now;
        }
    }
    return good;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size, good, all_good;
    int steps = argc > 1 ? atoi(argv[1]) : 500;
    int n = argc > 2 ? atoi(argv[2]) : 32;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    int right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    double *u = calloc((size_t)n + 2, sizeof *u), *next = calloc((size_t)n + 2, sizeof *next);
    double wave_number = acos(-1.0) / ((double)n * size + 1);

    for (int i = 1; i <= n; i++) u[i] = sin(wave_number * (rank * n + i));
    good = diffuse(u, next, n, steps, left, right);
    double decay = pow((1 + cos(wave_number)) / 2, steps);
    for (int i = 1; i <= n; i++) good = good && fabs(u[i] - decay * sin(wave_number * (rank * n + i))) < 1e-12;
    MPI_Allreduce(&good, &all_good, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (rank == 0) printf("rod on %d ranks, %d steps: %s\n", size, steps, all_good ? "correct" : "WRONG");
    free(u);
    free(next);
    MPI_Finalize();
    return all_good ? 0 : 1;
}
