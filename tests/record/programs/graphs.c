/* Distributed graphs with and without weights, whose sides lack edges on some ranks: rank 0 sends to 1 and 2. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank, from[1] = {0}, to[2] = {1, 2}, weights[2] = {3, 4}, degree[1] = {2}, got = -1, sent[2] = {7, 8};
    MPI_Comm graph;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int incoming = rank == 1 || rank == 2, outgoing = rank ? 0 : 2;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, incoming, from, MPI_UNWEIGHTED, outgoing, to, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &graph);
    MPI_Neighbor_alltoall(sent, 1, MPI_INT, &got, 1, MPI_INT, graph);
    MPI_Comm_free(&graph);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, incoming, from, incoming ? weights : MPI_WEIGHTS_EMPTY, outgoing, to,
                                   outgoing ? weights : MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &graph);
    MPI_Comm_free(&graph);
    MPI_Dist_graph_create(MPI_COMM_WORLD, rank == 0, from, degree, to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    MPI_Comm_free(&graph);
    MPI_Dist_graph_create(MPI_COMM_WORLD, rank == 0, from, degree, to, rank ? MPI_WEIGHTS_EMPTY : weights,
                          MPI_INFO_NULL, 0, &graph);
    MPI_Comm_free(&graph);
    printf("rank %d: %d\n", rank, got);
    MPI_Finalize();
    return 0;
}
