! The mpif.h generation of bindings: requests, in place, ignored statuses, derived types, files.
program bindings
  use mpi
  implicit none
  integer :: rank, size, ierr, i, q(2), st(MPI_STATUS_SIZE), row, pair, file, index, wrong
  logical :: flag
  double precision :: a(4), b(4), x
  character(len=1000) :: path
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
  wrong = 0
  a = rank
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, row, ierr)
  call MPI_Type_vector(2, 1, 2, MPI_DOUBLE_PRECISION, pair, ierr)
  call MPI_Type_commit(pair, ierr)
  do i = 1, 5
    call MPI_Irecv(b, 4, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, q(1), ierr)
    call MPI_Isend(a, 4, MPI_DOUBLE_PRECISION, mod(rank + 1, size), 7, MPI_COMM_WORLD, q(2), ierr)
    call MPI_Waitall(2, q, MPI_STATUSES_IGNORE, ierr)
    call MPI_Sendrecv(a, 1, pair, mod(rank + 1, size), 1, b, 1, pair, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, st, ierr)
    if (st(MPI_SOURCE) /= mod(rank + size - 1, size)) wrong = wrong + 1
    x = 1
    call MPI_Allreduce(MPI_IN_PLACE, x, 1, MPI_DOUBLE_PRECISION, MPI_SUM, row, ierr)
  end do
  call MPI_Irecv(b, 4, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, q(1), ierr)
  call MPI_Isend(a, 4, MPI_DOUBLE_PRECISION, mod(rank + 1, size), 8, MPI_COMM_WORLD, q(2), ierr)
  call MPI_Waitany(2, q, index, MPI_STATUS_IGNORE, ierr)
  call MPI_Waitany(2, q, index, MPI_STATUS_IGNORE, ierr)
  call MPI_Recv_init(b, 1, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 9, MPI_COMM_WORLD, q(1), ierr)
  call MPI_Start(q(1), ierr)
  flag = .false.
  do while (.not. flag)
    call MPI_Test(q(1), flag, st, ierr)
  end do
  call MPI_Request_free(q(1), ierr)
  if (q(1) /= MPI_REQUEST_NULL) wrong = wrong + 1
  call get_command_argument(1, path)
  call MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, ierr)
  call MPI_File_write_at_all(file, int(8 * rank, MPI_OFFSET_KIND), x, 1, MPI_DOUBLE_PRECISION, st, ierr)
  call MPI_File_close(file, ierr)
  call MPI_Type_free(pair, ierr)
  call MPI_Comm_free(row, ierr)
  print '(a,i0,a,f0.1,a,i0)', 'rank ', rank, ': ', x, ', wrong: ', wrong
  call MPI_Finalize(ierr)
end program
