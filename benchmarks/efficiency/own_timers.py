"""Run a mpi4py program with a timer around each of its MPI calls, in Python.

    mpiexec -n 4 python own_timers.py FOLDER PROGRAM [ARGUMENT ...]

Each rank writes the nanoseconds in MPI and in computation to FOLDER/<rank>: from the program's start to the
end of its last call. Communicators, requests and so on are replaced by objects that time their methods.
"""

import runpy
import sys
from pathlib import Path
from time import perf_counter_ns
from typing import Any

from mpi4py import MPI

WRAPPED = (MPI.Comm, MPI.Request, MPI.Message, MPI.Win, MPI.File)
CLASSES = ("Request", "Prequest", "Message", "Win", "File")
inside_ns, last_ns = 0, 0


def unwrapped(value: Any) -> Any:
    """Return the object of MPI, also in lists."""
    if isinstance(value, Timed):
        return value._timed
    if isinstance(value, list | tuple):
        return type(value)(map(unwrapped, value))
    return value


def wrapped(value: Any) -> Any:
    """Return a timed object for an object of MPI, also in lists."""
    if isinstance(value, WRAPPED):
        return Timed(value)
    return [wrapped(one) for one in value] if isinstance(value, list) else value


class Timed:
    """An object or a class of MPI whose methods are timed."""

    def __init__(self, timed: Any) -> None:
        self._timed = timed

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._timed, name)
        if not callable(value) or isinstance(value, type):
            return wrapped(value)
        timed = not name.startswith(("Get_", "Is_"))

        def method(*args: Any, **kwargs: Any) -> Any:
            global inside_ns, last_ns
            given = [unwrapped(one) for one in args]
            named = {key: unwrapped(one) for key, one in kwargs.items()}
            start = perf_counter_ns()
            result = value(*given, **named)
            if timed:
                last_ns = perf_counter_ns()
                inside_ns += last_ns - start
            return wrapped(result)

        return method

    def __eq__(self, other: object) -> bool:
        return bool(self._timed == unwrapped(other))

    def __hash__(self) -> int:
        return id(self._timed)

    def __getitem__(self, index: Any) -> Any:
        return self._timed[index]

    def __bool__(self) -> bool:
        return bool(self._timed)


def main() -> None:
    """Run it; its exit status is ours."""
    folder, program = sys.argv[1:3]
    sys.argv = sys.argv[2:]
    sys.path.insert(0, str(Path(program).parent))
    rank = MPI.COMM_WORLD.rank
    for name in CLASSES:
        setattr(MPI, name, Timed(getattr(MPI, name)))
    MPI.COMM_WORLD = Timed(MPI.COMM_WORLD)  # type: ignore[assignment]
    start = perf_counter_ns()
    status: Any = 0
    try:
        runpy.run_path(program, run_name="__main__")
    except SystemExit as error:
        status = error.code
    Path(folder, str(rank)).write_text(f"{inside_ns} {last_ns - start - inside_ns}")
    sys.exit(status)


main()
