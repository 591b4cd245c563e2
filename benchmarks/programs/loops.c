/* loops.c - MPI calls that do as little as possible, timed: what is left is the tracer.
 *
 *     loops procnull|self|counts|polls CALLS
 *
 * Prints "<ns of CPU per MPI call> <peak memory in KiB>". One rank. A tenth of the calls goes before, unmeasured.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { MAX_COUNT = 5000 };

static char buffer[MAX_COUNT], incoming[MAX_COUNT];

/* Sends to nobody. */
static long procnull(long calls) {
    for (long i = 0; i < calls; i++) MPI_Send(buffer, 8, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    return calls;
}

/* Messages to this rank itself: three calls each. */
static long self(long calls) {
    for (long i = 0; i < calls / 3; i++) {
        MPI_Request request;
        MPI_Irecv(incoming, 8, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &request);
        MPI_Send(buffer, 8, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return calls / 3 * 3;
}

/* Sends to nobody, with a count that differs every time and follows no rule a compressor could find. */
static long counts(long calls) {
    static uint32_t state = 2463534242u;
    for (long i = 0; i < calls; i++) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        MPI_Send(buffer, (int)(state % MAX_COUNT), MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    }
    return calls;
}

/* Polls of eight receives of which none completes. */
static long polls(long calls) {
    MPI_Request requests[8];
    int index, flag;
    for (int i = 0; i < 8; i++) MPI_Irecv(&incoming[i], 1, MPI_CHAR, 0, i, MPI_COMM_WORLD, &requests[i]);
    for (long i = 0; i < calls; i++) MPI_Testany(8, requests, &index, &flag, MPI_STATUS_IGNORE);
    for (int i = 0; i < 8; i++) MPI_Send(&buffer[i], 1, MPI_CHAR, 0, i, MPI_COMM_WORLD);
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
    return calls;
}

static double cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static long run(const char *which, long calls) {
    if (!strcmp(which, "procnull")) return procnull(calls);
    if (!strcmp(which, "self")) return self(calls);
    if (!strcmp(which, "polls")) return polls(calls);
    return counts(calls);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    const char *which = argc > 1 ? argv[1] : "procnull";
    long calls = argc > 2 ? atol(argv[2]) : 1000000;
    run(which, calls / 10);
    double before = cpu_ns();
    long made = run(which, calls);
    double each = made ? (cpu_ns() - before) / (double)made : 0;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%.1f %ld\n", each, usage.ru_maxrss);
    MPI_Finalize();
    return 0;
}
