/* copies.c - requests that are waited for through copies of their handles, or never: MODE NBYTES.
 *
 * Every rank sends ROUNDS x SENDS messages to the next rank, which has posted the receives. Large messages have requests
 * with handles of their own; small ones may all have the handle of a completed request.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 5, SENDS = 6, WARM_UP = 5000 };

static int next, previous, nbytes;
static char *out, *in;
static MPI_Request sends[SENDS], receives[SENDS];

static void post_receives(void) {
    for (int i = 0; i < SENDS; i++)
        MPI_Irecv(in + (size_t)i * nbytes, nbytes, MPI_BYTE, previous, i, MPI_COMM_WORLD, &receives[i]);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void send(int tag, MPI_Request *request) {
    MPI_Isend(out, nbytes, MPI_BYTE, next, tag, MPI_COMM_WORLD, request);
}

/* Requests of one variable, copied one by one; waited for one by one, from the first or from the last. */
static void gather(int backwards) {
    MPI_Request request;
    for (int i = 0; i < SENDS; i++) {
        send(i, &request);
        sends[i] = request;
    }
    for (int i = 0; i < SENDS; i++) MPI_Wait(&sends[backwards ? SENDS - 1 - i : i], MPI_STATUS_IGNORE);
}

/* Requests of several variables, copied all at once and waited for in another order. */
static void shuffle(int round) {
    MPI_Request own[SENDS];
    for (int i = 0; i < SENDS; i++) send(i, &own[i]);
    for (int i = 0; i < SENDS; i++) sends[(5 * i + round) % SENDS] = own[i];
    MPI_Waitall(SENDS, sends, MPI_STATUSES_IGNORE);
}

/* All but the last two sends are never waited for; all requests were stored in one variable. */
static void leak(void) {
    MPI_Request request, kept[2];
    for (int i = 0; i < SENDS; i++) {
        send(i, &request);
        if (i >= SENDS - 2) kept[i - (SENDS - 2)] = request;
    }
    MPI_Wait(&kept[0], MPI_STATUS_IGNORE);
    MPI_Wait(&kept[1], MPI_STATUS_IGNORE);
}

/* Requests that are waited for where MPI stored them, for long. */
static void wait_in_place(void) {
    MPI_Request request;
    for (int i = 0; i < WARM_UP; i++) {
        MPI_Irecv(in, 1, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* What a program can see of requests that are complete at once. */
static void show_statuses(int rank) {
    MPI_Request requests[4], copies[4];
    MPI_Status statuses[4];
    int flag, index, count, cancelled;
    for (int i = 0; i < 4; i++) MPI_Irecv(in, nbytes, MPI_BYTE, MPI_PROC_NULL, i, MPI_COMM_WORLD, &requests[i]);
    memcpy(copies, requests, sizeof copies);
    MPI_Request_get_status(copies[1], &flag, &statuses[1]);
    MPI_Cancel(&copies[2]);
    MPI_Waitany(1, &copies[3], &index, &statuses[3]);
    MPI_Waitall(2, &copies[1], &statuses[1]);
    MPI_Test(&copies[0], &flag, &statuses[0]);
    for (int i = 0; i < 4; i++) {
        MPI_Get_count(&statuses[i], MPI_BYTE, &count);
        MPI_Test_cancelled(&statuses[i], &cancelled);
        printf("rank %d: source %d, count %d, cancelled %d, null %d\n", rank, statuses[i].MPI_SOURCE == MPI_PROC_NULL,
               count, cancelled, copies[i] == MPI_REQUEST_NULL);
    }
    send(0, &requests[0]);
    send(1, &requests[1]);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Recv(in, nbytes, MPI_BYTE, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(in, nbytes, MPI_BYTE, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init_thread(&argc, &argv, getenv("MULTIPLE") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &(int){0});
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size, previous = (rank + size - 1) % size, nbytes = atoi(argv[2]);
    out = calloc(1, (size_t)nbytes), in = calloc(SENDS, (size_t)nbytes);
    if (!strcmp(argv[1], "late")) wait_in_place();
    for (int round = 0; round < ROUNDS; round++) {
        if (!strcmp(argv[1], "statuses")) {
            show_statuses(rank);
            continue;
        }
        post_receives();
        if (!strcmp(argv[1], "gather") || !strcmp(argv[1], "late")) gather(round % 2);
        if (!strcmp(argv[1], "shuffle")) shuffle(round);
        if (!strcmp(argv[1], "leak")) leak();
        MPI_Waitall(SENDS, receives, MPI_STATUSES_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
