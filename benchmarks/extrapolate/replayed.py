"""Extrapolated traces, replayed and compared with the program's run of that size (Figures 3.9 to 3.11)."""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.extrapolate.cases import MICRO, TIMED, TimedProgram
from benchmarks.running import Pacing, RunPace, TimedRecording, equal_arguments, recorded, replayed
from benchmarks.study import Study, choose, find_mpi
from benchmarks.table import ResultTable, Row, compared, errors_within, verdict
from scalatrace import Trace, load
from scalatrace.replay.common.whatif import WhatIf
from scalatrace.replay.compare import count_expected
from scalatrace.trace.query.diff import diff
from support.mpis import Mpi
from support.programs import SAMPLES, Sample
from support.running import Argument, record, scalatrace

COLUMNS = (
    "program", "scaling", "inputs", "ranks", "events", "differing ranks", "calls", "bytes", "replayed",
    "app, s", "replay, s", "error", "note",
)  # fmt: skip
LIMITS = {"replay": 0.08}
"""Mean absolute error of the replay times: the dissertation has 7.13 % for weak scaling (§3.4.2)."""


def _cells(mpi: Mpi, case: TimedProgram, pacing: Pacing, folder: Path) -> list[str]:
    ranks = (*case.inputs, case.target)
    pace = None
    if case.computation != "-":
        pace = pacing.pace(mpi, lambda steps: _of_steps(case, case.target, steps), ranks, folder)
    runs = {nprocs: _recorded(mpi, case, pace, nprocs, folder) for nprocs in ranks}
    result = folder / "extrapolated.st"
    words = [runs[nprocs].trace for nprocs in case.inputs]
    plugin: list[Argument] = ["--plugin", SAMPLES / case.plugin] if case.plugin else []
    size: list[Argument] = ["-P", str(case.target), *case.noted(case.target), *plugin]
    scalatrace(mpi, "extrapolate", *words, *size, "-o", result, timeout=600).check()
    real, extrapolated = load(runs[case.target].trace), load(result)
    wait = "sleep" if pace else "none"
    facts = replayed(mpi, case.target, result, ["--compute", wait])
    cells = ["-"] * 3
    if pace:
        app_s, spent = runs[case.target].run_s, float(facts["wall_s"])
        cells = [f"{app_s:.3f}", *compared(spent, app_s)]
    return [
        f"{real.nevents():,}",
        str(len(diff(extrapolated, real, ["times"]))),
        *compare_totals(facts, real),
        _again(mpi, case, result, extrapolated, folder),
        *cells,
        "",
    ]


def _recorded(
    mpi: Mpi, case: TimedProgram, pace: RunPace | None, nprocs: int, folder: Path
) -> TimedRecording:
    """Record a run; computations of strong scaling are the longer the fewer ranks there are."""
    trace = folder / f"{nprocs}.st"
    options = [*case.options, *case.noted(nprocs)]
    if pace is None:
        command: list[Argument] = [str(mpi.python), SAMPLES / case.source, *case.arguments]
        record(mpi, nprocs, command, trace, options=options, timeout=300).check()
        return TimedRecording(trace, 0.0)
    sleep_us = pace.sleep_us if case.computation == "weak" else pace.sleep_us * case.target // nprocs
    argv, env = equal_arguments(_of_steps(case, nprocs, pace.steps), sleep_us)
    return recorded(mpi, nprocs, argv, trace, options, env)


def compare_totals(facts: Mapping[str, Any], real: Trace) -> list[str]:
    """Calls and bytes sent of a replay, relative to those of a recorded trace."""
    calls: Counter[str] = Counter()
    sent: Counter[str] = Counter()
    for rank in real.ranks:
        for (op, _), (ncalls, nbytes) in count_expected(real, rank, WhatIf(())).items():
            calls[op] += ncalls
            sent[op] += nbytes
    return [_relative(facts["calls"], calls), _relative(facts["sent"], sent)]


def _relative(replayed: Mapping[str, int], real: Mapping[str, int]) -> str:
    """The difference as text: "equal", or the sum of all operations' differences over the real sum."""
    off = sum(abs(replayed.get(op, 0) - real.get(op, 0)) for op in {*replayed, *real})
    return f"{off / max(1, sum(real.values())):.2%} off" if off else "equal"


def _again(mpi: Mpi, case: TimedProgram, trace: Path, extrapolated: Trace, folder: Path) -> str:
    """The number of ranks on which a recorded replay differs; "drawn" if a replay draws its values."""
    if "--histograms" in case.options:
        return "drawn"
    again = folder / "again.st"
    command: list[Argument] = [*mpi.scalatrace(), "replay", trace, "--compute", "none"]
    record(mpi, case.target, command, again, timeout=300).check()
    return str(len(diff(extrapolated, load(again), ["callsites", "times"])))


def _of_steps(case: TimedProgram, nprocs: int, steps: int) -> Sample:
    argv = [word.format(n=case.size(nprocs)) for word in case.arguments]
    return Sample(case.source, (*argv, "--steps", str(steps)))


def replayed_rows(mpi: Mpi, chosen: Sequence[TimedProgram], pacing: Pacing) -> Iterator[Row]:
    """Return a row per case.

    *differing ranks*: whose calls in the extrapolated trace are not those of the recorded one. *calls* and
    *bytes*: totals of the replay relative to those of the recorded trace. *replayed*: ranks whose calls in
    a recording of the replay differ from the extrapolated trace.
    """
    for case in chosen:
        head = [case.title, case.computation, ", ".join(map(str, case.inputs)), str(case.target)]
        with tempfile.TemporaryDirectory() as folder:
            try:
                yield [*head, *_cells(mpi, case, pacing, Path(folder))]
            except (AssertionError, TimeoutError) as error:
                yield [*head, *["-"] * 8, f"not run: {' '.join(str(error).split())[:120]}"]


def _verdicts(rows: Sequence[Row]) -> list[str]:
    """Whether all calls are equal, and the mean absolute error of the times is within its limit."""
    at = COLUMNS.index("differing ranks")
    wrong = [f"{row[0]} ({row[1]})" for row in rows if row[at] != "0" or row[at + 3] not in ("0", "drawn")]
    text = "extrapolated traces and their replays make the calls of the program"
    exact = verdict(not wrong, text + (f"; not: {', '.join(wrong)}" if wrong else ""))
    timed = [row for row in rows if row[1] != "-"]
    return [exact, *(errors_within(LIMITS, timed, COLUMNS.index("error")) if timed else [])]


def _tables(args: argparse.Namespace) -> Iterator[ResultTable]:
    chosen = choose((*MICRO, *TIMED), args.only, lambda case: case.title)
    rows = replayed_rows(find_mpi(), chosen, Pacing(target_s=args.most_s))
    title = "Replays of extrapolated traces against the program"
    yield ResultTable("extrapolate_replayed", title, COLUMNS, rows, 4, judge=_verdicts)


STUDIES = (
    Study(
        "extrapolate-replayed",
        "calls and times of replays of extrapolated traces against the program, strong and weak scaling",
        "RESULTS.md (Figures 3.9 to 3.11)",
        _tables,
        {"only": [], "most_s": 2.0},
        {"only": ["ring"]},
    ),
)
