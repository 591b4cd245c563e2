! Calls that return errors to the module mpi_f08: refused ones, and a receive whose message is too long.
program failing08
  use mpi_f08
  implicit none
  integer :: ierr, rank, size, class, i, nerrors, buf(4)
  type(MPI_Request) :: request
  type(MPI_Comm) :: comm
  type(MPI_Status) :: st
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
  nerrors = 0
  buf = rank
  do i = 1, 3
    call MPI_Send(buf, 1, MPI_INTEGER, size + 5, 0, MPI_COMM_WORLD, ierr)
    if (ierr /= MPI_SUCCESS) nerrors = nerrors + 1
  end do
  call MPI_Irecv(buf, 1, MPI_INTEGER, size + 5, 0, MPI_COMM_WORLD, request, ierr)
  if (ierr /= MPI_SUCCESS) nerrors = nerrors + 1
  call MPI_Bcast(buf, 1, MPI_INTEGER, size + 1, MPI_COMM_WORLD, ierr)
  if (ierr /= MPI_SUCCESS) nerrors = nerrors + 1
  comm = MPI_COMM_NULL
  call MPI_Comm_free(comm, ierr)
  if (ierr /= MPI_SUCCESS) nerrors = nerrors + 1
  if (rank == 0) then
    call MPI_Send(buf, 4, MPI_INTEGER, 1, 7, MPI_COMM_WORLD, ierr)
  else if (rank == 1) then
    call MPI_Recv(buf, 2, MPI_INTEGER, 0, 7, MPI_COMM_WORLD, st, ierr)
    call MPI_Error_class(ierr, class, ierr)
    if (class == MPI_ERR_TRUNCATE) nerrors = nerrors + 1
  end if
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  print '(a,i0,a,i0)', 'rank ', rank, ', errors: ', nerrors
  call MPI_Finalize(ierr)
end program
