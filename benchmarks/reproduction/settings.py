"""Sizes of the measurements: quick ones that fit into 20 minutes on two idle cores, and full ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchmarks.extrapolate.cases import MICRO, TIMED, TimedProgram
from benchmarks.generate.programs import LANGUAGES
from benchmarks.generate.times import SCALABLE_CASES, SCALES, ScalableCase
from benchmarks.reproduction.real.workshop import Workshop
from benchmarks.running import Pacing


@dataclass(frozen=True)
class Settings:
    """Sizes of all measurements.

    Attributes:
        name: on the page.
        pacing: run time of the programs, and sleep in place of computations.
        repeat: runs of each kind; medians count.
        benchmark_repeat: the same where only benchmarks are compared with each other.
        languages, scalable_languages: of the generated benchmarks, and of those for any number of ranks.
        size_ranks: of the runs whose traces are compared (Figure 5.7). A program runs on the first number
            of each group that it accepts.
        size_steps: of all programs, and of ocean on the most ranks.
        replay_ranks, timing_ranks: of Figures 5.8 and 4.8.
        micro, timed: programs of Figure 3.9, and of Figures 3.9 to 3.11.
        scalable: programs of Figure 4.9.
        computation_ranks, scales: of Figure 4.10, with factors on the computation.
        collective_ranks, collective_steps: of Figure 4.13.
        only: titles of programs; empty: all.
        scalable_pacing: of Figure 4.9.
        workshop: real programs; None: no sources are given.
    """

    name: str
    pacing: Pacing
    repeat: int
    benchmark_repeat: int
    languages: Sequence[str]
    scalable_languages: Sequence[str]
    size_ranks: Sequence[Sequence[int]]
    size_steps: tuple[int, Sequence[int]]
    replay_ranks: Sequence[int]
    timing_ranks: Sequence[int]
    micro: Sequence[TimedProgram]
    timed: Sequence[TimedProgram]
    scalable: Sequence[ScalableCase]
    computation_ranks: Sequence[int]
    scales: Sequence[float]
    collective_ranks: Sequence[int]
    collective_steps: int
    scalable_pacing: Pacing
    only: Sequence[str] = ()
    workshop: Workshop | None = None

    @property
    def unlimited(self) -> Pacing:
        """The pacing of programs on one number of ranks: whatever a run with the fewest steps takes."""
        return Pacing(self.pacing.sleep_us, self.pacing.target_s)

    def chosen(self, title: str) -> bool:
        """Return whether a program is measured."""
        return not self.only or title in self.only


def _scalable(title: str) -> ScalableCase:
    return next(case for case in SCALABLE_CASES if case.title == title)


FULL = Settings(
    name="full",
    pacing=Pacing(sleep_us=20_000, target_s=2.0, longest_s=10.0),
    repeat=3,
    benchmark_repeat=5,
    languages=LANGUAGES,
    scalable_languages=LANGUAGES,
    size_ranks=[[4], [16], [64]],
    size_steps=(10, [100]),
    replay_ranks=[4, 8, 9, 16],
    timing_ranks=[4, 8, 9, 16],
    micro=MICRO,
    timed=TIMED,
    scalable=[_scalable("bt"), _scalable("ft")],
    computation_ranks=[16],
    scales=SCALES,
    collective_ranks=[4, 8, 16, 32],
    collective_steps=20,
    scalable_pacing=Pacing(sleep_us=20_000, target_s=2.0, longest_s=10.0),
)
"""Hours."""

QUICK = replace(
    FULL,
    name="quick",
    pacing=Pacing(sleep_us=20_000, target_s=0.5, longest_s=1.5, few_ranks=True),
    repeat=1,
    benchmark_repeat=2,
    languages=["conceptual"],
    scalable_languages=["c"],
    size_ranks=[[4], [9, 8]],
    size_steps=(10, [30]),
    replay_ranks=[4],
    timing_ranks=[4],
    micro=[case for case in MICRO if case.title == "ring"],
    timed=[
        case for case in TIMED if (case.title, case.computation) not in (("bt", "weak"), ("sweep3d", "weak"))
    ],
    scalable=[
        replace(_scalable("bt"), options=("--size", "17"), inputs=(4, 9, 16, 25), targets=(36,), n=17),
        replace(_scalable("ft"), inputs=(4, 6, 9), targets=(12,)),
    ],
    computation_ranks=[9],
    scales=[1.0, 0.6, 0.3, 0.1, 0.0],
    collective_ranks=[4, 8, 16],
    collective_steps=6,
    scalable_pacing=Pacing(sleep_us=20_000, target_s=0.5, longest_s=6.0, few_ranks=True),
)
