/* MPI_Pcontrol: which ranks have recording off in which steps depends on the argument. */
#include <mpi.h>
#include <string.h>

static int rank, size, in[2], out[2];

/* A halo exchange by persistent requests that were made while recording was off. */
static void exchange(MPI_Request *requests) {
    MPI_Startall(4, requests);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv) {
    MPI_Comm ring, quiet;
    MPI_Request requests[4], early, late;
    const char *mode = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Pcontrol(0);
    MPI_Pcontrol(0);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &ring);
    MPI_Barrier(ring);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Recv_init(&in[0], 1, MPI_INT, left, 1, ring, &requests[0]);
    MPI_Recv_init(&in[1], 1, MPI_INT, right, 2, ring, &requests[1]);
    MPI_Send_init(&out[0], 1, MPI_INT, right, 1, ring, &requests[2]);
    MPI_Send_init(&out[1], 1, MPI_INT, left, 2, ring, &requests[3]);
    MPI_Pcontrol(1);
    for (int step = 0; step < 9; step++) {
        if (!strcmp(mode, "together")) MPI_Pcontrol(step % 3 != 1);
        if (!strcmp(mode, "halo") && rank == 0) MPI_Pcontrol(step % 3 != 1);
        if (!strcmp(mode, "collective")) MPI_Pcontrol(rank != size - 1);
        exchange(requests);
        MPI_Comm_dup(ring, &quiet);
        MPI_Allreduce(&rank, &in[0], 1, MPI_INT, MPI_SUM, quiet);
        MPI_Comm_free(&quiet);
    }
    MPI_Pcontrol(1);
    /* Requests that one side of a switch creates, and the other completes, in another order. */
    MPI_Irecv(&in[0], 1, MPI_INT, left, 3, ring, &early);
    MPI_Irecv(&in[1], 1, MPI_INT, left, 4, ring, &late);
    MPI_Send(&rank, 1, MPI_INT, right, 3, ring);
    MPI_Send(&rank, 1, MPI_INT, right, 4, ring);
    MPI_Pcontrol(0);
    MPI_Wait(&late, MPI_STATUS_IGNORE);
    MPI_Isend(&rank, 1, MPI_INT, rank, 5, ring, &late);
    MPI_Recv(&in[1], 1, MPI_INT, rank, 5, ring, MPI_STATUS_IGNORE);
    MPI_Pcontrol(1);
    MPI_Wait(&early, MPI_STATUS_IGNORE);
    MPI_Wait(&late, MPI_STATUS_IGNORE); /* of a request that was never recorded */
    for (int i = 0; i < 4; i++) MPI_Request_free(&requests[i]);
    MPI_Comm_free(&ring);
    MPI_Finalize();
    return 0;
}
