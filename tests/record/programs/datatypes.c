/* Datatypes that few programs use: of Fortran 90's kinds, of more elements than an int counts, over stack and heap. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void fortran_kinds(int rank) {
    MPI_Datatype real, small, complex_kind, whole, again, twice;
    double d[6] = {0};
    long long n[2] = {0};
    MPI_Type_create_f90_real(15, 307, &real);
    MPI_Type_create_f90_real(6, MPI_UNDEFINED, &small);
    MPI_Type_create_f90_complex(MPI_UNDEFINED, 307, &complex_kind);
    MPI_Type_create_f90_integer(17, &whole);
    MPI_Type_create_f90_real(15, 307, &again);
    MPI_Type_contiguous(2, real, &twice);
    MPI_Type_commit(&twice);
    MPI_Bcast(d, 3, real, 0, MPI_COMM_WORLD);
    MPI_Bcast(d, 2, small, 0, MPI_COMM_WORLD);
    MPI_Bcast(d, 1, complex_kind, 0, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, d, 3, real, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, n, 2, whole, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0) MPI_Send(d, 2, twice, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(d, 4, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("rank %d: same %d\n", rank, real == again);
    MPI_Type_free(&twice);
}

static void stack_and_heap(int rank) {
    int on_stack[3] = {rank, rank, rank}, *on_heap = calloc(2, sizeof *on_heap);
    int lengths[2] = {3, 2};
    MPI_Aint places[2];
    MPI_Datatype kinds[2] = {MPI_INT, MPI_INT}, both;
    MPI_Get_address(on_stack, &places[0]);
    MPI_Get_address(on_heap, &places[1]);
    MPI_Type_create_struct(2, lengths, places, kinds, &both);
    MPI_Type_commit(&both);
    MPI_Bcast(MPI_BOTTOM, 1, both, 0, MPI_COMM_WORLD);
    if (rank == 0) MPI_Send(MPI_BOTTOM, 1, both, 1, 1, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(MPI_BOTTOM, 1, both, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("rank %d: %d %d\n", rank, on_stack[2], on_heap[1]);
    MPI_Type_free(&both);
    free(on_heap);
}

static void many_elements(int rank) {
#if MPI_VERSION >= 4
    MPI_Datatype wide, none;
    MPI_Type_contiguous(0, MPI_INT, &none);
    MPI_Type_contiguous_c(((MPI_Count)1 << 32) + 2, none, &wide);
    MPI_Type_commit(&wide);
    if (rank == 0) MPI_Send(&rank, 1, wide, 1, 2, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(&rank, 1, wide, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&wide);
    MPI_Type_free(&none);
#endif
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fortran_kinds(rank);
    stack_and_heap(rank);
    many_elements(rank);
    MPI_Finalize();
    return 0;
}
