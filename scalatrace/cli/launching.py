"""Commands that start ranks themselves, instead of being started under a launcher."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from scalatrace.compilers.programs import find_program, own_python
from scalatrace.errors import UsageError


def add_launcher(parser: argparse.ArgumentParser) -> None:
    """Declare `--launcher`."""
    parser.add_argument(
        "--launcher",
        metavar="COMMAND",
        help="what starts the ranks (default: mpiexec -n <ranks>)",
    )


def launch_words(command: str | None, nprocs: int) -> list[str]:
    """Return the launcher's words: as given, else the mpiexec beside this interpreter or on the PATH.

    Raises:
        UsageError: there is none.
    """
    if command:
        return split_words(command)
    beside = Path(sys.executable).with_name("mpiexec")
    launcher = str(beside) if beside.exists() else find_program("mpiexec")
    if launcher is None:
        raise UsageError("no mpiexec found; say what starts the ranks: --launcher 'srun -n 16'")
    return [launcher, "-n", str(nprocs)]


def split_words(command: str) -> list[str]:
    """Return the words of a command line. Raises UsageError when a quote has no end."""
    try:
        return shlex.split(command)
    except ValueError as error:
        raise UsageError(f"{command!r}: {error}") from None


def scalatrace_words(*words: str | Path) -> list[str]:
    """Return a command of ours, run by this interpreter."""
    return own_python("-m", "scalatrace", *words)
