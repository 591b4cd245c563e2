/* wavefront.c - sweeps through a grid from corner to corner, plane by plane, as in NPB LU, in C.
 *
 *     mpicc -O2 -o wavefront samples/wavefront.c
 *     mpiexec -n 4 scalatrace record -o wavefront.st -- ./wavefront 100 64 8
 *
 * Size: any number of ranks; arguments: sweeps (20), planes (16), points per rank along each side (8).
 * Expect: "correct" and status 0. A sweep goes to the south-east, or back to the north-west in turns. In each
 * plane a rank waits for the borders from two neighbours, computes, and sends its own borders on: while one
 * rank computes a plane, the ranks behind it compute the planes before. Messages have a few hundred bytes.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { PRIME = 1000003 };

/* The part of a rank: its neighbours by direction, its place in the grid of ranks, points per side. */
struct part {
    int before[2], behind[2], place[2], n;
};

/* Each point becomes the sum of those before it along both sides; `rows` and `columns` are the borders. */
static void sum_plane(int *at, int n, const int *rows, const int *columns) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            at[i * n + j] = ((i ? at[(i - 1) * n + j] : rows[j]) + (j ? at[i * n + j - 1] : columns[i])) % PRIME;
}

/* One sweep over all planes. The borders of the grid are the plane's number plus one. */
static void sweep(const struct part *part, int *planes, int nplanes, int *border[2], MPI_Comm grid) {
    int n = part->n;
    for (int plane = 0; plane < nplanes; plane++) {
        int *at = planes + plane * n * n;
        for (int side = 0; side < 2; side++) {
            for (int i = 0; i < n; i++) border[side][i] = plane + 1;
            MPI_Recv(border[side], n, MPI_INT, part->before[side], side, grid, MPI_STATUS_IGNORE);
        }
        sum_plane(at, n, border[0], border[1]);
        for (int i = 0; i < n; i++) border[0][i] = at[(n - 1) * n + i], border[1][i] = at[i * n + n - 1];
        for (int side = 0; side < 2; side++) MPI_Send(border[side], n, MPI_INT, part->behind[side], side, grid);
    }
}

/* Compute the whole grid on this rank; true when the rank's part is the same. */
static int is_right(const struct part *part, const int *planes, int nplanes, const int *dims) {
    int n = part->n, height = dims[0] * n, width = dims[1] * n, good = 1;
    int *all = calloc((size_t)(height + 1) * (size_t)(width + 1), sizeof *all);
    for (int plane = 0; plane < nplanes; plane++) {
        for (int i = 0; i <= height; i++)
            for (int j = 0; j <= width; j++)
                all[i * (width + 1) + j] =
                    i && j ? (all[(i - 1) * (width + 1) + j] + all[i * (width + 1) + j - 1]) % PRIME : plane + 1;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                int there = (part->place[0] * n + i + 1) * (width + 1) + part->place[1] * n + j + 1;
                good = good && planes[(plane * n + i) * n + j] == all[there];
            }
    }
    free(all);
    return good;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int size, rank, good = 1, all_good, coords[2], dims[2] = {0, 0}, periods[2] = {0, 0};
    int sweeps = argc > 1 ? atoi(argv[1]) : 20, nplanes = argc > 2 ? atoi(argv[2]) : 16;
    struct part part = {.n = argc > 3 ? atoi(argv[3]) : 8};
    MPI_Comm grid;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_coords(grid, rank, 2, coords);
    size_t points = (size_t)part.n * (size_t)part.n;
    int *planes = calloc((size_t)nplanes * points, sizeof *planes);
    int *border[2] = {calloc((size_t)part.n, sizeof(int)), calloc((size_t)part.n, sizeof(int))};

    for (int done = 0; done < sweeps; done++) {
        int back = done % 2; /* from the south-east: the same grid, turned round */
        for (int side = 0; side < 2; side++) {
            part.place[side] = back ? dims[side] - 1 - coords[side] : coords[side];
            MPI_Cart_shift(grid, side, back ? -1 : 1, &part.before[side], &part.behind[side]);
        }
        sweep(&part, planes, nplanes, border, grid);
        if (done < 2) good = good && is_right(&part, planes, nplanes, dims);
    }
    MPI_Allreduce(&good, &all_good, 1, MPI_INT, MPI_LAND, grid);
    if (rank == 0) printf("%d x %d ranks, %d sweeps: %s\n", dims[0], dims[1], sweeps, all_good ? "correct" : "WRONG");
    free(planes);
    free(border[0]);
    free(border[1]);
    MPI_Finalize();
    return all_good ? 0 : 1;
}
