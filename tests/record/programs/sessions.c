/* Sessions. Each letter of the arguments is a step, on all ranks; no step calls MPI_Init but `i`.
 *
 *     i  MPI_Init            a  open a session, communicate in it, and close it
 *     f  MPI_Finalize        o  open a session, communicate in it, and leave it open until `c`
 *     w  use MPI_COMM_WORLD  c  communicate in the session that is open, and close it
 *     p  two sessions at a time, a half of the ranks in each communicator
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
static int rank, size, sum;

static void open_one(MPI_Session *session, MPI_Comm *comm, int half) {
    MPI_Group group, some;
    int range[1][3], mine;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, session);
    MPI_Group_from_session_pset(*session, "mpi://WORLD", &group);
    MPI_Group_rank(group, &mine);
    MPI_Group_size(group, &size);
    if (half) {
        range[0][0] = mine < size / 2 ? 0 : size / 2, range[0][1] = mine < size / 2 ? size / 2 - 1 : size - 1;
        range[0][2] = 1;
        MPI_Group_range_incl(group, 1, range, &some);
        MPI_Group_free(&group);
        group = some;
    }
    MPI_Comm_create_from_group(group, half ? "half" : "all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, comm);
    MPI_Group_free(&group);
}

static void communicate(MPI_Comm comm) {
    int me, n, from = 0;
    MPI_Request request;
    MPI_Comm copy;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    MPI_Irecv(&from, 1, MPI_INT, (me + n - 1) % n, 7, comm, &request);
    MPI_Send(&me, 1, MPI_INT, (me + 1) % n, 7, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < 5; i++) MPI_Allreduce(&from, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Comm_dup(comm, &copy);
    MPI_Barrier(copy);
    MPI_Comm_free(&copy);
    rank = me;
}

static void close_one(MPI_Session *session, MPI_Comm *comm) {
    MPI_Comm_free(comm);
    MPI_Session_finalize(session);
}

int main(int argc, char **argv) {
    MPI_Session session[2];
    MPI_Comm comm[2];
    for (const char *step = argc > 1 ? argv[1] : "a"; *step; step++) {
        if (*step == 'i') MPI_Init(&argc, &argv);
        if (*step == 'f') MPI_Finalize();
        if (*step == 'w') communicate(MPI_COMM_WORLD);
        if (*step == 'a' || *step == 'o') open_one(session, comm, 0);
        if (*step == 'a' || *step == 'o' || *step == 'c') communicate(comm[0]);
        if (*step == 'a' || *step == 'c') close_one(session, comm);
        if (*step == 'p') {
            for (int i = 0; i < 2; i++) open_one(&session[i], &comm[i], i);
            for (int i = 0; i < 4; i++) communicate(comm[i % 2]);
            for (int i = 0; i < 2; i++) close_one(&session[i], &comm[i]);
        }
    }
    printf("rank %d: %d\n", rank, sum);
    return 0;
}
#else
int main(void) {
    puts("no sessions");
    return 0;
}
#endif
