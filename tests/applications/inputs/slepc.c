/* slepc.c - eigenvalues of a chain of springs, by SLEPc; argument: -n POINTS. */
#include <slepceps.h>

int main(int argc, char **argv) {
    SlepcInitialize(&argc, &argv, NULL, NULL);
    PetscInt n = 100, first, end, count;
    PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL);
    Mat matrix;
    MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, 3, NULL, 2, NULL, &matrix);
    MatGetOwnershipRange(matrix, &first, &end);
    for (PetscInt row = first; row < end; row++) {
        if (row) MatSetValue(matrix, row, row - 1, -1, INSERT_VALUES);
        if (row + 1 < n) MatSetValue(matrix, row, row + 1, -1, INSERT_VALUES);
        MatSetValue(matrix, row, row, 2, INSERT_VALUES);
    }
    MatAssemblyBegin(matrix, MAT_FINAL_ASSEMBLY);
    MatAssemblyEnd(matrix, MAT_FINAL_ASSEMBLY);
    EPS solver;
    EPSCreate(PETSC_COMM_WORLD, &solver);
    EPSSetOperators(solver, matrix, NULL);
    EPSSetProblemType(solver, EPS_HEP);
    EPSSetDimensions(solver, 2, PETSC_DEFAULT, PETSC_DEFAULT);
    EPSSolve(solver);
    EPSGetConverged(solver, &count);
    PetscScalar value;
    EPSGetEigenvalue(solver, 0, &value, NULL);
    PetscPrintf(PETSC_COMM_WORLD, "result largest %.6f of %s\n", (double)PetscRealPart(value),
                count >= 2 ? "two or more" : "fewer");
    EPSDestroy(&solver);
    MatDestroy(&matrix);
    SlepcFinalize();
    return 0;
}
