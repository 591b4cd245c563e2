"""Subsets of three traces with parameters that have nothing to do with their values: equal, refused or wrong.

python -m benchmarks.extrapolate.idle_inputs [FOLDER] [--only lu ...] [--subsets 10] [--seed 1] [--keep]

Each trace gets a parameter `steps` from 2 to 10, the same in all traces or drawn for each. The traces are
those of the samples, recorded first, or of a folder: PROGRAM.RANKS[.nVALUE ...].st, with their parameters.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from benchmarks.extrapolate.study import samples
from benchmarks.table import keep, printed, show
from scalatrace import Trace, load
from scalatrace.errors import ScalatraceError
from scalatrace.extrap.choices.canonical import canonical
from scalatrace.extrap.extrapolate import checked_matching, inputs_of, model_of, of_model
from scalatrace.trace.query.absolute import absolute
from scalatrace.trace.query.diff import diff

COLUMNS = ("program", "parameter", "cases", "equal", "refused", "wrong")
KINDS = "none", "same", "varied"
TRACES, MIN_VALUE, MAX_VALUE = 3, 2, 10
"""Traces of a subset, and the values of the idle parameter."""

_NAME = re.compile(r"([^.]+)\.(\d+)((?:\.[A-Za-z]+\d+)*)\.st")


class Subset(NamedTuple):
    """Three traces, those of larger runs, and the idle parameter of each; none if it is empty."""

    traces: tuple[Path, ...]
    targets: tuple[Path, ...]
    steps: tuple[int, ...]


def main() -> int:
    """Study, show, keep; 1 when something is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", help="of recorded traces")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="of the programs, by how they begin")
    parser.add_argument("--subsets", type=int, default=0, metavar="N", help="of each program (default all)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of what is drawn (default 1)")
    parser.add_argument(
        "--keep", action="store_true", help="write benchmarks/results/extrapolate_idle_inputs.md"
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        programs = _of_samples(Path(folder), args.only) if args.folder is None else _of_folder(args.folder)
        chosen = {
            name: traces
            for name, traces in programs.items()
            if not args.only or any(name.startswith(one) for one in args.only)
        }
        title = "Extrapolations from three traces with idle parameters"
        rows = list(printed(_rows(chosen, args.subsets, random.Random(args.seed))))
    show(title, COLUMNS, rows)
    if args.keep:
        keep("extrapolate_idle_inputs", title, COLUMNS, rows)
    return int(any(row[-1] != "0" for row in rows))


Programs = dict[str, list[tuple[int, Path]]]
"""Traces of each program with their numbers of ranks."""


def _of_samples(folder: Path, only: Sequence[str] | None) -> Programs:
    return {program.name: sorted(program.traces.items()) for program in samples(folder, only, targets=True)}


def _of_folder(folder: Path) -> Programs:
    result: Programs = {}
    for path in sorted(folder.glob("*.st")):
        if (match := _NAME.fullmatch(path.name)) is not None:
            result.setdefault(match[1], []).append((int(match[2]), path))
    return {name: sorted(traces) for name, traces in result.items()}


def _rows(programs: Programs, most: int, drawn: random.Random) -> Iterator[list[str]]:
    with ProcessPoolExecutor(2) as pool:
        for name, traces in programs.items():
            chosen = [
                subset
                for subset in combinations(traces, TRACES)
                if len({nprocs for nprocs, _ in subset}) == TRACES and traces[-1][0] > subset[-1][0]
            ]
            chosen = drawn.sample(chosen, most) if 0 < most < len(chosen) else chosen
            for kind in KINDS if chosen else ():
                counts: Counter[str] = Counter()
                for outcomes in pool.map(_studied, [_subset(one, traces, kind, drawn) for one in chosen]):
                    counts.update(result for result, _ in outcomes)
                    for text in (reason for result, reason in outcomes if result == "wrong"):
                        print("    wrong:", text, flush=True)
                results = (counts["equal"], counts["refused"], counts["wrong"])
                yield [name, kind, str(sum(results)), *map(str, results)]


def _subset(
    chosen: Sequence[tuple[int, Path]], traces: Sequence[tuple[int, Path]], kind: str, drawn: random.Random
) -> Subset:
    targets = tuple(path for nprocs, path in traces if nprocs > chosen[-1][0])
    values = [drawn.randint(MIN_VALUE, MAX_VALUE) for _ in range(TRACES + 1)]
    steps = {"none": [], "same": values[:1] * (TRACES + 1), "varied": values}[kind]
    return Subset(tuple(path for _, path in chosen), targets, tuple(steps))


def _loaded(path: Path, steps: Sequence[int], at: int) -> Trace:
    trace = load(path)
    if steps:
        trace.meta["param.steps"] = str(steps[at])
    return trace


def _studied(subset: Subset) -> list[tuple[str, str]]:
    """The result of each target, with the reason."""
    traces = [_loaded(path, subset.steps, at) for at, path in enumerate(subset.traces)]
    try:
        model = model_of(traces)[1]
    except ScalatraceError as error:
        return [("refused", str(error))] * len(subset.targets)
    result = []
    for target in subset.targets:
        real = _loaded(target, subset.steps, TRACES)
        try:
            made = of_model(model, real.nprocs, params=inputs_of(real))
            checked_matching(traces, made, inputs_of(real))
        except ScalatraceError as error:
            result.append(("refused", str(error)))
            continue
        predicted, expected = (canonical(absolute(trace)) for trace in (made.trace, real))
        found = diff(predicted, expected, ["times"])
        names = " ".join(path.name for path in subset.traces)
        text = f"{names} -> {target.name}, steps {subset.steps}: {found[0]}" if found else ""
        result.append(("wrong" if found else "equal", text))
    return result


if __name__ == "__main__":
    sys.exit(main())
