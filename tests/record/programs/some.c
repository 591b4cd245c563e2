/* What comes after Waitsome: each request that ends is the last one alive but for those named in the comments. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int sent, got[3];
static MPI_Request requests[3];

static void receive_from_self(void) {
    for (int i = 0; i < 3; i++) MPI_Irecv(&got[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[i]);
    for (int i = 0; i < 3; i++) MPI_Send(&sent, 1, MPI_INT, 0, i, MPI_COMM_SELF);
}

/* End requests[first] and no other, though the call could end more. */
static void some_from(int first) {
    int n, indices[1];
    MPI_Waitsome(1, &requests[first], &n, indices, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv) {
    int n, index, flag, indices[1];
    MPI_Request persistent;
    MPI_Init_thread(&argc, &argv, getenv("MULTIPLE") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &(int){0});
    receive_from_self();
    some_from(2); /* two others live */
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    some_from(0);
    receive_from_self();
    some_from(2);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); /* ages 1 and 0 */
    receive_from_self();
    MPI_Testsome(1, &requests[2], &n, indices, MPI_STATUSES_IGNORE);
    some_from(1); /* a Waitsome does not join a Testsome */
    MPI_Testany(1, requests, &index, &flag, MPI_STATUS_IGNORE);

    MPI_Send_init(&sent, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &persistent);
    receive_from_self();
    some_from(2);
    some_from(1);
    some_from(0);
    MPI_Start(&persistent);
    MPI_Wait(&persistent, MPI_STATUS_IGNORE);
    MPI_Request_free(&persistent);

    receive_from_self();
    some_from(2);
    MPI_Pcontrol(0);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE); /* recorded, since its request is */
    MPI_Pcontrol(1);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
