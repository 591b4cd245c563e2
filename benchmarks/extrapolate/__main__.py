"""Extrapolate recorded programs, and compare with the recorded run of that size, event by event.

python -m benchmarks.extrapolate [--only lu bt ...] [--keep]          exactness, at sizes that run here
python -m benchmarks.extrapolate --million [--only lu bt ...] [--keep]   what 100 to 1,048,576 ranks cost
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.extrapolate.cases import CASES, Case
from benchmarks.table import grouped, keep, show, told
from extrap import extrapolate
from extrap.errors import ExtrapolationError, InputError
from extrap.plugins import load_plugins
from scalatrace import Trace, load, save
from scalatrace.trace.diff import diff
from scalatrace.trace.grid import balanced
from support.mpis import Mpi, installed
from support.programs import SAMPLES
from support.running import record

COLUMNS = ("program", "inputs", "target", "events", "differing ranks", "nodes", "of the run", "note")
COSTS = ("program", "ranks", "CPU, s", "largest input, bytes", "result, bytes", "most memory, MB", "note")
SIDES = (10, 32, 100, 320, 1024)


def main() -> int:
    """Measure, show, keep."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help="of the cases, by how they begin")
    parser.add_argument("--million", action="store_true", help="sizes up to 1,048,576 ranks")
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/extrapolate*.md")
    args = parser.parse_args()
    chosen = [c for c in CASES if not args.only or any(c.title.startswith(name) for name in args.only)]
    mpi = installed()["openmpi"]
    with tempfile.TemporaryDirectory() as folder:
        make = costs if args.million else exactness
        title, columns, name = (
            ("What extrapolation costs", COSTS, "extrapolate_cost")
            if args.million
            else ("Extrapolated traces against recorded ones", COLUMNS, "extrapolate")
        )
        rows = told(make(mpi, chosen, Path(folder)))
    show(title, columns, rows)
    if args.keep:
        keep(name, title, columns, rows)
    return 0


def traces_of(mpi: Mpi, case: Case, ranks: Sequence[int], folder: Path) -> Iterator[Trace]:
    """The recorded traces of a case."""
    load_plugins([SAMPLES / case.plugin] if case.plugin else [])
    for nprocs in ranks:
        n = case.n * (balanced(nprocs, 2)[0] if case.weak else 1)
        argv = [word.format(n=n) for word in case.arguments]
        options = [*case.options, *(["--param", f"n={n}"] if case.n else [])]
        path = folder / f"{nprocs}.st"
        record(
            mpi,
            nprocs,
            [str(mpi.python), str(SAMPLES / case.source), *argv],
            path,
            options=options,
            timeout=300,
        ).check()
        yield load(path)


def exactness(mpi: Mpi, chosen: Sequence[Case], folder: Path) -> Iterator[list[str]]:
    """A row per case."""
    for case in chosen:
        head = [case.title, ", ".join(map(str, case.inputs)), str(case.target)]
        try:
            *inputs, real = traces_of(mpi, case, (*case.inputs, case.target), folder)
        except AssertionError as error:
            yield [*head, "-", "-", "-", "-", f"not recorded: {str(error).splitlines()[0]}"]
            continue
        params = {"n": int(real.meta["param.n"])} if case.n else None
        try:
            made = extrapolate(inputs, case.target, params=params).trace
        except (ExtrapolationError, InputError) as error:
            yield [
                *head, grouped(real.nevents()), "all", "-", str(real.nnodes), str(error).splitlines()[0]
            ]  # fmt: skip
            continue
        differing = len(diff(made, real, ["times"]))
        yield [
            *head, grouped(real.nevents()), str(differing), str(made.nnodes), str(real.nnodes), ""
        ]  # fmt: skip


def costs(mpi: Mpi, chosen: Sequence[Case], folder: Path) -> Iterator[list[str]]:
    """A row per case and size; the CPU time is that of reading, fitting, evaluating and writing."""
    for case in chosen:
        inputs = list(traces_of(mpi, case, case.inputs, folder))
        paths = [folder / f"{trace.nprocs}.st" for trace in inputs]
        largest = max(path.stat().st_size for path in paths)
        for side in SIDES:
            began = time.process_time()
            try:
                made = extrapolate([load(path) for path in paths], side * side).trace
            except InputError:
                continue  # not a size that the program runs on
            except ExtrapolationError as error:
                why = str(error).splitlines()[0]
                yield [case.title, grouped(side * side), "-", grouped(largest), "-", "-", why]
                continue
            save(made, folder / "big.st")
            spent = time.process_time() - began
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            size = (folder / "big.st").stat().st_size
            yield [
                case.title,
                grouped(side * side),
                f"{spent:.2f}",
                grouped(largest),
                grouped(size),
                str(peak),
                "",
            ]


if __name__ == "__main__":
    sys.exit(main())
