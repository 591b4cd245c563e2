/* fortran.h - what differs in Fortran: constants that are addresses, and blank-padded text.
 *
 * MPI_IN_PLACE, MPI_STATUS_IGNORE and the like are variables in Fortran: an argument is the constant when it has the
 * variable's address. Each MPI library has its own names for these variables.
 */
#ifndef ST_FORTRAN_H
#define ST_FORTRAN_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

/* The library of the MPI-5 ABI has no Fortran: its bindings are a library of their own, which calls the C functions. */
#if defined(MPI_ABI_VERSION) && !defined(OPEN_MPI) && !defined(MPICH_NAME)
#define ST_STANDARD_ABI
typedef int MPI_Fint;
#define PMPI_Request_f2c PMPI_Request_fromint
#define PMPI_Request_c2f PMPI_Request_toint
#define PMPI_Type_f2c PMPI_Type_fromint
#define PMPI_Comm_f2c PMPI_Comm_fromint
#define PMPI_Status_f2c(fortran, status) (*(status) = *(const MPI_Status *)(const void *)(fortran))
#endif

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

#endif
