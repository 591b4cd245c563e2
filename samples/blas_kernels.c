/* blas_kernels.c - mark the BLAS calls of a program without recompiling it, so that models of kernels apply to it.
 *
 *     mpicc -O2 -shared -fPIC -o blas_kernels.so blas_kernels.c -ldl
 *     LD_PRELOAD=$PWD/blas_kernels.so mpiexec -n 4 scalatrace record -o hpcc.st -- hpcc
 *
 * The program must load its BLAS as a shared library. Calls by the names of Fortran and of CBLAS are marked.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>

enum { KERNEL_BEGINS = 1001, KERNEL_ENDS = 1002, CBLAS_LEFT = 141 };

static int mpi_runs(void) {
    int started = 0, ended = 0;
    MPI_Initialized(&started);
    MPI_Finalized(&ended);
    return started && !ended;
}

/* Kernels of this thread within each other: the cblas functions of some libraries call the others. */
static _Thread_local int depth;

static void begin(const char *kernel, int m, int n, int k) {
    if (depth++ == 0 && mpi_runs()) MPI_Pcontrol(KERNEL_BEGINS, kernel, m, n, k);
}

static void end(void) {
    if (--depth == 0 && mpi_runs()) MPI_Pcontrol(KERNEL_ENDS);
}

static void *find(void *known, const char *name) { return known ? known : dlsym(RTLD_NEXT, name); }

typedef void dgemm_function(const char *transa, const char *transb, const int *m, const int *n, const int *k,
                            const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
                            const double *beta, double *c, const int *ldc);
typedef void dtrsm_function(const char *side, const char *uplo, const char *transa, const char *diag, const int *m,
                            const int *n, const double *alpha, const double *a, const int *lda, double *b,
                            const int *ldb);
typedef void cblas_dgemm_function(int order, int transa, int transb, int m, int n, int k, double alpha, const double *a,
                                  int lda, const double *b, int ldb, double beta, double *c, int ldc);
typedef void cblas_dtrsm_function(int order, int side, int uplo, int transa, int diag, int m, int n, double alpha,
                                  const double *a, int lda, double *b, int ldb);
dgemm_function dgemm_;
dtrsm_function dtrsm_;
cblas_dgemm_function cblas_dgemm;
cblas_dtrsm_function cblas_dtrsm;

void dgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k, const double *alpha,
            const double *a, const int *lda, const double *b, const int *ldb, const double *beta, double *c,
            const int *ldc) {
    static void *next;
    next = find(next, "dgemm_");
    begin("dgemm(m,n,k)", *m, *n, *k);
    ((dgemm_function *)next)(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    end();
}

void cblas_dgemm(int order, int transa, int transb, int m, int n, int k, double alpha, const double *a, int lda,
                 const double *b, int ldb, double beta, double *c, int ldc) {
    static void *next;
    next = find(next, "cblas_dgemm");
    begin("dgemm(m,n,k)", m, n, k);
    ((cblas_dgemm_function *)next)(order, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    end();
}

/* Its work is the product of m, n and the order k of the triangular matrix. */
void dtrsm_(const char *side, const char *uplo, const char *transa, const char *diag, const int *m, const int *n,
            const double *alpha, const double *a, const int *lda, double *b, const int *ldb) {
    static void *next;
    next = find(next, "dtrsm_");
    begin("dtrsm(m,n,k)", *m, *n, *side == 'L' || *side == 'l' ? *m : *n);
    ((dtrsm_function *)next)(side, uplo, transa, diag, m, n, alpha, a, lda, b, ldb);
    end();
}

void cblas_dtrsm(int order, int side, int uplo, int transa, int diag, int m, int n, double alpha, const double *a,
                 int lda, double *b, int ldb) {
    static void *next;
    next = find(next, "cblas_dtrsm");
    begin("dtrsm(m,n,k)", m, n, side == CBLAS_LEFT ? m : n);
    ((cblas_dtrsm_function *)next)(order, side, uplo, transa, diag, m, n, alpha, a, lda, b, ldb);
    end();
}
