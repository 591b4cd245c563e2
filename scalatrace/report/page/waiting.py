"""Calls that may wait for other ranks, by the partner that they wait for."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto
from functools import cache

from scalatrace.operations import Category, Meeting, Mode, operation
from scalatrace.report.page.tree import TreeNode
from scalatrace.trace.query.requests import POLLING

__all__ = ["AwaitedPartner", "kind_of", "waiting"]

COMPLETING = frozenset({"Wait", "Waitall", "Waitany", "Waitsome"})
"""Completions that wait; others return at once."""


class AwaitedPartner(Enum):
    """The partner that a call waits for."""

    SENDER = auto()
    RECEIVER = auto()
    ALL = auto()


@cache
def kind_of(op: str) -> AwaitedPartner | None:
    """Return the kind of an operation; None: it does not wait. Polls, and what returns at once, do not."""
    row = operation(op)
    if row.nonblocking or row.base in POLLING or row.mode is Mode.BUFFERED:
        return None
    if row.base in COMPLETING or row.category in (Category.RECV, Category.SENDRECV, Category.PROBE):
        return AwaitedPartner.SENDER
    if row.meeting in (Meeting.ALL, Meeting.SOME, Meeting.SETUP):
        return AwaitedPartner.ALL
    return AwaitedPartner.RECEIVER if row.category is Category.SEND else None


def waiting(calls: Iterable[TreeNode], kind: AwaitedPartner | None = None) -> list[TreeNode]:
    """Return the calls of a kind that wait for other ranks; None: of any kind."""
    kinds = set(AwaitedPartner) if kind is None else {kind}
    return [call for call in calls if kind_of(call.op) in kinds and not call.alone]
