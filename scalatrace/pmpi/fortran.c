/* fortran.c - the Fortran symbols behind our wrappers, and the addresses that are constants in Fortran. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim.h"

#define MANGLINGS 4
#define CONSTANTS 5

/* The symbol that the program would have got without us. It exists: a wrapper runs only where the program links it. */
void *st_fortran_next(const char *symbol)
{
    void *next = dlsym(RTLD_NEXT, symbol);
    if (!next) {
        fprintf(stderr, "scalatrace: %s is not in the libraries of this program\n", symbol);
        abort();
    }
    return next;
}

static void mangle(char *to, const char *name, int way)
{
    static const char *const endings[MANGLINGS] = {"_", "__", "", ""};
    strcat(strcpy(to, name), endings[way]);
    if (way == MANGLINGS - 1)
        for (char *c = to; *c; c++) *c = (char)toupper((unsigned char)*c);
}

bool st_fortran_is(const void *address, enum st_fortran_constant constant)
{
    static const char *const names[CONSTANTS] = {"mpi_fortran_in_place", "mpi_fortran_status_ignore",
                                                 "mpi_fortran_statuses_ignore", "mpi_fortran_unweighted",
                                                 "mpi_fortran_weights_empty"};
    static const void *addresses[CONSTANTS][MANGLINGS];
    static bool known[CONSTANTS];
    if (!address) return false;
    for (int way = 0; way < MANGLINGS && !known[constant]; way++) {
        char symbol[64];
        mangle(symbol, names[constant], way);
        addresses[constant][way] = dlsym(RTLD_DEFAULT, symbol);
    }
    known[constant] = true;
    for (int way = 0; way < MANGLINGS; way++)
        if (addresses[constant][way] == address) return true;
    return false;
}

void st_fortran_text(char *to, const char *from, size_t length)
{
    while (length && from[length - 1] == ' ') length--;
    if (length >= ST_F_TEXT) length = ST_F_TEXT - 1;
    memcpy(to, from, length);
    to[length] = 0;
}
