/* optional_mpi.c - a program that uses MPI where it is there: weak references, and a search by dlsym. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

extern int MPI_Initialized(int *) __attribute__((weak));
extern int MPI_Bcast_c(void *) __attribute__((weak));
static int (*volatile kept)(void *) = MPI_Bcast_c;

int main(void) {
    int flag = 0;
    if (MPI_Initialized) MPI_Initialized(&flag);
    printf("%d %d %d %d", MPI_Initialized != 0, MPI_Bcast_c != 0, kept != 0, flag);
    printf(" %d", dlsym(RTLD_DEFAULT, "MPI_Init") != NULL);
    const char *error = dlerror();
    printf(" %d\n", error != NULL);
    return 0;
}
