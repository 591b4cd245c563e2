"""Addresses and names that differ in each run, exchanged before the replay: dynamic windows and ports.

**Dynamic windows.** Displacements, which are addresses of the recorded run, become addresses of the replay.
Each rank collects the intervals that its calls access in the windows of others. Each target attaches memory
for the union of them. An interval keeps its place within a block of ALIGNMENT bytes, which atomic operations
may need.

**Ports.** For MPI_Comm_accept and MPI_Comm_connect between ranks of one job, the root of the first
MPI_Comm_accept on a port opens one, and all ranks learn its name: in the program, that came in a message or
a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgpack  # type: ignore[import-untyped]

from scalatrace.replay.common.errors import ReplayError
from scalatrace.replay.common.view import AnyCall
from scalatrace.replay.common.whatif import WhatIf
from scalatrace.replay.engine.rank import RankReplay
from scalatrace.replay.engine.windows import Exposed
from scalatrace.replay.transport.base import Transport

__all__ = [
    "ACCEPT_PORT",
    "CREATE_DYNAMIC_WINDOW",
    "DynamicWindows",
    "Ports",
    "exchange_parts",
    "gather_all",
    "unite_intervals",
]

CREATE_DYNAMIC_WINDOW = "Win_create_dynamic"

ALIGNMENT = 64
"""Bytes of a cache line."""

MAX_ADDRESS = (1 << 63) - 1

MAX_GAP_NBYTES = 4096
"""Intervals that are not farther apart are attached as one."""

Key = tuple[int, int]
"""A window: family of its communicator, and its number there."""

Interval = tuple[int, int]
"""First address, and the one behind the last."""


ACCEPT_PORT = "Comm_accept"


class DynamicWindows:
    """The intervals that a rank accesses in dynamic windows, by target and window."""

    def __init__(self, rank: RankReplay, whatif: WhatIf) -> None:
        self.rank, self.whatif = rank, whatif
        self._dynamic: set[Key] = set()
        self._seen: set[Any] = set()
        self._intervals: dict[int, dict[Key, list[Interval]]] = {}

    def see(self, call: AnyCall) -> None:
        """Take note of a call of this rank. Raises ReplayError: an access is outside all memory."""
        if call.op == CREATE_DYNAMIC_WINDOW:
            self._dynamic.add((call.comm.family, call["win"]))
        elif "target_disp" in call and (call.place, call.values) not in self._seen:
            key = call.comm.family, call["win"]
            if key in self._dynamic and call["target_rank"] >= 0:
                self._seen.add((call.place, call.values))
                self._access(call, key)

    def _access(self, call: AnyCall, key: Key) -> None:
        event = self.whatif.view(call)
        built = self.rank.type(event.get("target_datatype") or event["datatype"])
        before, nbytes = built.span(0, event.get("target_count", 1))
        if not nbytes:
            return
        low, target = call["target_disp"] - before, call["target_rank"]
        if target >= len(call.comm.members) or not 0 <= low <= low + nbytes <= MAX_ADDRESS:
            raise ReplayError(
                f"rank {self.rank.mpi.rank}: {call.op} on a dynamic window reaches {nbytes:,} bytes at "
                f"address {low:,} of its rank {target}, which no run can have"
            )
        of_target = self._intervals.setdefault(call.comm.members[target], {})
        of_target.setdefault(key, []).append((low, low + nbytes))

    def finish(self) -> None:
        """Make the memory of this rank's windows, and learn where that of its targets is.

        Each target receives the intervals that are accessed in its windows, and answers the ranks that
        access them. All ranks call it.

        Raises:
            ReplayError: a window would expose more than the machine has.
        """
        rank, accesses = self.rank, self._intervals
        parts = [
            [(*key, unite_intervals(intervals)) for key, intervals in accesses.get(target, {}).items()]
            for target in range(rank.mpi.size)
        ]
        wanted = exchange_parts(rank.mpi, parts)
        intervals: dict[Key, list[Interval]] = {}
        for of_rank in wanted:
            for family, win, accessed in of_rank:
                intervals.setdefault((family, win), []).extend(accessed)
        places = {key: (*key, *_attach(rank, key, accessed)) for key, accessed in intervals.items()}
        answers = [[places[family, win] for family, win, _ in of_rank] for of_rank in wanted]
        for target, of_target in enumerate(exchange_parts(rank.mpi, answers)):
            for family, win, starts, addresses in of_target:
                rank.exposed.setdefault((family, win), {})[target] = Exposed(starts, addresses)


def _attach(rank: RankReplay, key: Key, intervals: Iterable[Interval]) -> tuple[list[int], list[int]]:
    """Make memory for intervals; return where each of the united ones starts, and its address here."""
    attached = unite_intervals(intervals)
    room = sum(high - low + 2 * ALIGNMENT for low, high in attached)
    memory = rank.attached[key] = rank.buffers.incoming(room, "a dynamic window")
    at, addresses = rank.mpi.address(memory), []
    for low, high in attached:
        at += (low - at) % ALIGNMENT
        addresses.append(at)
        at += high - low
    return [low for low, _ in attached], addresses


def unite_intervals(intervals: Iterable[Interval]) -> Sequence[Interval]:
    """The union of intervals, with the gaps of up to MAX_GAP_NBYTES, in order."""
    result: list[Interval] = []
    for low, high in sorted(intervals):
        if result and low <= result[-1][1] + MAX_GAP_NBYTES:
            result[-1] = result[-1][0], max(result[-1][1], high)
        else:
            result.append((low, high))
    return result


class Ports:
    """The ports on which a rank is the root of an MPI_Comm_accept."""

    def __init__(self, rank: RankReplay) -> None:
        self.rank = rank
        self.names: dict[str, None] = {}

    def see(self, call: AnyCall) -> None:
        """Take note of a call of this rank."""
        if call.op == ACCEPT_PORT and call["root"] == call.comm.rank:
            self.names[call["port_name"]] = None

    def finish(self) -> None:
        """Open the ports on which this rank is the first to accept, and learn those of the others.

        All ranks call it.
        """
        rank, opened = self.rank, dict[str, int]()
        for number, names in enumerate(gather_all(rank.mpi, list(self.names))):
            for name in names:
                opened.setdefault(name, number)
        mine = {name: rank.mpi.open_port() for name, number in opened.items() if number == rank.mpi.rank}
        for of_rank in gather_all(rank.mpi, mine):
            rank.ports |= of_rank


def gather_all(transport: Transport, mine: Any) -> list[Any]:
    """Return on all ranks what each rank gave, by rank; past any tracer.

    Args:
        mine: numbers, texts, lists and dictionaries of them.
    """
    packed = transport.gather(msgpack.packb(mine))
    everything: list[bytes] = msgpack.unpackb(transport.broadcast(msgpack.packb(packed or [])))
    return [msgpack.unpackb(data, strict_map_key=False, use_list=False) for data in everything]


def exchange_parts(transport: Transport, parts: Sequence[Any]) -> list[Any]:
    """Send each rank its part; return what each rank sent to this one; past any tracer.

    Args:
        parts: numbers, texts, lists and dictionaries of them, by rank.
    """
    packed = transport.exchange([msgpack.packb(part) for part in parts])
    return [msgpack.unpackb(data, strict_map_key=False, use_list=False) for data in packed]
