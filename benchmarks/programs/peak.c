/* Start a program and append a line to the file PEAK_FILE when it has ended: its peak resident memory in KiB, and
 * its CPU time in microseconds. A launcher starts one for each rank, so the launcher's own processes do not count. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static long long us(struct timeval t) { return t.tv_sec * 1000000LL + t.tv_usec; }

int main(int argc, char **argv) {
    const char *path = getenv("PEAK_FILE");
    if (argc < 2 || !path) {
        fprintf(stderr, "usage: PEAK_FILE=FILE %s PROGRAM [ARGUMENT ...]\n", argv[0]);
        return 2;
    }
    pid_t child = vfork(); /* the child has no memory of its own before it is the program */
    if (child == 0) {
        execvp(argv[1], argv + 1);
        _exit(127);
    }
    int status;
    struct rusage used;
    if (child < 0 || wait4(child, &status, 0, &used) != child) return 126;
    FILE *file = fopen(path, "a");
    if (!file) return 126;
    fprintf(file, "%ld %lld\n", used.ru_maxrss, us(used.ru_utime) + us(used.ru_stime));
    fclose(file);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
