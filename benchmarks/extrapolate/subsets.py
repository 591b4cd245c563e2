"""Subsets of a program's traces, extrapolated to every larger size at hand: equal, refused or wrong.

subsets: every subset of 3 to 5 traces. idle-inputs: subsets of three traces with a parameter `steps` that has
nothing to do with their values: the same in all traces, or drawn for each. The traces are those of the
samples, or PROGRAM.RANKS.st of a folder. `--inputs` is that of `scalatrace extrapolate`, for a program.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, combinations
from pathlib import Path
from statistics import median_high
from typing import Any, NamedTuple

from benchmarks.extrapolate.cases import CASES, folder_of_traces, record_program
from benchmarks.study import Study, choose, find_mpi
from benchmarks.table import ResultTable, Row, verdict
from scalatrace import Trace, load
from scalatrace.cli.extrapolation import note_inputs
from scalatrace.errors import ScalatraceError
from scalatrace.extrap.choices import canonical
from scalatrace.extrap.extrapolate import checked_matching, inputs_of, model_of, of_model
from scalatrace.extrap.grid.plugins import load_plugins
from scalatrace.trace.query.absolute import absolute
from scalatrace.trace.query.diff import diff
from support.programs import SAMPLES

COLUMNS = ("program", "traces", "cases", "equal", "refused", "wrong", "s per fit", "reasons")
IDLE_COLUMNS = ("program", "parameter", "cases", "equal", "refused", "wrong")
KINDS = "none", "same", "varied"
IDLE_TRACES, MIN_VALUE, MAX_VALUE = 3, 2, 10
"""Traces of a subset with an idle parameter, and the values of this."""

_NAME = re.compile(r"(.+)\.(\d+)\.st")


@dataclass(frozen=True)
class ProgramTraces:
    """Traces of one program by their number of ranks, and its `--inputs`."""

    name: str
    traces: Mapping[int, Path]
    inputs: tuple[str, ...] = ()
    plugin: str = ""


class TraceSubset(NamedTuple):
    """Traces of a program by their numbers of ranks; the idle parameter of each, and of the targets."""

    program: ProgramTraces
    sizes: tuple[int, ...]
    steps: tuple[int, ...] = ()

    @property
    def targets(self) -> list[int]:
        """Numbers of ranks of the larger traces."""
        return [nprocs for nprocs in sorted(self.program.traces) if nprocs > max(self.sizes)]

    def load(self, nprocs: int, place: int) -> Trace:
        """Load a trace with its inputs."""
        trace = load(self.program.traces[nprocs])
        if self.steps:
            trace.meta["param.steps"] = str(self.steps[place])
        note_inputs([trace], self.program.inputs)
        return trace


class SubsetResult(NamedTuple):
    """Equal, refused or wrong at a target, with the reason, and seconds of the fit."""

    result: str
    reason: str
    fit_s: float


@contextmanager
def given_programs(args: argparse.Namespace, targets: bool = True) -> Iterator[list[ProgramTraces]]:
    """The programs of a folder of traces, or the samples, recorded on the ranks of inputs (and targets)."""
    with folder_of_traces(args.traces) as folder:
        if args.folder is not None:
            yield choose(_programs_in(args.folder, args.inputs), args.only, lambda program: program.name)
            return
        programs = []
        for case in choose(CASES, args.only, lambda case: case.title):
            sizes = sorted({*case.inputs, case.target} if targets else case.inputs)
            traces = {nprocs: record_program(find_mpi(), case, nprocs, folder) for nprocs in sizes}
            programs.append(ProgramTraces(case.title, traces, plugin=case.plugin))
        yield programs


def _programs_in(folder: Path, inputs: Sequence[str]) -> list[ProgramTraces]:
    """The programs of a folder of traces; with given inputs, both with and without them."""
    by_name: dict[str, dict[int, Path]] = {}
    for path in sorted(folder.glob("*.st")):
        if (match := _NAME.fullmatch(path.name)) is not None:
            by_name.setdefault(match[1], {})[int(match[2])] = path
    given = dict(option.split(":", 1) for option in inputs)
    programs = []
    for name, traces in by_name.items():
        if len(traces) > IDLE_TRACES:
            programs.append(ProgramTraces(name, traces))
            if name in given:
                programs.append(ProgramTraces(f"{name}, {given[name]}", traces, (given[name],)))
    return programs


def _sizes(program: ProgramTraces, count: int) -> list[tuple[int, ...]]:
    """The subsets of so many traces that have a larger trace."""
    subsets = combinations(sorted(program.traces), count)
    return [sizes for sizes in subsets if max(program.traces) > max(sizes)]


def _studied(subset: TraceSubset) -> list[SubsetResult]:
    """The results at all targets of a subset."""
    load_plugins([SAMPLES / subset.program.plugin] if subset.program.plugin else [])
    traces = [subset.load(nprocs, place) for place, nprocs in enumerate(subset.sizes)]
    began = time.monotonic()
    try:
        model = model_of(traces)[1]
    except ScalatraceError as error:
        refused = SubsetResult("refused", _shorten(error), time.monotonic() - began)
        return [refused] * len(subset.targets)
    fit_s, results = time.monotonic() - began, []
    for target in subset.targets:
        real = subset.load(target, -1)
        try:
            predicted_run = of_model(model, target, params=inputs_of(real))
            checked_matching(traces, predicted_run, inputs_of(real))
        except ScalatraceError as error:
            results.append(SubsetResult("refused", _shorten(error), fit_s))
            continue
        predicted, expected = (canonical(absolute(trace)) for trace in (predicted_run.trace, real))
        differences = diff(predicted, expected, ["times"])
        reason = " ".join(str(differences[0]).split()) if differences else ""
        if differences:
            print("    wrong:", *subset.sizes, "->", target, *subset.steps, reason, flush=True)
        results.append(SubsetResult("wrong" if differences else "equal", reason, fit_s))
    return results


def _shorten(error: Exception) -> str:
    return str(error).splitlines()[0][:160]


def _count(results: Iterable[SubsetResult]) -> list[str]:
    """Cases, and how many of them are equal, refused and wrong."""
    counts = Counter(one.result for one in results)
    return [str(counts.total()), *(str(counts[name]) for name in ("equal", "refused", "wrong"))]


def _rows(args: argparse.Namespace) -> Iterator[Row]:
    with given_programs(args) as programs, ProcessPoolExecutor(2) as pool:
        for program in programs:
            for k in args.subsets:
                jobs = [TraceSubset(program, sizes) for sizes in _sizes(program, k)]
                results = list(chain(*pool.map(_studied, jobs)))
                if results:
                    reasons = Counter(one.reason for one in results if one.result != "equal").most_common(2)
                    fit_s = median_high(one.fit_s for one in results)
                    often = "; ".join(reason for reason, _ in reasons)
                    yield [program.name, str(k), *_count(results), f"{fit_s:.1f}", often]


def _idle_rows(args: argparse.Namespace) -> Iterator[Row]:
    drawn = random.Random(args.seed)
    with given_programs(args) as programs, ProcessPoolExecutor(2) as pool:
        for program in programs:
            chosen = _sizes(program, IDLE_TRACES)
            chosen = drawn.sample(chosen, args.subsets) if 0 < args.subsets < len(chosen) else chosen
            for kind in KINDS if chosen else ():
                jobs = [TraceSubset(program, sizes, _steps(kind, drawn)) for sizes in chosen]
                yield [program.name, kind, *_count(chain(*pool.map(_studied, jobs)))]


def _steps(kind: str, drawn: random.Random) -> tuple[int, ...]:
    values = tuple(drawn.randint(MIN_VALUE, MAX_VALUE) for _ in range(IDLE_TRACES + 1))
    return {"none": (), "same": values[:1] * len(values), "varied": values}[kind]


def _verdicts(rows: Sequence[Row]) -> list[str]:
    return [verdict(all(row[5] == "0" for row in rows), "no extrapolation is wrong")]


def _tables(args: argparse.Namespace) -> Iterator[ResultTable]:
    name = "samples" if args.folder is None else args.folder.resolve().name
    title = "Extrapolations of every subset of traces"
    yield ResultTable(f"extrapolate_study_{name}", title, COLUMNS, _rows(args), 2, judge=_verdicts)


def _idle_tables(args: argparse.Namespace) -> Iterator[ResultTable]:
    title = "Extrapolations from three traces with idle parameters"
    yield ResultTable("extrapolate_idle_inputs", title, IDLE_COLUMNS, _idle_rows(args), judge=_verdicts)


TRACES: dict[str, Any] = {"folder": None, "traces": Path, "only": [], "inputs": []}
STUDIES = (
    Study(
        "subsets",
        "extrapolations of every subset of 3 to 5 traces to each larger size at hand",
        "benchmarks/README.md (shares its code with idle-inputs)",
        _tables,
        {**TRACES, "subsets": [3, 4, 5]},
        {"only": ["ring"], "subsets": [3]},
    ),
    Study(
        "idle-inputs",
        "extrapolations from three traces whose parameter has nothing to do with their values",
        "CHANGELOG.md",
        _idle_tables,
        {**TRACES, "subsets": 0, "seed": 1},
        {"only": ["ring"], "subsets": 2},
    ),
)
