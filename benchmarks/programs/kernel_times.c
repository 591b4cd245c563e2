/* kernel_times.c - write the duration of each marked kernel of a program, for models of single cores.
 *
 *     mpicc -O2 -shared -fPIC -o kernel_times.so kernel_times.c
 *     KERNEL_TIMES=times LD_PRELOAD="blas_kernels.so kernel_times.so" mpiexec -n 2 hpcc
 *
 * Stands in for the MPI_Pcontrol of the tracer. Each process writes lines `kernel(names) sizes ... ns` to
 * $KERNEL_TIMES.RANK. Calls during which the core went to another program have their CPU time, as in `calibrate`.
 */
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { KERNEL_BEGINS = 1001, KERNEL_ENDS = 1002, MAX_LOST_NS = 20000 };
#define MAX_LOST_SHARE 0.02

static FILE *file;
static char text[256];
static double begun_ns, begun_cpu_ns;

static double clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static void open_file(void) {
    const char *path = getenv("KERNEL_TIMES");
    char name[4096];
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(name, sizeof name, "%s.%d", path ? path : "kernel_times", rank);
    file = fopen(name, "w");
    if (!file) abort();
    setvbuf(file, NULL, _IOFBF, 1 << 24); /* no writes between most calls */
}

int MPI_Pcontrol(const int level, ...) {
    if (level == KERNEL_ENDS) {
        double ns = clock_ns(CLOCK_MONOTONIC) - begun_ns;
        double cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_cpu_ns;
        int disturbed = ns - cpu_ns > MAX_LOST_NS && ns - cpu_ns > MAX_LOST_SHARE * ns;
        fprintf(file, "%s %.0f\n", text, disturbed ? cpu_ns : ns);
    } else if (level == KERNEL_BEGINS) {
        if (!file) open_file();
        va_list values;
        va_start(values, level);
        const char *kernel = va_arg(values, const char *);
        int length = snprintf(text, sizeof text, "%s", kernel);
        for (const char *at = kernel; *at; at++) /* a size for each name */
            if (*at == '(' || *at == ',')
                length += snprintf(text + length, sizeof text - length, " %d", va_arg(values, int));
        va_end(values);
        begun_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        begun_ns = clock_ns(CLOCK_MONOTONIC);
    }
    return MPI_SUCCESS;
}
