/* fftw.c - there and back by FFTW's transform of a square; argument: points of a side. */
#include <fftw3-mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    fftw_mpi_init();
    int rank;
    ptrdiff_t n = argc > 1 ? atoi(argv[1]) : 32, rows, first;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    ptrdiff_t room = fftw_mpi_local_size_2d(n, n, MPI_COMM_WORLD, &rows, &first);
    fftw_complex *data = fftw_alloc_complex((size_t)room);
    fftw_plan there = fftw_mpi_plan_dft_2d(n, n, data, data, MPI_COMM_WORLD, FFTW_FORWARD, FFTW_ESTIMATE);
    fftw_plan back = fftw_mpi_plan_dft_2d(n, n, data, data, MPI_COMM_WORLD, FFTW_BACKWARD, FFTW_ESTIMATE);
    for (ptrdiff_t i = 0; i < rows * n; i++) data[i][0] = (double)((first * n + i) % 7), data[i][1] = 0;
    for (int step = 0; step < 5; step++) {
        fftw_execute(there);
        fftw_execute(back);
        for (ptrdiff_t i = 0; i < rows * n; i++) data[i][0] /= (double)(n * n), data[i][1] /= (double)(n * n);
    }
    double own = 0, sum;
    for (ptrdiff_t i = 0; i < rows * n; i++) own += data[i][0];
    MPI_Reduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("result sum %.6f\n", sum);
    fftw_destroy_plan(there);
    fftw_destroy_plan(back);
    fftw_free(data);
    fftw_mpi_cleanup();
    MPI_Finalize();
    return 0;
}
