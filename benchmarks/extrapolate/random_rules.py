"""Programs that follow random formulas, extrapolated from three to six sizes: equal, refused or wrong.

python -m benchmarks.extrapolate.random_rules [--cases 2000] [--seed 1] [--keep]

Each program exchanges messages and makes collective calls, in loops, with peers, counts, tags, conditions and
trip counts that are random formulas (`tests/support/random_rules.py`). Its traces come from the recorder's
compression; the result is compared with the trace of the program on the larger grid, event by event.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from hypothesis import HealthCheck, Phase, given, seed, settings

from benchmarks.table import keep, show
from scalatrace.errors import ScalatraceError
from scalatrace.extrap import extrapolate
from scalatrace.trace.query.diff import diff
from support.grids import trace_of
from support.random_rules import RandomProgram, programs

COLUMNS = ("traces", "cases", "equal", "refused", "wrong", "s per case")
CHUNK = 50
"""Programs that one process draws from one seed."""

EQUAL, REFUSED, WRONG = "equal", "refused", "wrong"


@dataclass
class Results:
    """How many programs had which result, by their number of traces; the wrong ones, and the time."""

    counts: Counter[tuple[int, str]] = field(default_factory=Counter)
    took_ms: Counter[int] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def add(self, other: Results) -> None:
        """Add those of another process."""
        self.counts += other.counts
        self.took_ms += other.took_ms
        self.wrong += other.wrong


def main() -> int:
    """Draw, extrapolate, compare, show; 1 when something is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=2000, metavar="N", help="programs (default 2000)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the first programs (default 1)")
    parser.add_argument(
        "--keep", action="store_true", help="write benchmarks/results/extrapolate_random_rules.md"
    )
    args = parser.parse_args()
    total = Results()
    with ProcessPoolExecutor(2) as pool:
        seeds = range(args.seed, args.seed + -(-args.cases // CHUNK))
        for results in pool.map(_drawn, seeds):
            total.add(results)
            for text in results.wrong:
                print("wrong:", text, flush=True)
            print(sum(total.counts.values()), "programs", flush=True)
    rows = [_row(n, total) for n in sorted({n for n, _ in total.counts})]
    rows.append(["all", *(str(sum(int(row[k]) for row in rows)) for k in range(1, 5)), ""])
    title = "Extrapolations of programs with random formulas"
    show(title, COLUMNS, rows)
    if args.keep:
        keep("extrapolate_random_rules", title, COLUMNS, rows)
    return int(bool(total.wrong))


def _row(traces: int, total: Results) -> list[str]:
    counts = [total.counts[traces, result] for result in (EQUAL, REFUSED, WRONG)]
    return [
        str(traces),
        str(sum(counts)),
        *map(str, counts),
        f"{total.took_ms[traces] / sum(counts) / 1e3:.1f}",
    ]


def _drawn(number: int) -> Results:
    """The results of some programs."""
    results = Results()

    def judge(program: RandomProgram) -> None:
        began = time.monotonic()
        found = outcome(program)
        traces = len(program.grids) - 1
        results.counts[traces, WRONG if found.startswith(WRONG) else found] += 1
        results.took_ms[traces] += int(1e3 * (time.monotonic() - began))
        if found.startswith(WRONG):
            results.wrong.append(f"{program}\n  {found}")

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
        made = extrapolate(traces, real.nprocs, target, params, grids)
    except ScalatraceError:
        return REFUSED
    found = diff(made.trace, real, ["times"])
    return f"{WRONG}: {found[0]}" if found else EQUAL


if __name__ == "__main__":
    sys.exit(main())
