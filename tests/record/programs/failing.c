/* failing.c [handled] - calls with errors: refused ones, and receives whose messages are too long. handled: error
 * handlers of the program run. */
#include <mpi.h>
#include <stdio.h>

static int rank, size, buf[4], handled;

static void handle_comm(MPI_Comm *comm, int *error, ...) { handled = *error; }
static void handle_win(MPI_Win *win, int *error, ...) { handled = *error; }
static void handle_file(MPI_File *file, int *error, ...) { handled = *error; }

static void refused(void) {
    int number = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_File file;
    for (int i = 0; i < 3; i++) MPI_Send(&number, 1, MPI_INT, size + 5, 0, MPI_COMM_WORLD);
    MPI_Send(&number, -1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    MPI_Send(&number, 1, MPI_INT, 0, -77, MPI_COMM_WORLD);
    MPI_Irecv(&number, 1, MPI_INT, size + 5, 0, MPI_COMM_WORLD, &request);
    MPI_Bcast(buf, 1, MPI_INT, size + 1, MPI_COMM_WORLD);
    MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_NULL, &comm);
    MPI_File_delete("/nonexistent/x", MPI_INFO_NULL);
    MPI_File_open(MPI_COMM_WORLD, "/nonexistent/x", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
}

static void truncated(void) {
    MPI_Request requests[2];
    MPI_Status statuses[2];
    if (rank == 0) {
        for (int tag = 7; tag < 11; tag++) MPI_Send(buf, 4, MPI_INT, 1, tag, MPI_COMM_WORLD);
        MPI_Send(buf, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
    }
    if (rank == 1) {
        int error = MPI_Recv(buf, 2, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE), class;
        MPI_Error_class(error ? error : handled, &class); /* MPICH 5 returns no error that was handled */
        printf("truncated %d\n", class == MPI_ERR_TRUNCATE);
        MPI_Recv(buf, 2, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Irecv(buf, 4, MPI_INT, 0, 8, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(buf, 2, MPI_INT, 0, 9, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, statuses); /* without statuses, Open MPI returns no error */
        MPI_Irecv(buf, 2, MPI_INT, 0, 10, MPI_COMM_WORLD, &requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
    MPI_Sendrecv(buf, 4, MPI_INT, (rank + 1) % size, 3, &buf[2], 1, MPI_INT, (rank + size - 1) % size, 3,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Objects that a call failed to free live on. */
static void not_freed(MPI_Errhandler win_handler) {
    MPI_Comm world = MPI_COMM_WORLD, null = MPI_COMM_NULL;
    MPI_Win win;
    int *memory;
    MPI_Comm_free(&world);
    MPI_Comm_free(&null);
    MPI_Win_allocate(sizeof *memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_set_errhandler(win, win_handler);
    MPI_Win_fence(0, win);
    MPI_Put(&rank, 1, MPI_INT, size + 3, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Errhandler of_comms = MPI_ERRORS_RETURN, of_wins = MPI_ERRORS_RETURN, of_files = MPI_ERRORS_RETURN;
    if (argc > 1) {
        MPI_Comm_create_errhandler(handle_comm, &of_comms);
        MPI_Win_create_errhandler(handle_win, &of_wins);
        MPI_File_create_errhandler(handle_file, &of_files);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, of_comms);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, of_comms);
    MPI_File_set_errhandler(MPI_FILE_NULL, of_files);
    refused();
    truncated();
    not_freed(of_wins);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
