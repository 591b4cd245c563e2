"""Run a Python program as it is, and say how long it was between MPI's start and its own end.

    mpiexec -n 4 python timed.py RESULT PROGRAM [ARGUMENT ...]

The seconds of the slowest rank go to RESULT. numpy is imported before, as the programs do.
"""

import runpy
import sys
from pathlib import Path

import numpy as np  # noqa: F401
from mpi4py import MPI


def main() -> None:
    """Run it; its exit status is ours."""
    result, program = sys.argv[1:3]
    sys.argv = sys.argv[2:]
    sys.path.insert(0, str(Path(program).parent))
    start = MPI.Wtime()
    status: object = 0
    try:
        runpy.run_path(program, run_name="__main__")
    except SystemExit as error:
        status = error.code
    spent = MPI.COMM_WORLD.reduce(MPI.Wtime() - start, MPI.MAX)
    if MPI.COMM_WORLD.rank == 0:
        Path(result).write_text(repr(spent))
    sys.exit(status)


main()
