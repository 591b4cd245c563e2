/* ending.c HOW - make 7 events on each rank, and end as HOW names it. Rank 1 is the one that ends badly. */
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EVENTS = 7 };

static int rank, one = 1, sum;
static int *volatile nowhere;

static void leave(void) { exit(3); }
static void leave_at_once(void) { _exit(3); }
static void call_abort(void) { MPI_Abort(MPI_COMM_WORLD, 7); }
static void send_to_nobody(void) { MPI_Send(&one, 1, MPI_INT, 1000000, 0, MPI_COMM_WORLD); }
static void terminate(void) { kill(getpid(), SIGTERM); }
static void crash(void) { *nowhere = 1; }
static void kill_itself(void) { kill(getpid(), SIGKILL); }
static void sleep_and_kill(void) {
    sleep(3); /* there are checkpoints meanwhile */
    kill_itself();
}

/* Rank 1 does it, and the others wait for it. */
static const struct {
    const char *name;
    void (*end)(void);
} bad[] = {
    {"exit", leave},           {"_exit", leave_at_once},  {"abort", abort},
    {"mpi_abort", call_abort}, {"fatal", send_to_nobody}, {"term", terminate},
    {"segv", crash},           {"kill", kill_itself},     {"kill_late", sleep_and_kill},
};

static void end_badly(const char *how) {
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (strcmp(bad[i].name, how)) continue;
        if (rank == 1) usleep(200000); /* the others have left their last call */
        if (rank == 1) bad[i].end();
        sleep(20); /* the launcher ends this rank */
        _exit(0);
    }
}

static void fork_child(void) {
    int status = 0;
    pid_t child = fork();
    if (!child) exit(0);
    waitpid(child, &status, 0);
}

/* No byte can be written to a file any more. */
static void limit_files(void) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_FSIZE, &none);
}

/* The folder of the trace is deleted while the program runs. */
static void remove_folder(const char *path) {
    char command[4096];
    snprintf(command, sizeof command, "rm -rf '%s'", path);
    if (rank == 0 && system(command)) fprintf(stderr, "%s is still there\n", path);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void spawn(char *program) {
    MPI_Comm children;
    char *arguments[] = {"child", NULL};
    MPI_Comm_spawn(program, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
    MPI_Comm_disconnect(&children);
}

static void meet_parent(void) {
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    MPI_Comm_disconnect(&parent);
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "well";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < EVENTS; i++) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (!strcmp(how, "fork")) fork_child();
    if (!strcmp(how, "limit")) limit_files();
    if (!strcmp(how, "spawn")) spawn(argv[0]);
    if (!strcmp(how, "remove")) remove_folder(argv[2]);
    if (!strcmp(how, "child")) meet_parent();
    end_badly(how);
    MPI_Finalize();
    return 0;
}
