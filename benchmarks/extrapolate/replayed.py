"""Extrapolated traces, replayed and compared with the program's run of that size (Figures 3.9 to 3.11)."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.errors import errors_within
from benchmarks.extrapolate.cases import Case
from benchmarks.replay.runs import Pace, Pacing, Recording, equal_arguments, recorded, replayed
from scalatrace import Trace, load
from scalatrace.replay.common.whatif import WhatIf
from scalatrace.replay.compare import expected
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


@dataclass(frozen=True)
class TimedCase(Case):
    """A program whose time is compared, too.

    Attributes:
        computation: "strong": all ranks together compute a constant time; "weak": each rank does;
            "-": nothing computes, and times are not compared.
    """

    computation: str = "-"


_GRIDS, _PLANES, _SQUARES = (4, 6, 8, 9), (6, 9, 12, 16), (4, 9, 16, 25)
_N, _STEPS = ("--size", "{n}"), ("--steps", "10")
_CG = TimedCase("cg", "npb/cg.py", ("--size", "8"), (2, 4, 8), 16, plugin="plugins/cg_transpose.py")
_EP = TimedCase("ep", "npb/ep.py", ("--size", "32"), (3, 4, 6, 8), 12)
_IS = TimedCase("is", "npb/is.py", _N, _GRIDS, 12, n=64, options=("--histograms", "1"))
_BT = TimedCase("bt", "npb/bt.py", _N, _SQUARES, 36)
_FT = TimedCase("ft", "npb/ft.py", _N, _GRIDS, 12)
_LU = TimedCase("lu", "npb/lu.py", _N, _PLANES, 20)
_SWEEP = TimedCase("sweep3d", "sweep3d.py", _N, _PLANES, 20)

#: Programs of Figure 3.9 that compute nothing.
MICRO = (
    TimedCase("ring", "ring.py", (), (3, 4, 5, 6), 12),
    TimedCase("stencil 2-D", "stencil2d.py", _STEPS, _PLANES, 20),
    TimedCase("stencil 3-D", "stencil3d.py", _STEPS, (8, 12, 18, 27), 36),
)
#: Programs of Figures 3.10 and 3.11. --size of IS is per rank, so its messages scale weakly in both.
TIMED = (
    replace(_BT, n=17, computation="strong"),
    replace(_CG, computation="strong"),
    replace(_EP, computation="strong"),
    replace(_FT, n=48, computation="strong"),
    replace(_IS, computation="strong"),
    replace(_LU, n=8, computation="strong"),
    replace(_BT, n=3, weak=True, computation="weak"),
    replace(_EP, computation="weak"),
    replace(_FT, n=12, weak=True, computation="weak"),
    replace(_IS, computation="weak"),
    replace(_LU, n=3, weak=True, computation="weak"),
    replace(_SWEEP, n=1, weak=True, computation="weak"),
)


def lines(mpi: Mpi, chosen: Sequence[TimedCase], pacing: Pacing) -> Iterator[list[str]]:
    """Return a row per case.

    *differing ranks*: whose calls in the extrapolated trace are not those of the recorded one. *calls* and
    *bytes*: totals of the replay relative to those of the recorded trace. *replayed*: ranks whose calls in
    a recording of the replay differ from the extrapolated trace.
    """
    for case in chosen:
        with tempfile.TemporaryDirectory() as folder:
            try:
                yield _line(mpi, case, pacing, Path(folder))
            except (AssertionError, TimeoutError) as error:
                reason = " ".join(str(error).split())[:120]
                yield [*_head(case), *["-"] * 8, f"not run: {reason}"]


def _head(case: TimedCase) -> list[str]:
    return [case.title, case.computation, ", ".join(map(str, case.inputs)), str(case.target)]


def _line(mpi: Mpi, case: TimedCase, pacing: Pacing, folder: Path) -> list[str]:
    pace = None if case.computation == "-" else _paced(mpi, case, pacing, folder)
    runs = {nprocs: _recorded(mpi, case, pace, nprocs, folder) for nprocs in (*case.inputs, case.target)}
    made = folder / "extrapolated.st"
    words = [runs[nprocs].trace for nprocs in case.inputs]
    plugin: list[Argument] = ["--plugin", SAMPLES / case.plugin] if case.plugin else []
    size: list[Argument] = ["-P", str(case.target), *case.noted(case.target), *plugin]
    scalatrace(mpi, "extrapolate", *words, *size, "-o", made, timeout=600).check()
    real, extrapolated = load(runs[case.target].trace), load(made)
    wait = "sleep" if pace else "none"
    facts = replayed(mpi, case.target, made, ["--compute", wait])
    cells = ["-"] * 3
    if pace:
        app_s, spent = runs[case.target].run_s, float(facts["wall_s"])
        cells = [f"{app_s:.3f}", f"{spent:.3f}", f"{spent / app_s - 1:+.1%}"]
    return [
        *_head(case),
        f"{real.nevents():,}",
        str(len(diff(extrapolated, real, ["times"]))),
        *_totals(facts, real),
        _again(mpi, case, made, extrapolated, folder),
        *cells,
        "",
    ]


def _of_steps(case: TimedCase, nprocs: int, steps: int) -> Sample:
    argv = [word.format(n=case.size(nprocs)) for word in case.arguments]
    return Sample(case.source, (*argv, "--steps", str(steps)))


def _paced(mpi: Mpi, case: TimedCase, pacing: Pacing, folder: Path) -> Pace:
    def of_steps(steps: int) -> Sample:
        return _of_steps(case, case.target, steps)

    return pacing.paced(mpi, of_steps, (*case.inputs, case.target), folder)


def _recorded(mpi: Mpi, case: TimedCase, pace: Pace | None, nprocs: int, folder: Path) -> Recording:
    """Record a run; computations of strong scaling are the longer the fewer ranks there are."""
    trace = folder / f"{nprocs}.st"
    options = [*case.options, *case.noted(nprocs)]
    if pace is None:
        command: list[Argument] = [str(mpi.python), SAMPLES / case.source, *case.arguments]
        record(mpi, nprocs, command, trace, options=options, timeout=300).check()
        return Recording(trace, 0.0)
    sleep_us = pace.sleep_us if case.computation == "weak" else pace.sleep_us * case.target // nprocs
    argv, env = equal_arguments(_of_steps(case, nprocs, pace.steps), sleep_us)
    return recorded(mpi, nprocs, argv, trace, options, env)


def _totals(facts: Mapping[str, Any], real: Trace) -> list[str]:
    """Calls and bytes sent of a replay, relative to those of a recorded trace."""
    calls: Counter[str] = Counter()
    sent: Counter[str] = Counter()
    for rank in real.ranks:
        for (op, _), (ncalls, nbytes) in expected(real, rank, WhatIf(())).items():
            calls[op] += ncalls
            sent[op] += nbytes
    return [_relative(facts["calls"], calls), _relative(facts["sent"], sent)]


def _relative(replayed: Mapping[str, int], real: Mapping[str, int]) -> str:
    """The difference as text: "equal", or the sum of all operations' differences over the real sum."""
    off = sum(abs(replayed.get(op, 0) - real.get(op, 0)) for op in {*replayed, *real})
    return f"{off / max(1, sum(real.values())):.2%} off" if off else "equal"


def _again(mpi: Mpi, case: TimedCase, trace: Path, extrapolated: Trace, folder: Path) -> str:
    """The number of ranks on which a recorded replay differs; "drawn" if a replay draws its values."""
    if "--histograms" in case.options:
        return "drawn"
    again = folder / "again.st"
    command: list[Argument] = [*mpi.scalatrace(), "replay", trace, "--compute", "none"]
    record(mpi, case.target, command, again, timeout=300).check()
    return str(len(diff(extrapolated, load(again), ["callsites", "times"])))


def verdicts(rows: Sequence[Sequence[str]]) -> list[str]:
    """Whether all calls are equal, and the mean absolute error of the times is within its limit."""
    at = COLUMNS.index("differing ranks")
    wrong = [f"{row[0]} ({row[1]})" for row in rows if row[at] != "0" or row[at + 3] not in ("0", "drawn")]
    word, names = ("NO", f"; not: {', '.join(wrong)}") if wrong else ("yes", "")
    exact = f"{word}: extrapolated traces and their replays make the calls of the program{names}"
    return [exact, *errors_within(LIMITS, rows, COLUMNS.index("error"))]
