"""Rank, node and job of this process, from the variables of launchers (mpiexec, srun) and batch systems.

They are known before MPI starts. `launchers.def` lists them, for C too.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

__all__ = [
    "REPORT_S",
    "array_task",
    "batch_variables",
    "is_first_to_report",
    "job",
    "launched_rank",
    "launcher_variables",
    "on_one_node",
    "restarts",
    "waits_for_failed_ranks",
]

REPORT_S = 1.0
"""Seconds in which ranks that start together meet the same error."""

_ROW = re.compile(r"^ST_(LAUNCHER|BATCH)\(([^)]*)\)", re.MULTILINE)


class _Launcher(NamedTuple):
    """Variables of a launcher; "": none."""

    rank: str
    nranks: str
    ranks_here: str
    nnodes: str
    run: str


class _BatchSystem(NamedTuple):
    """Variables of a batch system; "": none. `no_task` is the value of `array_task` without an array."""

    job: str
    array_task: str
    no_task: str
    nrestarts: str


def _rows(kind: str) -> list[list[str]]:
    """Read the rows of launchers.def, which C includes."""
    table = Path(__file__).with_name("launchers.def").read_text(encoding="utf-8")
    return [re.findall(r'"(\w*)"', row[2]) for row in _ROW.finditer(table) if row[1] == kind]


_LAUNCHERS = [_Launcher(*row) for row in _rows("LAUNCHER")]
_BATCH_SYSTEMS = [_BatchSystem(*row) for row in _rows("BATCH")]

_reports: list[socket.socket] = []
"""Names of errors that this process reports; they are free again when it ends."""


def launcher_variables() -> list[str]:
    """Return the names of all variables by which launchers describe a process."""
    return [name for row in _LAUNCHERS for name in row if name]


def batch_variables() -> list[str]:
    """Return the names of all variables by which batch systems describe a job."""
    return [name for row in _BATCH_SYSTEMS for name in (row.job, row.array_task, row.nrestarts) if name]


def launched_rank(environment: Mapping[str, str] = os.environ) -> int | None:
    """Return the rank that a launcher gave the process of an environment; None without a launcher."""
    rank = next((environment[row.rank] for row in _LAUNCHERS if row.rank in environment), None)
    if rank is None:
        return None
    return int(rank) if rank.isdigit() else 0


def on_one_node() -> bool:
    """Return whether all ranks are known to run on this node; True without a launcher."""
    if launched_rank() is None or any(_value(row.nnodes) == "1" for row in _LAUNCHERS):
        return True
    return any((nlocal := _value(row.ranks_here)) and nlocal == _value(row.nranks) for row in _LAUNCHERS)


def waits_for_failed_ranks() -> bool:
    """Return whether the launcher waits for all ranks when one ends before MPI_Init with a bad status.

    Open MPI's mpiexec, the first row of the table, does not; MPICH's and srun do.
    """
    first, *other_launchers = _LAUNCHERS
    several = any(_value(row.nranks) not in ("", "1") for row in other_launchers)
    return several and launched_rank() is not None and first.rank not in os.environ


def job() -> str:
    """Return the name that the batch system gave this job; "" outside of one."""
    return _first(row.job for row in _BATCH_SYSTEMS)


def array_task() -> str:
    """Return the number of this task of an array job; "" outside of one."""
    tasks = ((_value(row.array_task), row.no_task) for row in _BATCH_SYSTEMS)
    return next((task for task, no_task in tasks if task not in ("", no_task)), "")


def restarts() -> int:
    """Return how often the batch system has started this job again."""
    number = _first(row.nrestarts for row in _BATCH_SYSTEMS)
    return int(number) if number.isdigit() else 0


def _first(names: Iterable[str]) -> str:
    return next((value for name in names if (value := _value(name))), "")


def _value(name: str) -> str:
    return os.environ.get(name, "") if name else ""


def is_first_to_report(message: str) -> bool:
    """Return whether no other rank of the launcher on this node reports an error; True without a launcher."""
    if launched_rank() is None:
        return True
    name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        name.bind(f"\0scalatrace-{os.geteuid()}-{os.getppid()}-{crc32(message.encode()):x}")
    except OSError:
        return False
    _reports.append(name)
    return True
