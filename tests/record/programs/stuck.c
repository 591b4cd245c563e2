/* stuck.c HOW - waits of the tracer that would never end.
 *
 *     append       a thread of rank 1 stays inside st_core_append, and keeps the tracer's lock
 *     checkpoint   the helper of rank 1 stays inside st_core_write_part
 *     late         rank 1 comes to MPI_Finalize after SECONDS
 *
 * The program's own functions of these names come before the core's: link with -rdynamic.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *how = "";
static int rank;
static volatile int is_stuck;
static __thread int stays;

static void stay(void) {
    is_stuck = 1;
    for (;;) pause();
}

static int find_core(struct dl_phdr_info *library, size_t n, void *handle) {
    (void)n;
    if (!strstr(library->dlpi_name, "libscalatrace_core")) return 0;
    *(void **)handle = dlopen(library->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    return 1;
}

/* The core's own function: its library is in no global scope. */
static void *of_core(const char *name) {
    void *handle = NULL;
    dl_iterate_phdr(find_core, &handle);
    return dlsym(handle, name);
}

int st_core_append(void *core, const void *event) {
    static int (*next)(void *, const void *);
    if (!next) *(void **)&next = of_core("st_core_append");
    if (stays) stay();
    return next(core, event);
}

int st_core_write_part(void *core, const char *path) {
    static int (*next)(void *, const char *);
    if (!next) *(void **)&next = of_core("st_core_write_part");
    if (!strcmp(how, "checkpoint") && rank == 1) stay();
    return next(core, path);
}

static void send_to_none(void) { MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD); }

static void *stay_in_call(void *unused) {
    stays = 1;
    send_to_none();
    return unused;
}

static void get_stuck(void) {
    pthread_t thread;
    if (rank == 1 && !strcmp(how, "append")) pthread_create(&thread, NULL, stay_in_call, NULL);
    while (rank == 1 && strcmp(how, "late") && !is_stuck) usleep(1000);
}

int main(int argc, char **argv) {
    int provided, one = 1, sum = 0;
    how = argv[1];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (provided < MPI_THREAD_MULTIPLE) return 77;
    for (int i = 0; i < 10; i++) send_to_none();
    get_stuck();
    for (int i = 0; i < 10; i++) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Group group;
    MPI_Comm comm;
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, 1,
                          &comm); /* ranks without a tracer take part in the choice of a name */
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    printf("rank %d: %d\n", rank, sum);
    fflush(stdout);
    if (rank == 1 && !strcmp(how, "late")) sleep((unsigned)atoi(argv[2]));
    MPI_Finalize();
    return 0;
}
