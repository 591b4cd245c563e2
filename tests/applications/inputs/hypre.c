/* hypre.c - Poisson's equation on a square, by hypre's PCG with BoomerAMG; argument: points of a side. */
#include <HYPRE.h>
#include <HYPRE_krylov.h>
#include <HYPRE_parcsr_ls.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size, n = argc > 1 ? atoi(argv[1]) : 32;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    HYPRE_Init();
    HYPRE_BigInt total = (HYPRE_BigInt)n * n, low = total * rank / size, high = total * (rank + 1) / size - 1;
    HYPRE_IJMatrix matrix;
    HYPRE_IJVector left, right;
    HYPRE_IJMatrixCreate(MPI_COMM_WORLD, low, high, low, high, &matrix);
    HYPRE_IJMatrixSetObjectType(matrix, HYPRE_PARCSR);
    HYPRE_IJMatrixInitialize(matrix);
    HYPRE_IJVectorCreate(MPI_COMM_WORLD, low, high, &left);
    HYPRE_IJVectorCreate(MPI_COMM_WORLD, low, high, &right);
    HYPRE_IJVectorSetObjectType(left, HYPRE_PARCSR);
    HYPRE_IJVectorSetObjectType(right, HYPRE_PARCSR);
    HYPRE_IJVectorInitialize(left);
    HYPRE_IJVectorInitialize(right);
    for (HYPRE_BigInt row = low; row <= high; row++) {
        HYPRE_BigInt columns[5] = {row};
        double values[5] = {4}, one = 1, zero = 0;
        int count = 1;
        if (row % n) columns[count] = row - 1, values[count++] = -1;
        if (row % n < n - 1) columns[count] = row + 1, values[count++] = -1;
        if (row >= n) columns[count] = row - n, values[count++] = -1;
        if (row + n < total) columns[count] = row + n, values[count++] = -1;
        HYPRE_IJMatrixSetValues(matrix, 1, &count, &row, columns, values);
        HYPRE_IJVectorSetValues(right, 1, &row, &one);
        HYPRE_IJVectorSetValues(left, 1, &row, &zero);
    }
    HYPRE_IJMatrixAssemble(matrix);
    HYPRE_IJVectorAssemble(left);
    HYPRE_IJVectorAssemble(right);
    HYPRE_ParCSRMatrix a;
    HYPRE_ParVector x, b;
    HYPRE_IJMatrixGetObject(matrix, (void **)&a);
    HYPRE_IJVectorGetObject(left, (void **)&x);
    HYPRE_IJVectorGetObject(right, (void **)&b);
    HYPRE_Solver solver, multigrid;
    HYPRE_ParCSRPCGCreate(MPI_COMM_WORLD, &solver);
    HYPRE_PCGSetTol(solver, 1e-8);
    HYPRE_PCGSetMaxIter(solver, 100);
    HYPRE_BoomerAMGCreate(&multigrid);
    HYPRE_BoomerAMGSetMaxIter(multigrid, 1);
    HYPRE_BoomerAMGSetTol(multigrid, 0);
    HYPRE_PCGSetPrecond(solver, (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSolve, (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSetup,
                        multigrid);
    HYPRE_ParCSRPCGSetup(solver, a, b, x);
    HYPRE_ParCSRPCGSolve(solver, a, b, x);
    int iterations;
    double norm, product;
    HYPRE_PCGGetNumIterations(solver, &iterations);
    HYPRE_PCGGetFinalRelativeResidualNorm(solver, &norm);
    HYPRE_ParVectorInnerProd(x, x, &product);
    if (rank == 0) printf("result iterations %d norm %.3e product %.8e\n", iterations, norm, product);
    HYPRE_BoomerAMGDestroy(multigrid);
    HYPRE_ParCSRPCGDestroy(solver);
    HYPRE_IJMatrixDestroy(matrix);
    HYPRE_IJVectorDestroy(left);
    HYPRE_IJVectorDestroy(right);
    HYPRE_Finalize();
    MPI_Finalize();
    return 0;
}
