"""Every subset of a program's traces, extrapolated to every larger size at hand: equal, refused or wrong.

python -m benchmarks.extrapolate.study FOLDER [--only lu ...] [--inputs lu.W:n=33 ...] [--keep]
python -m benchmarks.extrapolate.study [--only lu ...]           the samples, recorded first

A folder has traces named PROGRAM.RANKS.st. `--inputs` is that of `scalatrace extrapolate`, for a program.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

from benchmarks.extrapolate.__main__ import recorded
from benchmarks.extrapolate.cases import CASES
from benchmarks.table import keep, kept, printed, show
from scalatrace import load
from scalatrace.cli.extrapolation import note_inputs
from scalatrace.errors import ScalatraceError
from scalatrace.extrap.choices.canonical import canonical
from scalatrace.extrap.extrapolate import checked_matching, inputs_of, model_of, of_model
from scalatrace.extrap.grid.plugins import load_plugins
from scalatrace.trace.query.absolute import absolute
from scalatrace.trace.query.diff import diff
from support.mpis import installed
from support.programs import SAMPLES

COLUMNS = ("program", "traces", "cases", "equal", "refused", "wrong", "s per fit", "reasons")
SUBSETS = (3, 4, 5)
"""Traces that are extrapolated together."""

_NAME = re.compile(r"(.+)\.(\d+)\.st")


@dataclass(frozen=True)
class Program:
    """Traces of one program by their number of ranks, and its `--inputs`."""

    name: str
    traces: Mapping[int, Path]
    inputs: tuple[str, ...] = ()
    plugin: str = ""


@dataclass
class Tally:
    """Results of one program's subsets of one size."""

    equal: int = 0
    refused: int = 0
    wrong: int = 0
    fit_s: list[float] = field(default_factory=list)
    reasons: dict[str, int] = field(default_factory=dict)


Outcome = tuple[tuple[int, ...], int, str, str, float]
"""Sizes of the traces, target, equal, refused or wrong, the reason, seconds of the fit."""


def main() -> int:
    """Study, show, keep; 1 when something is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", help="of recorded traces")
    parser.add_argument("--traces", type=Path, metavar="FOLDER", help="of recorded samples, kept and reused")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="of the programs, by how they begin")
    parser.add_argument("--inputs", nargs="+", default=[], metavar="PROGRAM:N=V", help="parameters")
    parser.add_argument(
        "--subsets", nargs="+", type=int, default=SUBSETS, metavar="K", help="sizes of subsets"
    )
    parser.add_argument("--verbose", action="store_true", help="print each case")
    parser.add_argument(
        "--keep", action="store_true", help="write benchmarks/results/extrapolate_study_FOLDER.md"
    )
    args = parser.parse_args()
    if args.folder is not None and args.traces is not None:
        parser.error("--traces is for recorded samples: give no other folder")
    with tempfile.TemporaryDirectory() as folder:
        found = (
            samples(args.traces or Path(folder), args.only, targets=True)
            if args.folder is None
            else programs_in(args.folder, args.inputs)
        )
        chosen = [p for p in found if not args.only or any(p.name.startswith(name) for name in args.only)]
        title = "Extrapolations of every subset of traces"
        rows = list(printed(_rows(chosen, args.subsets, args.verbose)))
    show(title, COLUMNS, rows)
    if args.keep:
        name = f"extrapolate_study_{'samples' if args.folder is None else args.folder.resolve().name}"
        keep(name, title, COLUMNS, _replaced(kept(name, COLUMNS), rows))
    return int(any(row[5] != "0" for row in rows))


def programs_in(folder: Path, inputs: Sequence[str]) -> Iterator[Program]:
    """The programs of a folder of traces; with given inputs, both with and without them."""
    by_name: dict[str, dict[int, Path]] = {}
    for path in sorted(folder.glob("*.st")):
        if (match := _NAME.fullmatch(path.name)) is not None:
            by_name.setdefault(match[1], {})[int(match[2])] = path
    given = dict(option.split(":", 1) for option in inputs)
    for name, traces in by_name.items():
        if len(traces) > min(SUBSETS):
            yield Program(name, traces)
            if name in given:
                yield Program(f"{name}, {given[name]}", traces, (given[name],))


def samples(folder: Path, only: Sequence[str] | None = None, targets: bool = False) -> Iterator[Program]:
    """The samples, recorded on the ranks of their inputs (and targets) unless the folder has their traces."""
    mpi = installed()["openmpi"]
    for case in CASES:
        if only and not any(case.title.startswith(name) for name in only):
            continue
        sizes = sorted({*case.inputs, case.target} if targets else case.inputs)
        traces = {nprocs: recorded(mpi, case, nprocs, folder) for nprocs in sizes}
        yield Program(case.title, traces, plugin=case.plugin)


def _replaced(older: Iterable[Sequence[str]], newer: Iterable[Sequence[str]]) -> list[Sequence[str]]:
    """The rows, of which newer ones replace older ones of the same program and number of traces."""
    return [row for _, row in sorted({(row[0], row[1]): row for row in (*older, *newer)}.items())]


def _rows(programs: Sequence[Program], subsets: Sequence[int], verbose: bool) -> Iterator[list[str]]:
    with ProcessPoolExecutor(2) as pool:
        for program in programs:
            for k in subsets:
                jobs = [
                    sizes for sizes in combinations(sorted(program.traces), k) if _targets(program, sizes)
                ]
                tally = Tally()
                for outcomes in pool.map(_studied, [program] * len(jobs), jobs):
                    for sizes, target, result, reason, seconds in outcomes:
                        setattr(tally, result, getattr(tally, result) + 1)
                        tally.fit_s.append(seconds)
                        if result != "equal":
                            tally.reasons[reason] = tally.reasons.get(reason, 0) + 1
                        if verbose or result == "wrong":
                            print("   ", *sizes, "->", target, result, reason, f"{seconds:.1f} s", flush=True)
                if tally.fit_s:
                    yield _row(program, k, tally)


def _row(program: Program, k: int, tally: Tally) -> list[str]:
    often = sorted(tally.reasons, key=lambda reason: -tally.reasons[reason])[:2]
    median = sorted(tally.fit_s)[len(tally.fit_s) // 2]
    counts = [tally.equal, tally.refused, tally.wrong]
    return [program.name, str(k), str(sum(counts)), *map(str, counts), f"{median:.1f}", "; ".join(often)]


def _targets(program: Program, sizes: Sequence[int]) -> list[int]:
    return [nprocs for nprocs in sorted(program.traces) if nprocs > max(sizes)]


def _studied(program: Program, sizes: tuple[int, ...]) -> list[Outcome]:
    """All targets of one subset."""
    load_plugins([SAMPLES / program.plugin] if program.plugin else [])
    traces = [load(program.traces[nprocs]) for nprocs in sizes]
    note_inputs(traces, program.inputs)
    began = time.monotonic()
    targets = _targets(program, sizes)
    try:
        model = model_of(traces)[1]
    except ScalatraceError as error:
        seconds = time.monotonic() - began
        return [(sizes, target, "refused", _short(error), seconds) for target in targets]
    seconds = time.monotonic() - began
    result = []
    for target in targets:
        real = load(program.traces[target])
        note_inputs([real], program.inputs)
        try:
            made = of_model(model, target, params=inputs_of(real))
            checked_matching(traces, made, inputs_of(real))
        except ScalatraceError as error:
            result.append((sizes, target, "refused", _short(error), seconds))
            continue
        predicted, expected = (canonical(absolute(trace)) for trace in (made.trace, real))
        found = diff(predicted, expected, ["times"])
        reason = " ".join(str(found[0]).split()) if found else ""
        result.append((sizes, target, "wrong" if found else "equal", reason, seconds))
    return result


def _short(error: Exception) -> str:
    return str(error).splitlines()[0][:160]


if __name__ == "__main__":
    sys.exit(main())
