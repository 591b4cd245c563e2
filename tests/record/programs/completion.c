/* Requests completed in every way: one, all, any, some; waited for and tested; some of them null, some of one handle. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define N 6
static int rank, size, next, before, sent[N], got[N];
static MPI_Request requests[2 * N];

static void post(int tag) {
    for (int i = 0; i < N; i++) {
        sent[i] = 100 * rank + i;
        MPI_Irecv(&got[i], 1, MPI_INT, i % 2 ? MPI_ANY_SOURCE : before, tag + i, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = 0; i < N; i++) MPI_Isend(&sent[i], 1, MPI_INT, next, tag + i, MPI_COMM_WORLD, &requests[N + i]);
}

int main(int argc, char **argv) {
    int index, flag, n, indices[2 * N], wrong = 0;
    MPI_Status statuses[2 * N];
    MPI_Init_thread(&argc, &argv, getenv("MULTIPLE") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &(int){0});
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size, before = (rank + size - 1) % size;

    post(0);
    for (int i = 0; i < 2 * N; i++) MPI_Wait(&requests[i], i % 2 ? &statuses[0] : MPI_STATUS_IGNORE);
    post(10);
    MPI_Waitall(2 * N, requests, statuses);
    for (int i = 0; i < N; i++) wrong += statuses[i].MPI_SOURCE != before || statuses[i].MPI_TAG != 10 + i;
    post(20);
    for (int i = 0; i < 2 * N; i++) MPI_Waitany(2 * N, requests, &index, MPI_STATUS_IGNORE);
    post(30);
    for (int left = 2 * N; left > 0; left -= n) {
        MPI_Waitsome(2 * N, requests, &n, indices, MPI_STATUSES_IGNORE);
        for (int i = 0; i < n; i++) wrong += requests[indices[i]] != MPI_REQUEST_NULL;
    }
    post(40);
    for (int i = 2 * N - 1; i >= 0; i--)
        for (flag = 0; !flag;) MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
    post(50);
    for (flag = 0; !flag;) MPI_Testall(2 * N, requests, &flag, MPI_STATUSES_IGNORE);
    post(60);
    for (int i = 0; i < 2 * N; i += flag) MPI_Testany(2 * N, requests, &index, &flag, MPI_STATUS_IGNORE);
    post(70);
    for (int left = 2 * N; left > 0; left -= n) MPI_Testsome(2 * N, requests, &n, indices, statuses);

    MPI_Request lonely[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Irecv(got, 1, MPI_INT, before, 99, MPI_COMM_WORLD, &lonely[1]);
    MPI_Cancel(&lonely[1]);
    MPI_Waitall(2, lonely, MPI_STATUSES_IGNORE);
    MPI_Waitany(2, lonely, &index, MPI_STATUS_IGNORE);
    wrong += index != MPI_UNDEFINED;
    MPI_Test(&lonely[0], &flag, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < N; i++) wrong += got[i] != 100 * before + i;
    printf("rank %d: %d wrong\n", rank, wrong);
    MPI_Finalize();
    return wrong != 0;
}
