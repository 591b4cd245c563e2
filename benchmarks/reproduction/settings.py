"""Sizes of the measurements: quick ones that fit into 20 minutes on two idle cores, and full ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchmarks.extrapolate import replayed
from benchmarks.generate import computation, scalable
from benchmarks.generate.programs import LANGUAGES

__all__ = ["FULL", "QUICK", "Settings"]


@dataclass(frozen=True)
class Settings:
    """Sizes of all measurements.

    Attributes:
        name: on the page.
        run_s: run time of the programs, if their number of steps allows it.
        longest_s: limit of it at predicted sizes. Computations sleep less than usual to keep to it.
        sleep_us: shortest sleep in place of a computation.
        repeat: runs of each kind; medians count.
        benchmark_repeat: the same where only benchmarks are compared with each other.
        languages: of the generated benchmarks.
        size_runs: (ranks, steps) of the runs whose traces are compared (Figure 5.7).
        ocean_runs: the same for ocean only, over time steps.
        replay_ranks, timing_ranks: of Figures 5.8 and 4.8.
        micro, timed: programs of Figure 3.9, and of Figures 3.9 to 3.11.
        scalable: programs of Figure 4.9.
        computation_ranks, scales: of Figure 4.10, with factors on the computation.
        collective_ranks, collective_steps: of Figure 4.13.
        only: titles of programs; empty: all.
    """

    name: str
    run_s: float
    longest_s: float
    sleep_us: int
    repeat: int
    benchmark_repeat: int
    languages: Sequence[str]
    size_runs: Sequence[tuple[int, int]]
    ocean_runs: Sequence[tuple[int, int]]
    replay_ranks: Sequence[int]
    timing_ranks: Sequence[int]
    micro: Sequence[replayed.TimedCase]
    timed: Sequence[replayed.TimedCase]
    scalable: Sequence[scalable.Case]
    computation_ranks: Sequence[int]
    scales: Sequence[float]
    collective_ranks: Sequence[int]
    collective_steps: int
    only: Sequence[str] = ()

    def chosen(self, title: str) -> bool:
        """Return whether a program is measured."""
        return not self.only or title in self.only


def _scalable(title: str) -> scalable.Case:
    return next(case for case in scalable.CASES if case.title == title)


FULL = Settings(
    name="full",
    run_s=2.0,
    longest_s=10.0,
    sleep_us=20_000,
    repeat=3,
    benchmark_repeat=5,
    languages=LANGUAGES,
    size_runs=[(4, 10), (16, 10), (64, 10)],
    ocean_runs=[(16, 100), (16, 1000)],
    replay_ranks=[4, 8, 9, 16],
    timing_ranks=[4, 8, 9, 16],
    micro=replayed.MICRO,
    timed=replayed.TIMED,
    scalable=[_scalable("bt"), _scalable("ft")],
    computation_ranks=[16],
    scales=computation.SCALES,
    collective_ranks=[4, 8, 16, 32],
    collective_steps=20,
)
"""Hours."""

QUICK = replace(
    FULL,
    name="quick",
    run_s=0.7,
    longest_s=3.0,
    repeat=1,
    benchmark_repeat=3,
    languages=["conceptual"],
    size_runs=[(4, 10), (16, 10)],
    ocean_runs=[(16, 100)],
    replay_ranks=[4, 9],
    timing_ranks=[4],
    scalable=[
        replace(_scalable("bt"), options=("--size", "17"), inputs=(4, 9, 16, 25), targets=(36,), n=17),
        replace(_scalable("ft"), inputs=(4, 6, 9), targets=(12,)),
    ],
    computation_ranks=[9],
    scales=[1.0, 0.8, 0.6, 0.4, 0.3, 0.2, 0.1, 0.0],
    collective_ranks=[4, 8, 16],
    collective_steps=6,
)
