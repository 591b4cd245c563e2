"""A study of the registry: its name, its command line, and the tables that it measures."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.table import Judge, ResultTable, Row
from support.mpis import Mpi, installed

Item = TypeVar("Item")

HELP = {
    "only": "programs whose names begin with this",
    "ranks": "numbers of ranks",
    "repeat": "runs of each kind; medians count",
    "steps": "time steps",
    "to": "languages: c, python, conceptual",
    "most_s": "run time of the application, seconds",
    "tuning_s": "seconds of measuring for the rules",
    "seed": "of what is drawn",
    "hpcg": "the program xhpcg, built for the first Open MPI with mpi4py",
    "slowdowns": "of one core, per cent",
    "history": "runs before the slowdown",
    "fit": "orders to which models are fitted",
    "orders": "of matrices",
    "panel_rates": "Gflop/s of a core where it factors a panel",
    "grids": "rows x columns of ranks; the first ones of all nodes",
    "slower": "kinds of clusters, by their slow nodes",
    "order": "of the matrix of blocks",
    "clusters": "that are drawn for each grid",
    "factors": "elements of a block that stands for one of the matrix, per dimension",
    "trials": "of what is drawn",
    "xhpl": "file of HPL for Debian's Open MPI and BLAS, instead of hpcc",
    "start": "words before the program on each rank, such as a script that gives it priority",
    "mpi": "one of: " + ", ".join(installed()),
    "traces": "folder of recorded traces, which are stored there and reused",
    "limit": "seconds of a run, and of each check of it",
    "render": "measure nothing; write page and plots from the stored rows",
    "output": "folder of RESULTS.md",
    "pilgrim": "sources of Pilgrim",
    "recorder": "sources of Recorder",
    "mpip": "sources of mpiP",
    "inputs": "PROGRAM:N=V, parameters of a program",
    "npb": "sources of NPB 3.4 for MPI: the figures are measured with real programs",
    "lulesh": "sources of LULESH 2.0",
    "programs": "bt, cg, ep, ft, is, lu, mg, sp, sweep3d, ocean, lulesh; other rows are kept",
}
POSITIONAL: dict[str, dict[str, Any]] = {
    "files": {"nargs": "+", "help": "traces"},
    "folder": {"nargs": "?", "help": "of traces PROGRAM.RANKS.st; default: the samples, recorded first"},
    "platform": {"help": "platform file of this machine, by `scalatrace calibrate`"},
}


class SkippedError(Exception):
    """A study cannot run on this machine: the reason."""


@dataclass(frozen=True)
class Study:
    """A measurement.

    Attributes:
        about: what it measures, in one line.
        cited: the documents, tests or targets that use its result.
        run: yields tables, whose rows are measured when they are iterated; or returns the exit status.
        options: default by name of option; [] and None stand for words without default, Path for a folder.
        quick: the smallest useful values of the options.
    """

    name: str
    about: str
    cited: str
    run: Callable[[argparse.Namespace], Iterable[ResultTable] | int]
    options: Mapping[str, Any] = field(default_factory=dict)
    quick: Mapping[str, Any] = field(default_factory=dict)

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """Read the command line that follows the study's name."""
        parser = argparse.ArgumentParser(
            prog=f"python -m benchmarks {self.name}", description=f"{self.about}. Cited by: {self.cited}."
        )
        for name, default in self.options.items():
            if name in POSITIONAL:
                parser.add_argument(name, type=str if name == "platform" else Path, **POSITIONAL[name])
            else:
                parser.add_argument("--" + name.replace("_", "-"), **_argument(name, default))
        parser.add_argument("--keep", action="store_true", help="write the tables into benchmarks/results/")
        parser.add_argument("--quick", action="store_true", help="smallest settings")
        if "--quick" in words:
            parser.set_defaults(**self.quick)
        return parser.parse_args(words)

    def measure(self, words: Sequence[str]) -> int:
        """Run with a command line; return 1 if a required property does not hold."""
        args = self.parse(words)
        try:
            result = self.run(args)
            if isinstance(result, int):
                return result
            return max([table.measure(args.keep) for table in result], default=0)
        except SkippedError as reason:
            print(f"skipped {self.name}: {reason}")
            return 0


def one_table(
    name: str,
    title: str,
    columns: Sequence[str],
    rows: Callable[[argparse.Namespace], Iterable[Row]],
    nkeys: int = 0,
    notes: Sequence[str] = (),
    judge: Judge = lambda rows: (),
) -> Callable[[argparse.Namespace], Iterable[ResultTable]]:
    """Return the `run` of a study with one table: arguments as in `ResultTable`, and rows by the options."""
    return lambda args: [ResultTable(name, title, columns, rows(args), nkeys, notes, judge)]


def _argument(name: str, default: Any) -> dict[str, Any]:
    """How argparse reads an option with this default."""
    shown = "" if default in (None, False, []) or default is Path else " (default: %(default)s)"
    words = {"help": HELP.get(name, "") + shown, "default": default}
    if default is False:
        return {**words, "action": "store_true"}
    if default is Path:
        return {**words, "type": Path, "default": None}
    if isinstance(default, list):
        empty = str if name in ("only", "to", "inputs", "mpi", "programs") else int
        return {**words, "nargs": "+", "type": type(default[0]) if default else empty}
    return {**words, "type": str if default is None else type(default)}


def find_mpi(name: str = "openmpi", python: bool = True) -> Mpi:
    """The MPI of this name, or for Open MPI the other one with mpi4py. Raises SkippedError."""
    mpi = installed().get(name) or (installed().get("mpich") if name == "openmpi" else None)
    if mpi is None or (python and mpi.python is None):
        raise SkippedError(f"no {name} with mpi4py here, only {', '.join(installed()) or 'nothing'}")
    return mpi


def find_debian_mpi(program: str) -> Mpi:
    """Debian's Open MPI, for this program. Raises SkippedError if one of both is not here."""
    mpi = installed().get("debian-openmpi")
    if mpi is None:
        raise SkippedError("needs Debian's openmpi-bin and libopenmpi-dev")
    if shutil.which(program) is None:
        raise SkippedError(f"no program {program}")
    return mpi


def choose(items: Iterable[Item], only: Collection[str], name: Callable[[Item], str]) -> list[Item]:
    """The items whose names begin with one of `only`; all if it is empty."""
    return [item for item in items if not only or any(name(item).startswith(word) for word in only)]
