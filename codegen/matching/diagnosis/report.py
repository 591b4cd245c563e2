"""What is wrong with the order of a trace's calls: who waits for whom, and what is never matched."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from scalatrace.errors import ScalatraceError

__all__ = [
    "MatchingError", "MatchingProblem", "MatchingReport", "SenderChoice", "Unmatched", "WaitingRank",
    "shown_ranks",
]  # fmt: skip

MAX_SHOWN_LINES = 12
"""Lines of one kind that a text shows."""


class MatchingProblem(StrEnum):
    """What was found, gravest first."""

    MISMATCH = "mismatch"  # ranks make different collective calls where they should make one together
    DEADLOCK = "deadlock"
    UNSAFE = "unsafe"  # a deadlock only where MPI does not buffer standard sends
    UNMATCHED = "unmatched"  # all ranks end, but messages are left over


@dataclass(frozen=True, slots=True)
class WaitingRank:
    """A rank that cannot go on.

    Attributes:
        rank: world rank.
        op, site: the call it is in; "" and "the end of the trace" for a rank that has ended.
        awaits: world ranks that could let it go on.
        what: a description of what it waits for.
    """

    rank: int
    op: str
    site: str
    awaits: tuple[int, ...]
    what: str

    def __str__(self) -> str:
        return f"rank {self.rank}, {_call(self.op, self.site)}, waits for {self.what}"


@dataclass(frozen=True, slots=True)
class Unmatched:
    """Messages that are never received.

    Attributes:
        source, dest: world ranks.
        site: call site of the sends.
        n: how many.
    """

    source: int
    dest: int
    tag: int
    site: str
    n: int

    def __str__(self) -> str:
        many = f"{self.n} message{'s' * (self.n != 1)} with tag {self.tag}"
        return f"{many} from rank {self.source} to rank {self.dest}, sent at {self.site}"


@dataclass(frozen=True, slots=True)
class SenderChoice:
    """A receive from any source, and whose message it got on the way to the deadlock."""

    rank: int
    source: int
    site: str

    def __str__(self) -> str:
        return f"rank {self.rank} at {self.site} received from rank {self.source}"


@dataclass(frozen=True, slots=True)
class MatchingReport:
    """A problem of a trace.

    Attributes:
        cycle: ranks each of which waits for the next, and the last for the first; empty when the chain ends
            at a rank that has ended, or nobody waits.
        blocked: every rank that cannot go on.
        unmatched: messages sent and never received.
        choices: the latest decisions for receives from any source that led here, of those that had a choice.
        detail: what else is to say, "" for nothing.
        threads: that several threads of a rank called MPI, so that no order of its calls is known; "" else.
    """

    problem: MatchingProblem
    cycle: tuple[WaitingRank, ...] = ()
    blocked: tuple[WaitingRank, ...] = ()
    unmatched: tuple[Unmatched, ...] = ()
    choices: tuple[SenderChoice, ...] = ()
    detail: str = ""
    threads: str = ""

    @property
    def headline(self) -> str:
        """One line."""
        if self.threads and self.problem is not MatchingProblem.UNMATCHED:
            return f"the calls do not fit together in the order of the trace: {self.threads}"
        if self.problem is MatchingProblem.MISMATCH:
            return f"collective calls do not fit together: {self.detail}"
        if self.problem is MatchingProblem.UNMATCHED:
            return f"{sum(part.n for part in self.unmatched)} messages are sent and never received"
        ranks = shown_ranks([waiting.rank for waiting in self.cycle or self.blocked])
        if self.problem is MatchingProblem.UNSAFE:
            return f"deadlock of {ranks} unless MPI buffers their messages"
        return f"potential deadlock of {ranks}"

    def __str__(self) -> str:
        return "\n".join([self.headline, *self._details()])

    def _details(self) -> list[str]:
        lines: list[str] = []
        if self.threads:
            return lines
        if self.cycle:
            lines.append("the cycle:")
            following = (*self.cycle[1:], self.cycle[0])
            lines += [f"  {w} -> rank {n.rank}" for w, n in zip(self.cycle, following, strict=True)]
        outside_cycle = [waiting for waiting in self.blocked if waiting not in self.cycle]
        lines += _format_list("also waiting:" if self.cycle else "waiting:", outside_cycle)
        lines += _format_list("after these choices of a sender:", self.choices)
        lines += _format_list("never received:", self.unmatched)
        if self.detail and self.problem is not MatchingProblem.MISMATCH:
            lines.append(self.detail)
        return lines


class MatchingError(ScalatraceError):
    """The calls of a trace cannot be brought into an order; `report` says why."""

    def __init__(self, report: MatchingReport) -> None:
        self.report = report
        super().__init__(str(report))


def shown_ranks(ranks: list[int]) -> str:
    """ "rank 3", "ranks 0, 1 and 2", or the first of many."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if len(ranks) > MAX_SHOWN_LINES:
        return f"ranks {', '.join(map(str, ranks[:MAX_SHOWN_LINES]))} and {len(ranks) - MAX_SHOWN_LINES} more"
    return f"ranks {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}"


def _call(op: str, site: str) -> str:
    return f"in MPI_{op} at {site}" if op else f"at {site}"


def _format_list(title: str, items: list[WaitingRank] | tuple[object, ...]) -> list[str]:
    if not items:
        return []
    lines = [title, *(f"  {item}" for item in items[:MAX_SHOWN_LINES])]
    return lines if len(items) <= MAX_SHOWN_LINES else [*lines, f"  and {len(items) - MAX_SHOWN_LINES} more"]
