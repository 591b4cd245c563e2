"""Two-dimensional wave equation on a grid of blocks, 5- or 9-point stencil.

    mpiexec -n 16 scalatrace record -o stencil2d.st -- python samples/stencil2d.py --periodic --steps 1000

Size: any number of ranks; --size points squared per rank (8), --steps time steps (100).
Expect: "correct" and status 0. Per step a rank exchanges its border with 4 (5 points) or 8 (9 points)
neighbours by Irecv, Isend and Waitall. On a border that is not periodic the hand-computed variant
makes no call, the --cartesian variant calls with MPI.PROC_NULL. The trace of a periodic run
has the same size for any number of steps and of ranks.
"""

import sys

import halo

if __name__ == "__main__":
    sys.exit(halo.main(2, "2-D wave equation, 5- or 9-point stencil", size=8))
