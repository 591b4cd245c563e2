! A session by the module mpi_f08 and MPI_Init beside it. MPICH 4.0 cannot start again after its last session.
program sessions08
  use mpi_f08
  implicit none
  type(MPI_Session) :: session
  type(MPI_Comm) :: comm
  integer :: rank, wrong
  wrong = 0
  call open_one(session, comm)
  call communicate(comm)
  call MPI_Init()
  call communicate(MPI_COMM_WORLD)
  call communicate(comm)
  call close_one(session, comm)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  print '(a,i0,a,i0)', 'rank ', rank, ', wrong: ', wrong
  call MPI_Finalize()
contains
  subroutine open_one(session, comm)
    type(MPI_Session), intent(out) :: session
    type(MPI_Comm), intent(out) :: comm
    type(MPI_Group) :: group
    call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, session)
    call MPI_Group_from_session_pset(session, 'mpi://WORLD', group)
    call MPI_Comm_create_from_group(group, 'all', MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, comm)
    call MPI_Group_free(group)
  end subroutine
  subroutine communicate(comm)
    type(MPI_Comm), intent(in) :: comm
    integer :: me, n, from, total, i
    type(MPI_Request) :: request
    type(MPI_Status) :: st
    call MPI_Comm_rank(comm, me)
    call MPI_Comm_size(comm, n)
    call MPI_Irecv(from, 1, MPI_INTEGER, mod(me + n - 1, n), 7, comm, request)
    call MPI_Send(me, 1, MPI_INTEGER, mod(me + 1, n), 7, comm)
    call MPI_Wait(request, st)
    if (from /= mod(me + n - 1, n)) wrong = wrong + 1
    do i = 1, 5
      call MPI_Allreduce(me, total, 1, MPI_INTEGER, MPI_SUM, comm)
    end do
    if (total /= n * (n - 1) / 2) wrong = wrong + 1
  end subroutine
  subroutine close_one(session, comm)
    type(MPI_Session), intent(inout) :: session
    type(MPI_Comm), intent(inout) :: comm
    call MPI_Comm_free(comm)
    call MPI_Session_finalize(session)
  end subroutine
end program
