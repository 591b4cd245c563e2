"""End all ranks when one of them cannot start its program, for which the others would wait in MPI_Init.

Open MPI's mpiexec ends all ranks when one fails. MPICH's does not before MPI_Init, and srun only with the
option --kill-on-bad-exit. So a rank that refuses calls MPI_Init in place of its program, and MPI_Abort when
all have come.
"""

from __future__ import annotations

import ctypes
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from scalatrace.compilers.libraries import comm_world
from scalatrace.compilers.mpi import find_library
from scalatrace.errors import ScalatraceError
from scalatrace.launched import REPORT_S, launched_rank, waits_for_failed_ranks

__all__ = ["refused_together"]

INIT_LIMIT_S = 300
"""Seconds that a refusing rank waits in MPI_Init for the others, which may read input before."""


@contextmanager
def refused_together(argv: Sequence[str]) -> Iterator[None]:
    """Raise errors of the context; under a launcher that leaves the other ranks waiting, end them instead.

    Args:
        argv: the program that this rank does not start.
    """
    try:
        yield
    except ScalatraceError as error:
        if waits_for_failed_ranks() and (library := find_library(argv)):
            _abort(library, error)
        raise


def _abort(path: Path, error: ScalatraceError) -> NoReturn:
    """Print an error once for all ranks, and end them with its status."""
    if not launched_rank():
        _report(error)
    watchdog = threading.Timer(INIT_LIMIT_S, os._exit, [error.exit_status])
    watchdog.daemon = True
    watchdog.start()
    library = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    library.MPI_Init(None, None)
    if launched_rank():  # rank 0 may refuse, too, and ends this one
        time.sleep(REPORT_S)
        _report(error)
    library.MPI_Abort(comm_world(path, library), error.exit_status)
    os._exit(error.exit_status)


def _report(error: ScalatraceError) -> None:
    rank = launched_rank()
    where = f"rank {rank} on {socket.gethostname()}: " if rank else ""
    print(f"scalatrace: {where}{error}", file=sys.stderr, flush=True)
