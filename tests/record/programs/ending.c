/* Ends badly on rank 1 after some messages, as argv[1] says: abort, exit, signal (all wait for SIGTERM), kill (itself with
 * SIGKILL), fatal (an error in MPI), crash (a bad address), assert, leave (_exit), asleep (exit, and the others sleep), replaced (by another program);
 * caught: a handler that was there first, and goes on. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int caught;
static int *volatile nowhere;

static void catch(int number) { caught = number; }

int main(int argc, char **argv) {
    int rank, sum = 0, one = 1;
    const char *how = argc > 1 ? argv[1] : "well";
    if (!strcmp(how, "caught")) signal(SIGSEGV, catch);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 7; i++) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("rank %d: %d\n", rank, sum);
    fflush(stdout);
    if (!strcmp(how, "signal")) {
        for (;;) pause();
    } else if (rank == 1) {
        if (!strcmp(how, "abort")) MPI_Abort(MPI_COMM_WORLD, 7);
        if (!strcmp(how, "exit")) exit(3);
        if (!strcmp(how, "replaced")) execl("/bin/sh", "sh", "-c", "exit 3", (char *)NULL);
        if (!strcmp(how, "not replaced")) execlp("/none/at/all", "none", (char *)NULL);
        if (!strcmp(how, "leave")) _exit(3);
        if (!strcmp(how, "asleep")) usleep(200000), exit(3);
        if (!strcmp(how, "kill")) kill(getpid(), SIGKILL);
        if (!strcmp(how, "crash")) *nowhere = 1;
        if (!strcmp(how, "assert")) abort();
        if (!strcmp(how, "fatal")) MPI_Send(&one, 1, MPI_INT, 1000000, 0, MPI_COMM_WORLD);
    }
    if (!strcmp(how, "asleep")) {
        sleep(20);
        _exit(0);
    }
    if (!strcmp(how, "not replaced")) how = "well";
    if (!strcmp(how, "caught")) {
        raise(SIGSEGV);
        printf("rank %d caught %d\n", rank, caught == SIGSEGV);
    }
    if (strcmp(how, "well")) MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
