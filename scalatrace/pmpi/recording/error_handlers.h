/* error_handlers.h - notice that MPI called an error handler of the program.
 *
 *   MPI_Comm_create_errhandler(function) ---> PMPI_Comm_create_errhandler(stub i), functions[i] = function
 *   an error in a call of the program ------> stub i: notes the error, calls functions[i] with the same arguments
 *
 * The note is what tells that a call failed where the MPI library returns MPI_SUCCESS after the handler (MPICH 5). Calls
 * without an error cost nothing for it.
 */
#ifndef ST_ERROR_HANDLERS_H
#define ST_ERROR_HANDLERS_H

/* An error handler of any kind, for all that calls of it need: a pointer to the object, and one to the error. */
typedef void st_error_function(void *object, int *error, ...);

/* Return the function to give to MPI in place of this error handler: itself where there are too many. */
st_error_function *st_error_stub(st_error_function *function);

#endif
