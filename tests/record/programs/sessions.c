/* A session; no MPI_Init, no MPI_COMM_WORLD, unless there is an argument. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank = 0, sum = 0;
    if (argc > 1) MPI_Init(&argc, &argv);
#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < 5; i++) MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
#endif
    printf("rank %d: %d\n", rank, sum);
    if (argc > 1) MPI_Finalize();
    return 0;
}
