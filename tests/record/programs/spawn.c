/* The parents start two children, who are this program too; they talk, merge, and part. */
#include <mpi.h>
#include <stdio.h>

static int rank;

static void talk(MPI_Comm family, int parent) {
    MPI_Comm all;
    int value = 7, sum = 0, n;
    for (int i = 0; i < 5; i++)
        MPI_Bcast(&value, 1, MPI_INT, parent ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0, family);
    if (parent && rank == 0) MPI_Send(&value, 1, MPI_INT, 1, 4, family);
    if (!parent && rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, 4, family, MPI_STATUS_IGNORE);
    MPI_Intercomm_merge(family, !parent, &all);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, all);
    MPI_Comm_size(all, &n);
    if (parent) printf("rank %d: %d of %d\n", rank, sum, n);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&family);
}

int main(int argc, char **argv) {
    MPI_Comm family;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&family);
    if (family == MPI_COMM_NULL) {
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &family, MPI_ERRCODES_IGNORE);
        talk(family, 1);
    } else {
        talk(family, 0);
    }
    MPI_Finalize();
    return 0;
}
