"""Extrapolate programs that follow random formulas: equal, refused or wrong.

Each program exchanges messages and makes collective calls, in loops, with peers, counts, tags, conditions and
trip counts that are random formulas of a rank's place, the sides of its grid and a size n. Its traces come
from the recorder's compression; the result is compared with the trace of the program on a larger grid.

random-rules: from three to six sizes. closed-loop: when an extrapolation is refused, the run that the error
names is added, at most four times. Advice is a circle if it asks for a run that exists, or for a fifth one.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from hypothesis import HealthCheck, Phase, given, seed, settings

from benchmarks.study import Study
from benchmarks.table import ResultTable, Row, verdict
from scalatrace import Trace
from scalatrace.errors import ScalatraceError
from scalatrace.extrap import extrapolate
from scalatrace.extrap.refusal import Action, NextStep, Recording, Refused
from scalatrace.trace.query.diff import diff
from support.grids import trace_of
from support.random_rules import RandomProgram, programs

COLUMNS = ("traces", "cases", "equal", "refused", "wrong", "s per case")
LOOP_COLUMNS = ("traces at first", "programs", "equal", "refused", "circles", "wrong")
CHUNK, LOOP_CHUNK = 50, 25
"""Programs that one process draws from one seed."""

EQUAL, REFUSED, CIRCLE, WRONG = "equal", "refused", "circle", "wrong"


@dataclass
class ProgramResults:
    """Results of programs.

    Attributes:
        ends: by the number of traces at first.
        took_ms: by this number, too.
        recordings: of equal programs, by the number of runs that were added.
        texts: wrong programs and circles.
    """

    ends: Counter[tuple[int, str]] = field(default_factory=Counter)
    took_ms: Counter[int] = field(default_factory=Counter)
    recordings: Counter[int] = field(default_factory=Counter)
    texts: list[str] = field(default_factory=list)

    def add(self, results: ProgramResults) -> None:
        """Add those of another process."""
        self.ends += results.ends
        self.took_ms += results.took_ms
        self.recordings += results.recordings
        self.texts += results.texts

    def rows(self, names: Sequence[str]) -> Iterator[Row]:
        """Programs and ends by the number of traces, and of all."""
        for n in (*sorted({n for n, _ in self.ends}), 0):
            counts = [sum(c for (m, e), c in self.ends.items() if e == end and n in (m, 0)) for end in names]
            yield [str(n) if n else "all", str(sum(counts)), *map(str, counts)]


def _judged(judge: Callable[[int], ProgramResults], seeds: Sequence[int]) -> ProgramResults:
    """The results of all seeds, in two processes."""
    total = ProgramResults()
    with ProcessPoolExecutor(2) as pool:
        for results in pool.map(judge, seeds):
            total.add(results)
            print(*results.texts, f"{total.ends.total()} programs", sep="\n", flush=True)
    return total


def _drawn(number: int) -> ProgramResults:
    """The results of some programs."""
    results = ProgramResults()

    def judge(program: RandomProgram) -> None:
        began, traces = time.monotonic(), len(program.grids) - 1
        end, _, text = outcome(program).partition(": ")
        results.ends[traces, end] += 1
        results.took_ms[traces] += int(1e3 * (time.monotonic() - began))
        if end == WRONG:
            results.texts.append(f"{WRONG}: {program}\n  {text}")

    judge_programs(number, judge)
    return results


def judge_programs(
    number: int, judge: Callable[[RandomProgram], None], count: int = CHUNK, typed: bool = False
) -> None:
    """Call a function with random programs that a seed gives.

    Args:
        number: the seed.
        count: programs.
        typed: whether messages may have datatypes with sizes that follow formulas.
    """

    @seed(number)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(programs(typed))
    def judge_one(program: RandomProgram) -> None:
        judge(program)

    judge_one()


def outcome(program: RandomProgram) -> str:
    """Equal, refused, or wrong with the first difference."""
    *grids, target = program.grids
    traces = [trace_of(program.body, dims, program.n) for dims in grids]
    real = trace_of(program.body, target, program.n)
    params = {"n": program.n} if program.n else None
    try:
        result = extrapolate(traces, real.nprocs, target, params, grids).trace
    except ScalatraceError:
        return REFUSED
    differences = diff(result, real, ["times"])
    return f"{WRONG}: {differences[0]}" if differences else EQUAL


MAX_RECORDINGS, MAX_STEPS = 4, 8
"""Runs that are added, and steps that are followed, among them those without a run."""


@dataclass
class LoopEnd:
    """How the loop of one program ended.

    Attributes:
        recordings: runs that were added.
        text: the last error, or the first difference.
    """

    end: str
    recordings: int
    text: str = ""


@dataclass
class ClosedLoop:
    """The runs of one program: sides of the grid, and n, with the trace of each.

    Attributes:
        declares: whether the parameter n is noted in the traces.
        number: decides which of several runs is recorded.
    """

    program: RandomProgram
    declares: bool
    number: int
    runs: dict[tuple[tuple[int, ...], int], Trace] = field(default_factory=dict)
    recordings: int = 0

    def outcome(self) -> LoopEnd:
        """Extrapolate and follow the advice until it ends."""
        *grids, target = self.program.grids
        for dims in grids:
            self._record(dims, self.program.n)
        real = trace_of(self.program.body, target, self.program.n)
        for _ in range(MAX_STEPS + 1):
            try:
                result = self._extrapolated(real.nprocs, target)
            except ScalatraceError as error:
                step = error.step if isinstance(error, Refused) else None
                if step is None or not (step.recordings or step.leave_out or step.action is Action.GIVE_SIZE):
                    return LoopEnd(REFUSED, self.recordings, str(error))
                if not self._follow(step):
                    return LoopEnd(CIRCLE, self.recordings, str(error))
                continue
            different = diff(result, real, ["times"])
            return LoopEnd(WRONG if different else EQUAL, self.recordings, "".join(map(str, different[:1])))
        return LoopEnd(CIRCLE, self.recordings, "too many steps")

    def _record(self, dims: Sequence[int], n: int) -> None:
        trace = trace_of(self.program.body, dims, n)
        if not self.declares:
            trace.meta.pop("param.n", None)
        self.runs[tuple(dims), n] = trace

    def _extrapolated(self, nprocs: int, target: Sequence[int]) -> Trace:
        params = {"n": self.program.n} if self.program.n and self.declares else None
        dims_of = [dims for dims, _ in self.runs]
        return extrapolate(list(self.runs.values()), nprocs, target, params, dims_of).trace

    def _follow(self, step: NextStep) -> bool:
        """Carry out a step of advice; return False if it was done already, or too often."""
        if step.action is Action.GIVE_SIZE:
            given, self.declares = self.declares, True
            for dims, n in list(self.runs):
                self._record(dims, n)
            return not given and self.program.n > 0
        if step.leave_out:
            ordered = sorted(self.runs, key=lambda run: self.runs[run].nprocs)
            for place in step.leave_out:
                del self.runs[ordered[place]]
            return True
        return self._add(step.recordings[self.number % len(step.recordings)])

    def _add(self, recording: Recording) -> bool:
        run = recording.grid.dims, recording.inputs.get("n", self.program.n)
        if run in self.runs or self.recordings == MAX_RECORDINGS:
            return False
        self.recordings += 1
        self._record(*run)
        return True


def followed(seed: int, count: int = LOOP_CHUNK) -> ProgramResults:
    """Return the results of the programs of a seed."""
    results = ProgramResults()
    numbers = iter(range(seed, sys.maxsize))

    def judge(program: RandomProgram) -> None:
        number = next(numbers)
        end = ClosedLoop(program, number % 4 > 0, number).outcome()
        results.ends[len(program.grids) - 1, end.end] += 1
        if end.end == EQUAL:
            results.recordings[end.recordings] += 1
        elif end.end in (CIRCLE, WRONG):
            results.texts.append(f"{end.end}: {program} (number {number})\n  {end.text}")

    judge_programs(seed, judge, count, typed=True)
    return results


def _tables(args: argparse.Namespace) -> Iterator[ResultTable]:
    total = _judged(_drawn, range(args.seed, args.seed + -(-args.programs // CHUNK)))
    rows = []
    for row in total.rows((EQUAL, REFUSED, WRONG)):
        ms = total.took_ms[int(row[0])] / int(row[1]) if row[0] != "all" else None
        rows.append([*row, f"{ms / 1e3:.1f}" if ms else ""])
    title = "Extrapolations of programs with random formulas"
    verdicts = [verdict(not total.texts, "no result is wrong")]
    yield ResultTable("extrapolate_random_rules", title, COLUMNS, rows, judge=lambda _: verdicts)


def _loop_tables(args: argparse.Namespace) -> Iterator[ResultTable]:
    judge = partial(followed, count=min(LOOP_CHUNK, args.programs))
    total = _judged(judge, range(args.seed, args.seed + -(-args.programs // LOOP_CHUNK)))
    rows = total.rows((EQUAL, REFUSED, CIRCLE, WRONG))
    needed = ", ".join(f"{n} recordings: {total.recordings[n]}" for n in range(MAX_RECORDINGS + 1))
    notes = (f"Equal programs by the recordings that were added: {needed}.",)
    verdicts = [*notes, verdict(not total.texts, "no advice is a circle, and no result is wrong")]
    title = "Programs whose advice was followed"
    yield ResultTable("extrapolate_closed_loop", title, LOOP_COLUMNS, rows, judge=lambda _: verdicts)


STUDIES = (
    Study(
        "random-rules",
        "extrapolations of programs whose peers, counts and trip counts follow random formulas",
        "tests/extrap/test_random_rules.py",
        _tables,
        {"programs": 2000, "seed": 1},
        {"programs": 50},
    ),
    Study(
        "closed-loop",
        "the same, and the runs are added that the advice of a refusal asks for",
        "docs/guide/extrapolate.md, CHANGELOG.md, tests/extrap/test_advice.py",
        _loop_tables,
        {"programs": 500, "seed": 1},
        {"programs": 5},
    ),
)
