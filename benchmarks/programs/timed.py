"""Run a workload untraced and write its time.

    mpiexec -n 4 python timed.py RESULT PROGRAM [ARGUMENT ...]

The seconds of the slowest rank go to RESULT: from the end of MPI_Init to the program's end, as in a replay.
MPI begins when the program has read its command line, so that loading modules, which takes as long as a short
run, is no part of the program nor of its trace. Environment variables in arguments are replaced.
"""

import argparse
import os
import runpy
import sys
from array import array
from collections.abc import Sequence
from pathlib import Path

import mpi4py

mpi4py.rc.initialize, mpi4py.rc.finalize = False, True

from mpi4py import MPI  # noqa: E402

began = 0.0
parse_args = argparse.ArgumentParser.parse_args


def parse(
    self: argparse.ArgumentParser,
    args: Sequence[str] | None = None,
    namespace: argparse.Namespace | None = None,
) -> argparse.Namespace:
    """Parse, and let MPI and time begin."""
    global began
    result = parse_args(self, args, namespace)
    MPI.Init()
    began = MPI.Wtime()
    return result


def main() -> None:
    """Run it; its exit status is ours."""
    result, program = sys.argv[1:3]
    sys.argv = [os.path.expandvars(argument) for argument in sys.argv[2:]]
    sys.path.insert(0, str(Path(program).parent))
    argparse.ArgumentParser.parse_args = parse  # type: ignore[method-assign,assignment]
    status: str | int | None = 0
    try:
        runpy.run_path(program, run_name="__main__")
    except SystemExit as error:
        status = error.code
    own, slowest = array("d", [MPI.Wtime() - began]), array("d", [0])
    MPI.COMM_WORLD.Reduce(own, slowest, MPI.MAX)
    if MPI.COMM_WORLD.rank == 0:
        Path(result).write_text(repr(slowest[0]))
    sys.exit(status)


main()
