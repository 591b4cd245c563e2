/* fortran.h - what differs in Fortran: constants that are addresses, blank-padded text, the next library's symbols.
 *
 * MPI_IN_PLACE, MPI_STATUS_IGNORE and the like are variables in Fortran: an argument is the constant when it has the
 * variable's address. Each MPI library has its own names for these variables.
 */
#ifndef ST_FORTRAN_H
#define ST_FORTRAN_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

enum st_fortran_constant { ST_F_IN_PLACE, ST_F_STATUS_IGNORE, ST_F_STATUSES_IGNORE, ST_F_UNWEIGHTED };

#define ST_MAX_FORTRAN_TEXT 4096 /* bytes of a text argument, with the terminating zero */

/* Size of a Fortran status in MPI_Fint. C's status may be smaller, hence the reserve. */
#define ST_F_STATUS_INTS ((sizeof(MPI_Status) + sizeof(MPI_Fint) - 1) / sizeof(MPI_Fint) + 8)

/* In MPI_Init: look up the constants. */
void st_fortran_start(void);

/* Is the address this constant's, in any of the libraries' spellings? */
bool st_fortran_is(const void *address, enum st_fortran_constant constant);

/* Convert blank-padded text of `length` bytes to a C string. `to` has ST_MAX_FORTRAN_TEXT bytes; longer text is cut. */
void st_fortran_text(char *to, const char *from, size_t length);

/* Return the function that the program would have called without us. Ends the process when it does not exist. */
void *st_fortran_next(const char *symbol);

#endif
