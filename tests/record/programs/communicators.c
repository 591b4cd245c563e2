/* Every way to make a communicator, handles used again, neighbourhoods. Needs an even number of ranks. */
#include <mpi.h>
#include <stdio.h>

static int rank, size;

static void use(MPI_Comm comm) {
    int one = 1, sum = 0;
    if (comm != MPI_COMM_NULL) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
}

static void drop(MPI_Comm *comm) {
    if (*comm != MPI_COMM_NULL) MPI_Comm_free(comm);
}

static void copies(void) {
    MPI_Comm comm, later;
    MPI_Request request;
    for (int i = 0; i < 5; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        use(comm);
        drop(&comm); /* the next one may get the same handle */
    }
    MPI_Comm_idup(MPI_COMM_WORLD, &later, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    use(later);
    MPI_Comm_dup_with_info(later, MPI_INFO_NULL, &comm);
    use(comm);
    drop(&comm);
    MPI_Comm_disconnect(&later);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
    use(comm);
    drop(&comm);
}

static void groups(void) {
    MPI_Group world, even;
    MPI_Comm comm;
    int range[1][3] = {{0, size - 1, 2}};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, range, &even);
    MPI_Comm_create(MPI_COMM_WORLD, even, &comm);
    use(comm);
    drop(&comm);
    if (rank % 2 == 0) { /* the odd ranks know nothing of this */
        MPI_Comm_create_group(MPI_COMM_WORLD, even, 5, &comm);
        use(comm);
        drop(&comm);
    }
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 0, -rank, &comm);
    use(comm);
    drop(&comm);
    MPI_Group_free(&even);
    MPI_Group_free(&world);
}

static void topologies(void) {
    int dims[2] = {size / 2, 2}, periods[2] = {1, 0}, keep[2] = {0, 1}, weights[2] = {1, 2};
    int in[2] = {(rank + size - 1) % size, rank}, out[2] = {(rank + 1) % size, rank};
    double a[16] = {0}, b[16] = {0};
    int counts[8] = {1, 1, 1, 1, 1, 1, 1, 1}, displs[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    MPI_Comm grid, row, graph;
    MPI_Request request;
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    MPI_Neighbor_allgather(a, 1, MPI_DOUBLE, b, 1, MPI_DOUBLE, grid);
    MPI_Neighbor_alltoallv(a, counts, displs, MPI_DOUBLE, b, counts, displs, MPI_DOUBLE, grid);
    MPI_Cart_sub(grid, keep, &row);
    use(row);
    drop(&row);
    drop(&grid);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, in, weights, 2, out, weights, MPI_INFO_NULL, 0, &graph);
    MPI_Neighbor_alltoall(a, 1, MPI_DOUBLE, b, 1, MPI_DOUBLE, graph);
    MPI_Ineighbor_allgatherv(a, 1, MPI_DOUBLE, b, counts, displs, MPI_DOUBLE, graph, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    drop(&graph);
    int degree = 1;
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &degree, out, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    use(graph);
    drop(&graph);
    int index[64], edges[64];
    for (int i = 0; i < size; i++) index[i] = i + 1, edges[i] = (i + 1) % size;
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &graph);
    use(graph);
    drop(&graph);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    copies();
    groups();
    topologies();
    use(MPI_COMM_SELF);
    printf("rank %d: done\n", rank);
    MPI_Finalize();
    return 0;
}
