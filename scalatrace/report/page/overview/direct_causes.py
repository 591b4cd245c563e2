"""In which calls ranks wait, for which rank directly, and whose computation made that rank late."""

from __future__ import annotations

from dataclasses import dataclass

from scalatrace.executor.ideal_run import DirectWait, IdealRun
from scalatrace.report.costs.computation import FROM_START, calls_by_number
from scalatrace.report.costs.rows import site_of
from scalatrace.report.style import coarse_percent, number, ranks, short_site
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.ranklist import RankList

__all__ = ["DirectCause", "direct_causes"]

MAX_DIRECT, MIN_SHARE = 8, 0.01
"""Rows that are listed, and the part of all waiting from which on one is."""

MAX_ROOTS, MIN_ROOT_SHARE, SHOWN_WHOLE = 3, 0.1, 0.95
"""Root causes that are listed, the part of the waits of a row from which on one is, or is all of them."""


@dataclass(frozen=True)
class DirectCause:
    """Waits in one call for the rank that lets them end, and why that one came late.

    Attributes:
        node: number of the call in the tree; 0: ranks wait at their end.
        ranks, nranks: those that wait, as text, and how many.
        rank: that they wait for.
        share: of all waiting.
        why: whose computation is the root cause.
    """

    node: int
    op: str
    site: str
    ranks: str
    nranks: int
    rank: int
    waiting_ns: float
    share: float
    why: str


def direct_causes(trace: Trace, ideal: IdealRun) -> tuple[DirectCause, ...]:
    """Return the largest waits by call and the rank that lets them end; (): they were not followed."""
    total = sum(ideal.waiting_ns) or 1.0
    calls = calls_by_number(trace)
    rows = []
    for wait in ideal.direct[:MAX_DIRECT]:
        share = wait.waiting_ns / total
        if share < MIN_SHARE:
            break
        op, stack = calls.get(wait.node, FROM_START)
        site = short_site(site_of(stack)) if stack else ""
        waiters, nranks = ranks(RankList(wait.waiters)), len(wait.waiters)
        rows.append(
            DirectCause(
                wait.node, op, site, waiters, nranks, wait.rank, wait.waiting_ns, share, _root_text(wait)
            )
        )
    return tuple(rows)


def _root_text(wait: DirectWait) -> str:
    """Return whose computation most of the waits are for."""
    whole = wait.waiting_ns or 1.0
    largest = [(rank, ns / whole) for rank, ns in wait.causes[:MAX_ROOTS] if ns >= MIN_ROOT_SHARE * whole]
    texts = [
        (f"rank {number(rank)}{' itself' if rank == wait.rank else ''}", share) for rank, share in largest
    ]
    if texts and texts[0][1] >= SHOWN_WHOLE:
        return texts[0][0]
    named = ", ".join(f"{text} ({coarse_percent(share)})" for text, share in texts)
    return named or f"{number(len(wait.causes))} ranks"
