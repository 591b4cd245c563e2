"""Dynamic windows: displacements, which are addresses of the recorded run, become addresses of the replay.

Before the replay, each rank collects the intervals that its calls access in the windows of others. Each
target attaches memory for the union of them. An interval keeps its place within a block of ALIGNMENT bytes,
which atomic operations may need.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from scalatrace.replay.common.errors import ReplayError
from scalatrace.replay.common.whatif import WhatIf
from scalatrace.replay.engine.rank import RankReplay
from scalatrace.replay.engine.windows import Exposed
from scalatrace.replay.transport.shared import all_gathered

if TYPE_CHECKING:
    from scalatrace import Trace

CREATE = "Win_create_dynamic"

ALIGNMENT = 64
"""Bytes of a cache line."""

MAX_ADDRESS = (1 << 63) - 1

MAX_GAP_NBYTES = 4096
"""Intervals that are not farther apart are attached as one."""

Key = tuple[int, int]
"""A window: family of its communicator, and its number there."""

Interval = tuple[int, int]
"""First address, and the one behind the last."""

__all__ = ["CREATE", "expose", "united"]


def expose(trace: Trace, rank: RankReplay, whatif: WhatIf) -> None:
    """Make the memory of this rank's dynamic windows, and learn where that of the others is.

    All ranks call it.

    Raises:
        ReplayError: an access is outside all memory, or a window would expose more than the machine has.
    """
    accesses = all_gathered(rank.mpi, list(_accesses(trace, rank, whatif)))
    wanted: dict[Key, list[Interval]] = {}
    for family, win, target, low, high in (access for of_rank in accesses for access in of_rank):
        if target == rank.mpi.rank:
            wanted.setdefault((family, win), []).append((low, high))
    places = [(*key, *_attached(rank, key, intervals)) for key, intervals in wanted.items()]
    for target, of_rank in enumerate(all_gathered(rank.mpi, places)):
        for family, win, starts, addresses in of_rank:
            rank.exposed.setdefault((family, win), {})[target] = Exposed(starts, addresses)


def _accesses(trace: Trace, rank: RankReplay, whatif: WhatIf) -> Iterator[tuple[int, int, int, int, int]]:
    """Family and number of the window, world rank of the target, and the addresses of each different call."""
    dynamic: set[Key] = set()
    seen: set[Any] = set()
    for call in trace.walk(rank.mpi.rank):
        if call.op == CREATE:
            dynamic.add((call.comm.family, call["win"]))
        elif "target_disp" not in call or (call.place, call.values) in seen:
            continue
        elif (key := (call.comm.family, call["win"])) in dynamic and call["target_rank"] >= 0:
            seen.add((call.place, call.values))
            event = whatif.view(call)
            built = rank.type(event.get("target_datatype") or event["datatype"])
            before, nbytes = built.span(0, event.get("target_count", 1))
            if nbytes:
                low, target = call["target_disp"] - before, call["target_rank"]
                if target >= len(call.comm.members) or not 0 <= low <= low + nbytes <= MAX_ADDRESS:
                    raise ReplayError(
                        f"rank {rank.mpi.rank}: {call.op} on a dynamic window reaches {nbytes:,} bytes at "
                        f"address {low:,} of its rank {target}, which no run can have"
                    )
                yield *key, call.comm.members[target], low, low + nbytes


def _attached(rank: RankReplay, key: Key, intervals: Iterable[Interval]) -> tuple[list[int], list[int]]:
    """Make memory for intervals; return where each of the united ones starts, and its address here."""
    attached = united(intervals)
    room = sum(high - low + 2 * ALIGNMENT for low, high in attached)
    memory = rank.attached[key] = rank.buffers.incoming(room, "a dynamic window")
    at, addresses = rank.mpi.address(memory), []
    for low, high in attached:
        at += (low - at) % ALIGNMENT
        addresses.append(at)
        at += high - low
    return [low for low, _ in attached], addresses


def united(intervals: Iterable[Interval]) -> Sequence[Interval]:
    """The union of intervals, with the gaps of up to MAX_GAP_NBYTES, in order."""
    result: list[Interval] = []
    for low, high in sorted(intervals):
        if result and low <= result[-1][1] + MAX_GAP_NBYTES:
            result[-1] = result[-1][0], max(result[-1][1], high)
        else:
            result.append((low, high))
    return result
