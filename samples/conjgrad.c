/* conjgrad.c - conjugate gradients with a matrix in blocks, as in NPB CG, in C.
 *
 *     mpicc -O2 -o conjgrad samples/conjgrad.c -lm
 *     mpiexec -n 4 scalatrace record -o conjgrad.st -- ./conjgrad 50 64
 *
 * Size: any number of ranks, of which a power of 2 works; arguments: systems to solve (10), rows of the matrix
 * (64), a multiple of these ranks.
 * Expect: "correct" and status 0. Ranks form rows and columns, twice as many columns as rows for 2, 8, 32 ...
 * A product sums over the ranks of a row by recursive doubling (Irecv, Send, Wait), then swaps the result with
 * the transposed rank. Two Allreduce of a number per step. All solutions are 1.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 25, SUM = 1, SWAP = 2 };

/* A rank's block of the matrix and its place. Vectors are shared out over the columns, and equal in all rows. */
struct block {
    int rows, columns;   /* of ranks */
    int row, column;     /* of this rank */
    int height, width;   /* of the block */
    int transposed;      /* the rank to swap with */
    MPI_Comm in_row;     /* the ranks of the same row, in order of their columns */
    double *a, *w, *got; /* the block; products; what comes from others */
};

static void exchange(const double *out, double *in, int n, int partner, int tag, MPI_Comm comm) {
    MPI_Request request;
    MPI_Irecv(in, n, MPI_DOUBLE, partner, tag, comm, &request);
    MPI_Send(out, n, MPI_DOUBLE, partner, tag, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* q = A p */
static void multiply(struct block *b, const double *p, double *q) {
    for (int i = 0; i < b->height; i++) {
        b->w[i] = 0;
        for (int j = 0; j < b->width; j++) b->w[i] += b->a[i * b->width + j] * p[j];
    }
    for (int bit = 1; bit < b->columns; bit *= 2) {
        exchange(b->w, b->got, b->height, b->column ^ bit, SUM, b->in_row);
        for (int i = 0; i < b->height; i++) b->w[i] += b->got[i];
    }
    const double *part = b->columns == b->rows ? b->w : b->w + (b->column % 2) * b->width;
    if (b->transposed == b->row * b->columns + b->column)
        memcpy(q, part, (size_t)b->width * sizeof *q);
    else
        exchange(part, q, b->width, b->transposed, SWAP, MPI_COMM_WORLD);
}

static double dot(const struct block *b, const double *u, const double *v) {
    double own = 0, all;
    for (int i = 0; i < b->width; i++) own += u[i] * v[i];
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, b->in_row);
    return all;
}

/* Solve A x = s; `work` is room for three vectors. */
static void solve(struct block *b, const double *s, double *x, double *work) {
    int n = b->width;
    double *r = work, *p = work + n, *q = work + 2 * n;
    for (int i = 0; i < n; i++) x[i] = 0, p[i] = r[i] = s[i];
    double rho = dot(b, r, r);
    for (int step = 0; step < STEPS; step++) {
        multiply(b, p, q);
        double curvature = dot(b, p, q), alpha = curvature > 0 ? rho / curvature : 0;
        for (int i = 0; i < n; i++) x[i] += alpha * p[i], r[i] -= alpha * q[i];
        double before = rho;
        rho = dot(b, r, r);
        for (int i = 0; i < n; i++) p[i] = r[i] + (before > 0 ? rho / before : 0) * p[i];
    }
}

static double element(int i, int j) { return i == j ? 8 : 1.0 / (1 + (i - j) * (i - j)); }

/* Make this rank's block of a matrix with n rows, for so many ranks. */
static void make_block(struct block *b, int rank, int ranks, int n) {
    b->rows = 1;
    while (4 * b->rows * b->rows <= ranks) b->rows *= 2;
    b->columns = ranks / b->rows;
    b->row = rank / b->columns, b->column = rank % b->columns;
    int wide = b->columns / b->rows; /* 1 or 2 columns of ranks for each row */
    b->transposed = b->column / wide * b->columns + b->row * wide + b->column % wide;
    b->height = n / b->rows, b->width = n / b->columns;
    b->a = malloc((size_t)b->height * (size_t)b->width * sizeof *b->a);
    b->w = malloc(2 * (size_t)b->height * sizeof *b->w), b->got = b->w + b->height;
    for (int i = 0; i < b->height; i++)
        for (int j = 0; j < b->width; j++)
            b->a[i * b->width + j] = element(b->row * b->height + i, b->column * b->width + j);
}

/* Whether all systems have the right solution. */
static int solve_all(struct block *b, int systems) {
    int n = b->width, good = 1;
    double *vectors = malloc(6 * (size_t)n * sizeof *vectors), *ones = vectors, *s = vectors + n, *x = vectors + 2 * n;
    for (int i = 0; i < n; i++) ones[i] = 1;
    for (int system = 0; system < systems; system++) {
        multiply(b, ones, s);
        solve(b, s, x, vectors + 3 * n);
        for (int i = 0; i < n; i++) good = good && fabs(x[i] - 1) < 1e-9;
    }
    free(vectors);
    return good;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size, used = 1, good = 1, all_good;
    int systems = argc > 1 ? atoi(argv[1]) : 10, n = argc > 2 ? atoi(argv[2]) : 64;
    struct block b;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    while (2 * used <= size && n % (2 * used) == 0) used *= 2;
    if (rank < used) make_block(&b, rank, used, n);
    MPI_Comm_split(MPI_COMM_WORLD, rank < used ? b.row : MPI_UNDEFINED, rank, &b.in_row);
    if (rank < used) {
        good = solve_all(&b, systems);
        free(b.a);
        free(b.w);
    }
    MPI_Allreduce(&good, &all_good, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (rank == 0) printf("%d of %d ranks, %d systems: %s\n", used, size, systems, all_good ? "correct" : "WRONG");
    MPI_Finalize();
    return all_good ? 0 : 1;
}
