/* kinds.h - a program of several kinds, of which its first argument names one. */
#include <mpi.h>
#include <stddef.h>
#include <string.h>

struct kind {
    const char *name;
    int (*run)(void);
    int level; /* of threads */
};

static int rank, size, provided;

/* Start MPI for the kind; NULL: there is none of this name. */
static const struct kind *start_kind(const struct kind *kinds, size_t n, int argc, char **argv) {
    for (size_t i = 0; i < n; i++) {
        if (strcmp(kinds[i].name, argv[1])) continue;
        MPI_Init_thread(&argc, &argv, kinds[i].level, &provided);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        return &kinds[i];
    }
    return NULL;
}
