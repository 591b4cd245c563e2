/* Every way to send and receive one message; with `wild`, from any source. Prints what was received. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define N 5
static int rank, size, next, before;
static double sent[8], got[8];

static void blocking(void) {
    MPI_Status status;
    MPI_Request request;
    char buffer[1024];
    MPI_Buffer_attach(buffer, sizeof buffer);
    for (int i = 0; i < N; i++) {
        MPI_Irecv(got, 8, MPI_DOUBLE, before, 3, MPI_COMM_WORLD, &request);
        if (i % 2)
            MPI_Send(sent, 1 + i, MPI_DOUBLE, next, 3, MPI_COMM_WORLD);
        else
            MPI_Bsend(sent, 1 + i, MPI_DOUBLE, next, 3, MPI_COMM_WORLD);
        MPI_Wait(&request, &status);
    }
    MPI_Sendrecv(sent, 2, MPI_DOUBLE, next, 4, got, 2, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(got, 2, MPI_DOUBLE, next, 5, before, 5, MPI_COMM_WORLD, &status);
    MPI_Send(sent, 1, MPI_DOUBLE, MPI_PROC_NULL, 6, MPI_COMM_WORLD);
    MPI_Recv(got, 1, MPI_DOUBLE, MPI_PROC_NULL, 6, MPI_COMM_WORLD, &status);
    void *detached;
    int n;
    MPI_Buffer_detach(&detached, &n);
}

static void probes(void) {
    MPI_Status status;
    MPI_Request request;
    MPI_Message message;
    int flag = 0, count;
    MPI_Isend(sent, 3, MPI_DOUBLE, next, 7, MPI_COMM_WORLD, &request);
    MPI_Probe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    MPI_Recv(got, count, MPI_DOUBLE, status.MPI_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Isend(sent, 3, MPI_DOUBLE, next, 8, MPI_COMM_WORLD, &request);
    while (!flag) MPI_Iprobe(before, 8, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Mprobe(before, 8, MPI_COMM_WORLD, &message, &status);
    MPI_Mrecv(got, 3, MPI_DOUBLE, &message, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Isend(sent, 3, MPI_DOUBLE, next, 9, MPI_COMM_WORLD, &request);
    for (flag = 0; !flag;) MPI_Improbe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
    MPI_Request received;
    MPI_Imrecv(got, 3, MPI_DOUBLE, &message, &received);
    MPI_Wait(&received, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void persistent(void) {
    MPI_Request requests[2];
    MPI_Send_init(sent, 4, MPI_DOUBLE, next, 10, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(got, 4, MPI_DOUBLE, before, 10, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < N; i++) {
        if (i % 2) {
            MPI_Startall(2, requests);
        } else {
            MPI_Start(&requests[0]);
            MPI_Start(&requests[1]);
        }
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[1]);
    MPI_Request_free(&requests[0]);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int i = 0; i < 8; i++) sent[i] = rank + 0.125 * i;
    blocking();
    probes();
    persistent();
    printf("rank %d: %g\n", rank, got[1]);
    MPI_Finalize();
    return 0;
}
