"""Run random programs through the consumers, in groups; count outcomes; reduce what disagrees.

Starting MPI costs more than the programs do, so a group of programs is recorded as one. A consumer that
disagrees or refuses gets the halves of the group, until one program is left.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from consumers.executors import EXECUTORS
from consumers.outcomes import Consumer, Outcome, Verdict
from consumers.phases import KINDS
from consumers.program import COMMON, PLAIN, Program, draw_program, source
from consumers.readers import READERS, checked
from consumers.recording import BrokenError, Recording, record_programs
from consumers.shrink import reduced
from support.mpis import Mpi

CONSUMERS: dict[str, Consumer] = {**READERS, **EXECUTORS}
GROUP = 20
"""Programs of a recording."""

MAX_REFUSED = 15
"""Programs of a group that counts as refused as a whole; larger ones are halved first."""

MAX_REDUCED = 3
"""Findings of a consumer that are reduced; further ones are counted only."""


@dataclass(frozen=True)
class Finding:
    """A disagreement with the smallest program that has it."""

    consumer: str
    program: Program
    reason: str


@dataclass
class Result:
    """Outcomes by consumer and verdict, in programs; findings."""

    programs: int = 0
    outcomes: dict[str, Counter[Verdict]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    refusals: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, consumer: str, verdict: Verdict, programs: int) -> None:
        """Count an outcome of some programs."""
        self.outcomes.setdefault(consumer, Counter())[verdict] += programs


Say = Callable[[str], object]


class Campaign:
    """Random programs of a seed through some consumers."""

    def __init__(
        self, mpi: Mpi, folder: Path, seed: int, names: Sequence[str] = (), say: Say = print
    ) -> None:
        """`names`: of the consumers; empty: all."""
        self._mpi, self._folder, self._seed, self._say = mpi, folder, seed, say
        self._consumers = {name: CONSUMERS[name] for name in names or CONSUMERS}
        self._parts: dict[tuple[Program, ...], Recording] = {}
        self.result = Result()

    def run(self, count: int, first: int = 0, group: int = GROUP, kinds: Sequence[str] = ()) -> Result:
        """Draw and run `count` programs from number `first` on."""
        for start in range(first, first + count, group):
            numbers = range(start, min(start + group, first + count))
            names = tuple(kinds) or kinds_of(start // group)
            self._group([draw_program(self._seed, number, names) for number in numbers])
        return self.result

    def _group(self, programs: list[Program]) -> None:
        folder = self._folder / f"{programs[0].number}"
        self.result.programs += len(programs)
        try:
            recording = record_programs(self._mpi, folder, programs)
        except BrokenError as error:
            self._say(f"programs {programs[0].number} to {programs[-1].number}: {error}")
            self.result.add("recording", Verdict.DIFFERENT, len(programs))
            self._keep(Finding("recording", self._broken(programs), str(error)))
            return
        for name, consumer in self._consumers.items():
            outcome = checked(consumer, recording)
            if _is_final(outcome, programs):
                self._count(name, outcome, programs)
            else:
                self._halves(name, consumer, programs, outcome)
        shutil.rmtree(folder)
        shutil.rmtree(self._folder / "parts", ignore_errors=True)
        self._parts.clear()

    def _halves(self, name: str, consumer: Consumer, programs: list[Program], whole: Outcome) -> None:
        """Run a consumer on halves of a group that did not agree, until single programs are left."""
        middle = len(programs) // 2
        agreed = True
        for part in (programs[:middle], programs[middle:]):
            outcome = self._outcome(consumer, part)
            agreed = agreed and outcome.verdict is Verdict.EQUAL
            if _is_final(outcome, part):
                self._count(name, outcome, part)
            else:
                self._halves(name, consumer, part, outcome)
        if agreed and whole.verdict is Verdict.DIFFERENT:  # only together
            self._say(f"{name}: programs {programs[0].number} to {programs[-1].number}: {whole.reason}")
            self.result.add(name, Verdict.DIFFERENT, 1)

    def _outcome(self, consumer: Consumer, programs: Sequence[Program]) -> Outcome:
        try:
            return checked(consumer, self._part(tuple(programs)))
        except BrokenError as error:
            return Outcome(Verdict.DIFFERENT, str(error))

    def _part(self, programs: tuple[Program, ...]) -> Recording:
        """Return the recording of a part of a group, which is made once for all consumers."""
        if programs not in self._parts:
            folder = self._folder / "parts" / str(len(self._parts))
            self._parts[programs] = record_programs(self._mpi, folder, programs)
        return self._parts[programs]

    def _count(self, name: str, outcome: Outcome, programs: Sequence[Program]) -> None:
        self.result.add(name, outcome.verdict, len(programs))
        if outcome.verdict is Verdict.REFUSED:
            self.result.refusals.setdefault(name, Counter())[outcome.reason] += len(programs)
        if outcome.verdict is not Verdict.DIFFERENT:
            return
        known = sum(finding.consumer == name for finding in self.result.findings)
        self._say(f"{name}: {programs[0]}: {outcome.reason}")
        if known < MAX_REDUCED:
            consumer, bad = self._consumers[name], outcome.verdict
            small = reduced(programs[0], lambda each: self._outcome(consumer, [each]).verdict is bad)
            self._keep(Finding(name, small, outcome.reason))

    def _broken(self, programs: Sequence[Program]) -> Program:
        """Return a smallest program that cannot be recorded; of a group that fails only as one, the first."""
        bad = next((each for each in programs if self._fails_to_record(each)), programs[0])
        return reduced(bad, self._fails_to_record)

    def _fails_to_record(self, program: Program) -> bool:
        try:
            self._part((program,))
        except BrokenError:
            return True
        return False

    def _keep(self, finding: Finding) -> None:
        """Save the reduced program, with the reason in a comment."""
        self.result.findings.append(finding)
        name = f"{re.sub(r'[^a-zA-Z]+', '-', finding.consumer).strip('-')}-{finding.program.number}.c"
        self._folder.mkdir(parents=True, exist_ok=True)
        text = finding.reason.replace("*/", "* /")
        (self._folder / name).write_text(f"/* {finding.consumer}: {text} */\n{source([finding.program])}")
        self._say(f"  reduced to {finding.program}: {self._folder / name}")


def _is_final(outcome: Outcome, programs: Sequence[Program]) -> bool:
    """Return whether an outcome counts for a whole group, rather than its halves."""
    most = {Verdict.EQUAL: len(programs), Verdict.REFUSED: MAX_REFUSED, Verdict.DIFFERENT: 1}
    return len(programs) <= most[outcome.verdict]


def kinds_of(group: int) -> tuple[str, ...]:
    """Return the kinds of a group. Of four groups one has all, one what coNCePTuaL has, two the common."""
    return (PLAIN, COMMON, tuple(KINDS), COMMON)[group % 4]


def table(result: Result) -> Iterator[str]:
    """Yield the lines of the table of outcomes."""
    width = max(map(len, result.outcomes), default=0)
    yield f"{'consumer':{width}}  programs  " + "  ".join(f"{verdict:>13}" for verdict in Verdict)
    for name, counts in result.outcomes.items():
        numbers = "  ".join(f"{counts[verdict]:13}" for verdict in Verdict)
        yield f"{name:{width}}  {counts.total():8}  {numbers}"
    yield from _refusals(result.refusals)


def _refusals(refusals: Mapping[str, Counter[str]]) -> Iterator[str]:
    for name, reasons in refusals.items():
        for reason, count in reasons.most_common(3):
            yield f"{name} refused {count}: {reason[:160]}"
