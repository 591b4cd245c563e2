"""Actions of a lowered trace: computations, messages between world ranks, waits, collectives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from scalatrace.predict.lowering.schedules import RoundShape
from scalatrace.trace.model.call import Call

__all__ = [
    "CollectiveAction", "Computation", "LoweredAction", "LoweredStep", "LoweringTarget", "RecvMessage",
    "SendMessage", "WaitAction",
]  # fmt: skip


class Computation(NamedTuple):
    """Computation of a rank, ns."""

    ns: float


class SendMessage(NamedTuple):
    """A message; without a request the rank waits until its buffer is free."""

    peer: int
    nbytes: int
    tag: int
    request: int | None = None


class RecvMessage(NamedTuple):
    """A receive; without a request the rank waits for the message. `nbytes`: size of the buffer."""

    peer: int
    nbytes: int
    tag: int
    request: int | None = None


class WaitAction(NamedTuple):
    """Wait until all of these requests of the rank are complete."""

    requests: tuple[int, ...]


class CollectiveAction(NamedTuple):
    """A collective operation on all ranks of the lowered trace, or on the ranks of `members`."""

    shape: RoundShape
    members: tuple[int, ...] | None = None


LoweredAction = Computation | SendMessage | RecvMessage | WaitAction | CollectiveAction


class LoweredStep(NamedTuple):
    """A call of the walk, the computation before it in ns, and its actions."""

    call: Call
    compute_ns: float
    actions: list[LoweredAction]


@dataclass(frozen=True)
class LoweringTarget:
    """The part of MPI that a tool knows.

    Attributes:
        collectives: its collective operations, as in `RoundShape.operation`; others become messages.
        groups: whether they may have any members; else only all ranks.
        several_sizes: whether they may have sizes that differ between ranks.
    """

    collectives: frozenset[str] = frozenset()
    groups: bool = False
    several_sizes: bool = False
