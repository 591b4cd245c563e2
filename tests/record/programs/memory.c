/* memory.c STEPS - calls of many kinds with parameters that follow no rule; prints a checksum. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define NVALUES 64

int main(int argc, char **argv) {
    int rank, size, sent[NVALUES], received[NVALUES];
    long sum = 0;
    MPI_Comm row, copy;
    MPI_Datatype type;
    MPI_Request requests[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int step = 0; step < atoi(argv[1]); step++) {
        int count = 1 + step * step * 7919 % NVALUES, partner = (rank + 1) % size, other = (rank + size - 1) % size;
        for (int i = 0; i < NVALUES; i++) sent[i] = rank * 1000 + step + i;
        MPI_Irecv(received, NVALUES, MPI_INT, other, step, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(sent, count, MPI_INT, partner, step, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < count; i++) sum += received[i];
        if (step % 7 == 3) {
            MPI_Comm_split(MPI_COMM_WORLD, rank % 2, step, &row);
            MPI_Comm_dup(row, &copy);
            MPI_Type_vector(step + 1, 2, 5, MPI_INT, &type);
            MPI_Type_commit(&type);
            MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_LONG, MPI_SUM, copy);
            MPI_Type_free(&type);
            MPI_Comm_free(&copy);
            MPI_Comm_free(&row);
        }
    }
    printf("rank %d: %ld\n", rank, sum);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
