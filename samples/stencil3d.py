"""Three-dimensional wave equation on a grid of blocks, 7- or 27-point stencil.

    mpiexec -n 27 scalatrace record -o stencil3d.st -- python samples/stencil3d.py --points 27

Size: any number of ranks; --size points cubed per rank (4), --steps time steps (100).
Expect: "correct" and status 0. Per step a rank exchanges its border with up to 6 (7 points) or 26
(27 points) neighbours by Irecv, Isend and Waitall. Without --periodic there are up to 27 kinds of
ranks: corners, edges, faces and the inside have different neighbours.
"""

import sys

import halo

if __name__ == "__main__":
    sys.exit(halo.main(3, "3-D wave equation, 7- or 27-point stencil", size=4))
