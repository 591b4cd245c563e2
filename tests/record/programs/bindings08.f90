! The Fortran 2008 bindings, without the optional error argument.
program bindings08
  use mpi_f08
  implicit none
  integer :: rank, size, i, wrong
  type(MPI_Request) :: q(2)
  type(MPI_Status) :: st
  type(MPI_Comm) :: row, grid
  double precision :: a(4), b(4), x
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  wrong = 0
  a = rank
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, row)
  call MPI_Cart_create(MPI_COMM_WORLD, 1, [size], [.true.], .false., grid)
  do i = 1, 5
    call MPI_Irecv(b, 4, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 7, grid, q(1))
    call MPI_Isend(a, 4, MPI_DOUBLE_PRECISION, mod(rank + 1, size), 7, grid, q(2))
    call MPI_Waitall(2, q, MPI_STATUSES_IGNORE)
    x = 1
    call MPI_Allreduce(MPI_IN_PLACE, x, 1, MPI_DOUBLE_PRECISION, MPI_SUM, row)
  end do
  call MPI_Irecv(b, 4, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 8, grid, q(1))
  call MPI_Send(a, 4, MPI_DOUBLE_PRECISION, mod(rank + 1, size), 8, grid)
  call MPI_Wait(q(1), st)
  if (st%MPI_SOURCE /= mod(rank + size - 1, size)) wrong = wrong + 1
  call MPI_Recv(b, 4, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  call MPI_Barrier(grid)
  call MPI_Comm_free(grid)
  call MPI_Comm_free(row)
  print '(a,i0,a,f0.1,a,i0)', 'rank ', rank, ': ', x, ', wrong: ', wrong
  call MPI_Finalize()
end program
