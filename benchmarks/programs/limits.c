/* programs.c CASE N - one MPI program per limit:
 *
 *     requests        N requests at the same time: receives, then sends to this rank, then Waitall
 *     communicators   N duplicates at the same time
 *     datatypes       N datatypes at the same time
 *     nested          one datatype of N within each other, and a predefined one with a name of the user
 *     names           N communicators, each with the longest name that the library allows, in bytes that are no UTF-8
 *
 * Prints its peak memory in KiB.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static void requests(int n) {
    MPI_Request *all = malloc(2 * (size_t)n * sizeof *all);
    int *received = malloc((size_t)n * sizeof *received);
    for (int i = 0; i < n; i++) MPI_Irecv(&received[i], 1, MPI_INT, 0, i % 1000, MPI_COMM_SELF, &all[i]);
    for (int i = 0; i < n; i++) MPI_Isend(&n, 1, MPI_INT, 0, i % 1000, MPI_COMM_SELF, &all[n + i]);
    MPI_Waitall(2 * n, all, MPI_STATUSES_IGNORE);
    free(all), free(received);
}

static void communicators(int n, int named) {
    MPI_Comm *all = malloc((size_t)n * sizeof *all);
    char name[MPI_MAX_OBJECT_NAME];
    for (int i = 0; i < n; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &all[i]);
        memset(name, 0xff, sizeof name);
        snprintf(name, sizeof name, "%d", i);
        name[strlen(name)] = (char)0xfe;
        name[sizeof name - 1] = 0;
        if (named) MPI_Comm_set_name(all[i], name);
    }
    for (int i = 0; i < n; i++) MPI_Barrier(all[i]);
    for (int i = 0; i < n; i++) MPI_Comm_free(&all[i]);
    free(all);
}

static void datatypes(int n) {
    MPI_Datatype *all = malloc((size_t)n * sizeof *all);
    int *buffer = calloc(2 * (size_t)n + 2, sizeof *buffer);
    for (int i = 0; i < n; i++) {
        MPI_Type_vector(i + 1, 1, 2, MPI_INT, &all[i]);
        MPI_Type_commit(&all[i]);
    }
    for (int i = 0; i < n; i++) MPI_Bcast(buffer, 1, all[i], 0, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) MPI_Type_free(&all[i]);
    free(all), free(buffer);
}

static void nested(int n) {
    int buffer = 0;
    MPI_Datatype type = MPI_INT, outer;
    for (int i = 0; i < n; i++) {
        MPI_Type_contiguous(1, type, &outer);
        if (i) MPI_Type_free(&type);
        type = outer;
    }
    MPI_Type_commit(&type);
    MPI_Bcast(&buffer, 1, type, 0, MPI_COMM_WORLD);
    MPI_Type_free(&type);
    MPI_Type_set_name(MPI_FLOAT, "MPI_two (words");
    MPI_Bcast(&buffer, 1, MPI_FLOAT, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    if (argc != 3) return 2;
    int n = atoi(argv[2]);
    if (!strcmp(argv[1], "requests")) requests(n);
    if (!strcmp(argv[1], "communicators")) communicators(n, 0);
    if (!strcmp(argv[1], "names")) communicators(n, 1);
    if (!strcmp(argv[1], "datatypes")) datatypes(n);
    if (!strcmp(argv[1], "nested")) nested(n);
    MPI_Finalize();
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    printf("%ld\n", used.ru_maxrss);
    return 0;
}
