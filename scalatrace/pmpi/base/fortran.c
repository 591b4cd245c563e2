/* fortran.c - find Fortran symbols by dlsym. */
#define _GNU_SOURCE
#include "base/fortran.h"

#include <dlfcn.h>
#include <string.h>

#define SYMBOLS 5 /* spellings of each constant */

/* Names of the variables: Open MPI's in four manglings, then those of MPICH's mpi_f08. */
static const char *const symbols[][SYMBOLS] = {
    [ST_F_IN_PLACE] = {"mpi_fortran_in_place_", "mpi_fortran_in_place__", "mpi_fortran_in_place",
                       "MPI_FORTRAN_IN_PLACE", "MPIR_F08_MPI_IN_PLACE"},
    [ST_F_STATUS_IGNORE] = {"mpi_fortran_status_ignore_", "mpi_fortran_status_ignore__", "mpi_fortran_status_ignore",
                            "MPI_FORTRAN_STATUS_IGNORE", "MPIR_F08_MPI_STATUS_IGNORE_OBJ"},
    [ST_F_STATUSES_IGNORE] = {"mpi_fortran_statuses_ignore_", "mpi_fortran_statuses_ignore__",
                              "mpi_fortran_statuses_ignore", "MPI_FORTRAN_STATUSES_IGNORE",
                              "MPIR_F08_MPI_STATUSES_IGNORE_OBJ"},
    [ST_F_UNWEIGHTED] = {"mpi_fortran_unweighted_", "mpi_fortran_unweighted__", "mpi_fortran_unweighted",
                         "MPI_FORTRAN_UNWEIGHTED", "__mpi_f08_link_constants_MOD_mpi_unweighted"},
};
#define CONSTANTS (sizeof symbols / sizeof *symbols)

static const void *addresses[CONSTANTS][SYMBOLS];

void st_fortran_start(void) {
    for (size_t constant = 0; constant < CONSTANTS; constant++)
        for (int i = 0; i < SYMBOLS; i++) addresses[constant][i] = dlsym(RTLD_DEFAULT, symbols[constant][i]);
}

bool st_fortran_is(const void *address, enum st_fortran_constant constant) {
    if (!address) return false;
    for (int i = 0; i < SYMBOLS; i++)
        if (addresses[constant][i] == address) return true;
    return false;
}

void st_fortran_text(char *to, const char *from, size_t length) {
    while (length && from[length - 1] == ' ') length--;
    if (length >= ST_MAX_FORTRAN_TEXT) length = ST_MAX_FORTRAN_TEXT - 1;
    memcpy(to, from, length);
    to[length] = 0;
}
