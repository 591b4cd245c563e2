! transpose.F90 - a distributed matrix is transposed and transposed back, in Fortran.
!
!     mpifort -O2 -o transpose samples/transpose.F90             (the mpi module: mpi_send_ and so on)
!     mpifort -O2 -DUSE_F08 -o transpose samples/transpose.F90   (the mpi_f08 module: mpi_send_f08_)
!     mpiexec -n 4 scalatrace record -o transpose.st -- ./transpose 10
!
! Size: any number of ranks; argument: number of transpositions there and back (10).
! Expect: "correct" and status 0. One transposition is an Alltoall, the way back is Irecv and Isend to and from
! every other rank and a Waitall; a derived datatype picks the blocks out of the columns.
program transpose
#ifdef USE_F08
    use mpi_f08
#else
    use mpi
#endif
    implicit none
    integer, parameter :: block = 3
    integer :: rank, nranks, ierr, steps, step, wrong, all_wrong
    character(len=32) :: argument
    double precision, allocatable :: original(:, :), there(:, :), back(:, :)

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, nranks, ierr)
    steps = 10
    if (command_argument_count() > 0) then
        call get_command_argument(1, argument)
        read (argument, *) steps
    end if

    allocate (original(block, block*nranks), there(block, block*nranks), back(block, block*nranks))
    call fill(original)
    wrong = 0
    do step = 1, steps
        call by_alltoall(original, there)
        wrong = wrong + count_wrong(there)
        call by_messages(there, back)
        wrong = wrong + count(back /= original)
    end do
    call MPI_Reduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
    if (rank == 0) then
        print '(a,i0,a,i0,2a)', 'transpose on ', nranks, ' ranks, ', steps, ' steps: ', &
            trim(merge('correct', 'WRONG  ', all_wrong == 0))
    end if
    call MPI_Finalize(ierr)
    if (wrong /= 0) error stop 1

contains

    ! This rank has `block` rows of the matrix; element (i, j) is its global row and column in one number.
    subroutine fill(a)
        double precision, intent(out) :: a(:, :)
        integer :: i, j
        do j = 1, size(a, 2)
            do i = 1, block
                a(i, j) = 1000d0*(rank*block + i) + j
            end do
        end do
    end subroutine

    ! How many elements of `a` are not those of the transposed matrix.
    integer function count_wrong(a)
        double precision, intent(in) :: a(:, :)
        integer :: i, j
        count_wrong = 0
        do j = 1, size(a, 2)
            do i = 1, block
                if (a(i, j) /= 1000d0*j + rank*block + i) count_wrong = count_wrong + 1
            end do
        end do
    end function

    ! Transpose every block, then exchange the blocks: block r of this rank becomes block `rank` of rank r.
    subroutine by_alltoall(a, b)
        double precision, intent(in) :: a(:, :)
        double precision, intent(out) :: b(:, :)
        double precision :: turned(block, block*nranks)
        integer :: r
        do r = 0, nranks - 1
            turned(:, r*block + 1:(r + 1)*block) = reshape(a(:, r*block + 1:(r + 1)*block), [block, block], order=[2, 1])
        end do
        call MPI_Alltoall(turned, block*block, MPI_DOUBLE_PRECISION, b, block*block, MPI_DOUBLE_PRECISION, &
            MPI_COMM_WORLD, ierr)
    end subroutine

    ! The same with messages; a strided datatype turns each block on the way: sent column by column, received row by row.
    subroutine by_messages(a, b)
        double precision, intent(in), asynchronous :: a(:, :)
        double precision, intent(inout), asynchronous :: b(:, :)
        integer :: r, first
#ifdef USE_F08
        type(MPI_Datatype) :: row, rows, rows_as_columns
        type(MPI_Request) :: requests(2*nranks)
#else
        integer :: row, rows, rows_as_columns, requests(2*nranks)
#endif
        integer(kind=MPI_ADDRESS_KIND) :: width
        width = storage_size(1d0)/8
        call MPI_Type_vector(block, 1, block, MPI_DOUBLE_PRECISION, row, ierr)
        call MPI_Type_create_resized(row, 0_MPI_ADDRESS_KIND, width, rows, ierr)
        call MPI_Type_contiguous(block, rows, rows_as_columns, ierr)
        call MPI_Type_commit(rows_as_columns, ierr)
        do r = 0, nranks - 1
            first = r*block + 1
            call MPI_Irecv(b(1, first), 1, rows_as_columns, r, step, MPI_COMM_WORLD, requests(2*r + 1), ierr)
            call MPI_Isend(a(1, first), block*block, MPI_DOUBLE_PRECISION, r, step, MPI_COMM_WORLD, &
                requests(2*r + 2), ierr)
        end do
        call MPI_Waitall(2*nranks, requests, MPI_STATUSES_IGNORE, ierr)
        call MPI_Type_free(rows_as_columns, ierr)
        call MPI_Type_free(rows, ierr)
        call MPI_Type_free(row, ierr)
    end subroutine

end program
