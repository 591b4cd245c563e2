"""Follow the advice of refused extrapolations until programs with hidden rules end equal or refused.

python -m benchmarks.extrapolate.closed_loop [--programs 500] [--seed 1] [--keep]

Each program follows random formulas (`tests/support/random_rules.py`) of a rank's place, the sides of its
grid and a size n. It is extrapolated to a larger grid. When that is refused, the run that the error names is
added, at most four times. The result is compared with the trace of the program on the larger grid. Advice is
a circle if it asks for a run that exists, or for a fifth one.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from benchmarks.extrapolate.random_rules import judge_programs
from benchmarks.table import keep, show
from scalatrace import Trace
from scalatrace.errors import ScalatraceError
from scalatrace.extrap import extrapolate
from scalatrace.extrap.refusal import Action, NextStep, Recording, Refused
from scalatrace.trace.query.diff import diff
from support.grids import trace_of
from support.random_rules import RandomProgram

COLUMNS = ("traces at first", "programs", "equal", "refused", "circles", "wrong")
MAX_RECORDINGS, MAX_TURNS = 4, 8
"""Runs that are added, and steps that are followed, among them those without a run."""

CHUNK = 25
"""Programs that one process draws from one seed."""

EQUAL, REFUSED, CIRCLE, WRONG = "equal", "refused", "circle", "wrong"


@dataclass
class Outcome:
    """How the loop of one program ended.

    Attributes:
        recordings: runs that were added.
        text: the last error, or the first difference.
    """

    end: str
    recordings: int
    text: str = ""


@dataclass
class Loop:
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

    def outcome(self) -> Outcome:
        """Extrapolate and follow the advice until it ends."""
        *grids, target = self.program.grids
        for dims in grids:
            self._record(dims, self.program.n)
        real = trace_of(self.program.body, target, self.program.n)
        for _ in range(MAX_TURNS + 1):
            try:
                result = self._extrapolated(real.nprocs, target)
            except ScalatraceError as error:
                step = error.step if isinstance(error, Refused) else None
                if step is None or not (step.recordings or step.leave_out or step.action is Action.GIVE_SIZE):
                    return Outcome(REFUSED, self.recordings, str(error))
                if not self._follow(step):
                    return Outcome(CIRCLE, self.recordings, str(error))
                continue
            different = diff(result, real, ["times"])
            return Outcome(WRONG if different else EQUAL, self.recordings, "".join(map(str, different[:1])))
        return Outcome(CIRCLE, self.recordings, "too many steps")

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
        """Do what a step says; False: it was done already, or too often."""
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


@dataclass
class Results:
    """Ends by the number of traces at first; recordings of those that were equal; what is to be looked at."""

    ends: Counter[tuple[int, str]] = field(default_factory=Counter)
    recordings: Counter[int] = field(default_factory=Counter)
    texts: list[str] = field(default_factory=list)

    def add(self, other: Results) -> None:
        """Add those of another process."""
        self.ends += other.ends
        self.recordings += other.recordings
        self.texts += other.texts


def followed(seed: int, count: int = CHUNK) -> Results:
    """Return the results of the programs of a seed."""
    results = Results()
    numbers = iter(range(seed, sys.maxsize))

    def judge(program: RandomProgram) -> None:
        number = next(numbers)
        outcome = Loop(program, number % 4 > 0, number).outcome()
        results.ends[len(program.grids) - 1, outcome.end] += 1
        if outcome.end == EQUAL:
            results.recordings[outcome.recordings] += 1
        elif outcome.end in (CIRCLE, WRONG):
            results.texts.append(f"{outcome.end}: {program} (number {number})\n  {outcome.text}")

    judge_programs(seed, judge, count, typed=True)
    return results


def main() -> int:
    """Draw, follow, compare, show; 1 when there is a circle or something is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=500, metavar="N", help="programs (default 500)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the first programs (default 1)")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="processes (default 2)")
    parser.add_argument(
        "--keep", action="store_true", help="write benchmarks/results/extrapolate_closed_loop.md"
    )
    args = parser.parse_args()
    total = Results()
    with ProcessPoolExecutor(args.workers) as pool:
        seeds = range(args.seed, args.seed + -(-args.programs // CHUNK))
        for results in pool.map(partial(followed, count=min(CHUNK, args.programs)), seeds):
            total.add(results)
            for text in results.texts:
                print(text, flush=True)
            print(sum(total.ends.values()), "programs", flush=True)
    rows = _rows(total)
    title = "Programs whose advice was followed"
    needed = ", ".join(f"{n} recordings: {total.recordings[n]}" for n in range(MAX_RECORDINGS + 1))
    note = f"Equal programs by the recordings that were added: {needed}."
    show(title, COLUMNS, rows)
    print(note)
    if args.keep:
        keep("extrapolate_closed_loop", title, COLUMNS, rows, note)
    return int(any(total.ends[n, end] for n, end in total.ends if end in (CIRCLE, WRONG)))


def _rows(total: Results) -> list[list[str]]:
    rows = []
    for n in (*sorted({n for n, _ in total.ends}), 0):
        counts = [
            sum(count for (m, e), count in total.ends.items() if e == end and n in (m, 0))
            for end in (EQUAL, REFUSED, CIRCLE, WRONG)
        ]
        rows.append([str(n) if n else "all", str(sum(counts)), *map(str, counts)])
    return rows


if __name__ == "__main__":
    sys.exit(main())
