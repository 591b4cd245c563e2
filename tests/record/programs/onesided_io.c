/* Windows and files. argv[1]: a file that may be written. */
#include <mpi.h>
#include <stdio.h>

static int rank, size;

static void windows(void) {
    double *memory, value = rank, old = 0, one = 1;
    MPI_Win win, second;
    MPI_Group all;
    MPI_Request request;
    int next = (rank + 1) % size;
    MPI_Win_allocate(8 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    for (int i = 0; i < 8; i++) memory[i] = 0;
    for (int i = 0; i < 3; i++) {
        MPI_Win_fence(i ? 0 : MPI_MODE_NOPRECEDE, win);
        MPI_Put(&value, 1, MPI_DOUBLE, next, i, 1, MPI_DOUBLE, win);
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
    MPI_Get(&value, 1, MPI_DOUBLE, next, 0, 1, MPI_DOUBLE, win);
    MPI_Win_unlock(next, win);
    MPI_Win_lock_all(0, win);
    MPI_Accumulate(&one, 1, MPI_DOUBLE, 0, 4, 1, MPI_DOUBLE, MPI_SUM, win);
    MPI_Fetch_and_op(&one, &old, MPI_DOUBLE, 0, 5, MPI_SUM, win);
    MPI_Win_flush(0, win);
    MPI_Rget(&value, 1, MPI_DOUBLE, next, 0, 1, MPI_DOUBLE, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_unlock_all(win);
    MPI_Win_create(memory, sizeof *memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &second);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Win_post(all, 0, second);
    MPI_Win_start(all, 0, second);
    MPI_Put(&value, 1, MPI_DOUBLE, rank, 0, 1, MPI_DOUBLE, second);
    MPI_Win_complete(second);
    MPI_Win_wait(second);
    MPI_Group_free(&all);
    MPI_Win_free(&second);
    MPI_Win_free(&win);
}

static void files(const char *path) {
    MPI_File file;
    MPI_Status status;
    MPI_Request request;
    MPI_Datatype column;
    int values[4] = {rank, rank, rank, rank}, back[4] = {0};
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_Type_vector(2, 1, size, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_File_set_view(file, (MPI_Offset)rank * 4, MPI_INT, column, "native", MPI_INFO_NULL);
    MPI_File_write_all(file, values, 2, MPI_INT, &status);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_sync(file);
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    MPI_File_read(file, back, 2, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_iwrite_at(file, 100 + rank, values, 1, MPI_INT, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_File_close(&file);
    MPI_Type_free(&column);
    printf("rank %d: read %d\n", rank, back[1]);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    windows();
    if (argc > 1) files(argv[1]);
    MPI_Finalize();
    return 0;
}
