/* Calls exit() from a signal handler: argv[1] "calling" in a stream of calls, "idle" when none has been made for long. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static void leave(int number) { exit(number == SIGALRM ? 5 : 6); }

int main(int argc, char **argv) {
    int x = 0;
    unsigned random = 1;
    struct itimerval soon = {{0, 0}, {0, 100000}};
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    signal(SIGALRM, leave);
    setitimer(ITIMER_REAL, &soon, NULL);
    while (!strcmp(argv[1], "idle")) pause();
    for (;;) {
        random = random * 1103515245u + 12345;
        MPI_Send(&x, (random >> 16) % 7, MPI_INT, MPI_PROC_NULL, (random >> 8) % 1000, MPI_COMM_WORLD);
    }
}
