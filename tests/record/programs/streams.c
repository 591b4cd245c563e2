/* streams.c SCRIPT - threads of each rank that make the calls of a script; every rank makes the same ones.
 *
 * The script begins with: threads, iterations, slots of requests, communicators, signals. Each line that follows is
 *
 *     THREAD OPERATION NUMBER...        THREAD executes it in each iteration; all threads wait at the end of one
 *
 * A thread may use requests, messages, communicators, windows and files that another one made: signal K comes before
 * await K. Neighbours are those on the ring of a communicator. Open MPI has files on MPI_COMM_SELF only.
 */
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_NUMBERS = 8, MAX_LINES = 4096, MAX_REQUESTS = 64, BUFFER = 4096 };

static struct line {
    int thread, n, numbers[MAX_NUMBERS];
    char operation[16];
} lines[MAX_LINES];
static int nlines, nthreads, niterations, world_rank;
static MPI_Request requests[MAX_REQUESTS];
static char buffers[MAX_REQUESTS][BUFFER];
static MPI_Message messages[MAX_REQUESTS];
static MPI_Comm comms[64];
static MPI_Win windows[16];
static MPI_File files[16];
static sem_t signals[1024];
static pthread_barrier_t end;

static int is(const struct line *line, const char *operation) { return !strcmp(line->operation, operation); }

static void wait_some(const int *slots, int n) {
    MPI_Request array[MAX_NUMBERS];
    int nout, left = n, indices[MAX_NUMBERS];
    for (int i = 0; i < n; i++) array[i] = requests[slots[i]];
    while (left > 0) {
        MPI_Waitsome(n, array, &nout, indices, MPI_STATUSES_IGNORE);
        if (nout == MPI_UNDEFINED) break;
        left -= nout;
    }
    for (int i = 0; i < n; i++) requests[slots[i]] = array[i];
}

static void wait_all(const int *slots, int n) {
    MPI_Request array[MAX_NUMBERS];
    for (int i = 0; i < n; i++) array[i] = requests[slots[i]];
    MPI_Waitall(n, array, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n; i++) requests[slots[i]] = array[i];
}

/* Exchange messages with the neighbours, blocking. */
static void exchange(int count, int tag, MPI_Comm comm, int left, int right, int times) {
    static _Thread_local char out[BUFFER], in[BUFFER];
    for (int i = 0; i < times; i++)
        MPI_Sendrecv(out, count, MPI_BYTE, right, tag, in, BUFFER, MPI_BYTE, left, tag, comm, MPI_STATUS_IGNORE);
}

static void put(int window, int bytes, int right) {
    static const char out[BUFFER];
    MPI_Put(out, bytes, MPI_BYTE, right, 0, bytes, MPI_BYTE, windows[window]);
}

static void open_file(int file) {
    char name[64];
    snprintf(name, sizeof name, "streams-%d-%d.tmp", world_rank, file);
    MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                  &files[file]);
}

/* Windows and files, which have operations of their own. */
static int execute_object(const struct line *line, int right) {
    static const char out[BUFFER];
    const int *a = line->numbers;
    char *memory;
    if (is(line, "window"))
        MPI_Win_allocate(BUFFER, 1, MPI_INFO_NULL, comms[a[1]], &memory, &windows[a[0]]);
    else if (is(line, "fence"))
        MPI_Win_fence(0, windows[a[0]]);
    else if (is(line, "put"))
        put(a[0], a[2], right);
    else if (is(line, "lock"))
        MPI_Win_lock(MPI_LOCK_SHARED, right, 0, windows[a[0]]);
    else if (is(line, "unlock"))
        MPI_Win_unlock(right, windows[a[0]]);
    else if (is(line, "closewindow"))
        MPI_Win_free(&windows[a[0]]);
    else if (is(line, "file"))
        open_file(a[0]);
    else if (is(line, "write"))
        MPI_File_write(files[a[0]], out, a[1], MPI_BYTE, MPI_STATUS_IGNORE);
    else if (is(line, "writeat"))
        MPI_File_write_at(files[a[0]], a[2], out, a[1], MPI_BYTE, MPI_STATUS_IGNORE);
    else if (is(line, "closefile"))
        MPI_File_close(&files[a[0]]);
    else
        return 0;
    return 1;
}

#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
/* Partitioned messages. */
static void execute_partitioned(const struct line *line, int left, int right) {
    const int *a = line->numbers;
    if (is(line, "partrecv"))
        MPI_Precv_init(buffers[a[0]], 4, a[1], MPI_BYTE, left, a[2], comms[a[3]], MPI_INFO_NULL, &requests[a[0]]);
    if (is(line, "partsend"))
        MPI_Psend_init(buffers[a[0]], 4, a[1], MPI_BYTE, right, a[2], comms[a[3]], MPI_INFO_NULL, &requests[a[0]]);
    if (is(line, "ready")) MPI_Pready(a[1], requests[a[0]]);
}
#endif

static void execute(const struct line *line) {
    const int *a = line->numbers;
    int comm = is(line, "mprobe") || is(line, "exchange")                           ? a[2]
               : is(line, "put") || is(line, "lock") || is(line, "unlock")          ? a[1]
               : strstr(line->operation, "recv") || strstr(line->operation, "send") ? a[3]
                                                                                    : 0;
    int rank, size, x = 0;
    MPI_Comm_rank(comms[comm], &rank);
    MPI_Comm_size(comms[comm], &size);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    if (execute_object(line, right)) return;
#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
    execute_partitioned(line, left, right);
#endif
    if (is(line, "irecv")) MPI_Irecv(buffers[a[0]], a[1], MPI_BYTE, left, a[2], comms[a[3]], &requests[a[0]]);
    if (is(line, "anyrecv"))
        MPI_Irecv(buffers[a[0]], a[1], MPI_BYTE, MPI_ANY_SOURCE, a[2], comms[a[3]], &requests[a[0]]);
    if (is(line, "mprobe")) MPI_Mprobe(left, a[1], comms[a[2]], &messages[a[0]], MPI_STATUS_IGNORE);
    if (is(line, "mrecv")) MPI_Mrecv(buffers[a[0]], a[1], MPI_BYTE, &messages[a[0]], MPI_STATUS_IGNORE);
    if (is(line, "exchange")) exchange(a[0], a[1], comms[a[2]], left, right, a[3]);
    if (is(line, "split")) MPI_Comm_split(comms[a[0]], world_rank / 2, 0, &comms[a[1]]);
    if (is(line, "isend")) MPI_Isend(buffers[a[0]], a[1], MPI_BYTE, right, a[2], comms[a[3]], &requests[a[0]]);
    if (is(line, "precv")) MPI_Recv_init(buffers[a[0]], a[1], MPI_BYTE, left, a[2], comms[a[3]], &requests[a[0]]);
    if (is(line, "psend")) MPI_Send_init(buffers[a[0]], a[1], MPI_BYTE, right, a[2], comms[a[3]], &requests[a[0]]);
    if (is(line, "start")) MPI_Start(&requests[a[0]]);
    if (is(line, "free")) MPI_Request_free(&requests[a[0]]);
    if (is(line, "wait")) MPI_Wait(&requests[a[0]], MPI_STATUS_IGNORE);
    if (is(line, "waitall")) wait_all(a, line->n);
    if (is(line, "waitsome")) wait_some(a, line->n);
    if (is(line, "barrier")) MPI_Barrier(comms[a[0]]);
    if (is(line, "reduce")) MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_INT, MPI_MAX, comms[a[0]]);
    if (is(line, "dup")) MPI_Comm_dup(comms[a[0]], &comms[a[1]]);
    if (is(line, "release")) MPI_Comm_free(&comms[a[0]]);
    if (is(line, "signal")) sem_post(&signals[a[0]]);
    if (is(line, "await")) sem_wait(&signals[a[0]]);
    if (is(line, "sleep")) usleep((unsigned)a[0] * (unsigned)(1 + world_rank));
}

static void *run(void *number) {
    int thread = (int)(long)number;
    for (int i = 0; i < niterations; i++) {
        for (int k = 0; k < nlines; k++)
            if (lines[k].thread == thread) execute(&lines[k]);
        pthread_barrier_wait(&end);
    }
    return NULL;
}

static void read_script(FILE *file) {
    char text[256];
    if (!file || fscanf(file, "%d %d\n", &nthreads, &niterations) != 2) exit(2);
    while (fgets(text, sizeof text, file)) {
        struct line *line = &lines[nlines++];
        int at = 0, step;
        if (nlines == MAX_LINES || sscanf(text, "%d %15s%n", &line->thread, line->operation, &at) != 2) exit(2);
        while (sscanf(text + at, "%d%n", &line->numbers[line->n], &step) == 1) at += step, line->n++;
    }
    fclose(file);
}

int main(int argc, char **argv) {
    int provided;
    pthread_t threads[16];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) return 77;
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    comms[0] = MPI_COMM_WORLD;
    read_script(fopen(argv[1], "r"));
    for (int i = 0; i < 1024; i++) sem_init(&signals[i], 0, 0);
    pthread_barrier_init(&end, NULL, (unsigned)nthreads);
    for (long i = 1; i < nthreads; i++) pthread_create(&threads[i], NULL, run, (void *)i);
    run(NULL);
    for (int i = 1; i < nthreads; i++) pthread_join(threads[i], NULL);
    MPI_Finalize();
    return 0;
}
