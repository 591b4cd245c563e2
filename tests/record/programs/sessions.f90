! A session by the module mpi and MPI_Init beside it. MPICH 4.0 cannot start again after its last session.
program sessions
  use mpi
  implicit none
  integer :: ierr, session, comm, rank, wrong
  wrong = 0
  call open_one(session, comm)
  call communicate(comm)
  call MPI_Init(ierr)
  call communicate(MPI_COMM_WORLD)
  call communicate(comm)
  call close_one(session, comm)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  print '(a,i0,a,i0)', 'rank ', rank, ', wrong: ', wrong
  call MPI_Finalize(ierr)
contains
  subroutine open_one(session, comm)
    integer, intent(out) :: session, comm
    integer :: group
    call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, session, ierr)
    call MPI_Group_from_session_pset(session, 'mpi://WORLD', group, ierr)
    call MPI_Comm_create_from_group(group, 'all', MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, comm, ierr)
    call MPI_Group_free(group, ierr)
  end subroutine
  subroutine communicate(comm)
    integer, intent(in) :: comm
    integer :: me, n, from, total, request, i, st(MPI_STATUS_SIZE)
    call MPI_Comm_rank(comm, me, ierr)
    call MPI_Comm_size(comm, n, ierr)
    call MPI_Irecv(from, 1, MPI_INTEGER, mod(me + n - 1, n), 7, comm, request, ierr)
    call MPI_Send(me, 1, MPI_INTEGER, mod(me + 1, n), 7, comm, ierr)
    call MPI_Wait(request, st, ierr)
    if (from /= mod(me + n - 1, n)) wrong = wrong + 1
    do i = 1, 5
      call MPI_Allreduce(me, total, 1, MPI_INTEGER, MPI_SUM, comm, ierr)
    end do
    if (total /= n * (n - 1) / 2) wrong = wrong + 1
  end subroutine
  subroutine close_one(session, comm)
    integer, intent(inout) :: session, comm
    call MPI_Comm_free(comm, ierr)
    call MPI_Session_finalize(session, ierr)
  end subroutine
end program
