"""Windows of a rank while it is replayed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scalatrace.replay.transport.base import Handle

__all__ = ["Exposed", "Window"]


@dataclass(frozen=True, slots=True)
class Exposed:
    """What one rank exposes in a dynamic window.

    Attributes:
        starts: first addresses of intervals of the recorded run, in order.
        addresses: where each of them is in the replay.
    """

    starts: Sequence[int]
    addresses: Sequence[int]

    def __getitem__(self, recorded: int) -> int:
        """The address here for a recorded one."""
        at = bisect_right(self.starts, recorded) - 1
        return self.addresses[at] + recorded - self.starts[at]


@dataclass
class Window:
    """A window.

    Attributes:
        handle: the transport's.
        memory: what it exposes.
        results: buffers that MPI fills until a later synchronisation.
        exposed: of a dynamic window, what the targets expose, by world rank.
    """

    handle: Handle
    memory: Any = None
    results: list[Any] = field(default_factory=list)
    exposed: Mapping[int, Exposed] | None = None
