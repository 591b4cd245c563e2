"""Members of the communicators of a DUMPI trace, which numbers them on each rank.

MPI makes a communicator on all ranks of its parent: the n-th such call of a parent is the same on all of
them. So the ranks are followed together: each goes on until it makes a communicator that other members of
the parent have not made yet. Ranks keep their order in MPI_Cart_create and MPI_Graph_create.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from scalatrace.convert.dumpi.reader import DumpiCall

__all__ = ["MAKING", "RELEVANT", "CommunicatorError", "DumpiComm", "MadeComm", "follow_communicators"]

COMM_NULL, COMM_WORLD, COMM_SELF = 1, 2, 3
_GROUP_NULL, _GROUP_EMPTY = 1, 2

MAKING = frozenset({"Comm_dup", "Comm_create", "Comm_split", "Cart_create", "Cart_sub", "Graph_create"})
"""Calls that make a communicator of a parent."""

UNSUPPORTED = frozenset({
    "Intercomm_create", "Intercomm_merge", "Comm_spawn", "Comm_spawn_multiple", "Comm_accept", "Comm_connect",
    "Comm_join",
})  # fmt: skip
"""Calls that make communicators with ranks of two groups."""

_GROUPS = frozenset({
    "Comm_group", "Group_union", "Group_intersection", "Group_difference", "Group_incl", "Group_excl",
    "Group_range_incl", "Group_range_excl",
})  # fmt: skip

RELEVANT = MAKING | UNSUPPORTED | _GROUPS
"""Calls that decide about members."""


@dataclass(frozen=True, slots=True, eq=False)
class DumpiComm:
    """A communicator, one object for all its members: world ranks, and how it was made.

    Attributes:
        ordinal: number of the call on the parent that made it.
        dims: of a Cartesian communicator.
    """

    kind: str
    members: tuple[int, ...]
    parent: DumpiComm | None = None
    ordinal: int = 0
    dims: tuple[int, ...] = ()


class MadeComm(NamedTuple):
    """What a call makes: the communicator, None where the rank is not in it; and the group that it names."""

    comm: DumpiComm | None
    group: tuple[int, ...]


class CommunicatorError(Exception):
    """A call that makes a communicator cannot be followed: rank, call and reason."""

    def __init__(self, rank: int, call: DumpiCall, reason: str) -> None:
        super().__init__(reason)
        self.rank, self.call = rank, call


def follow_communicators(calls: list[list[DumpiCall]]) -> list[list[MadeComm]]:
    """Return the communicators that each rank makes, in order.

    Args:
        calls: of each rank, those of `RELEVANT`.

    Raises:
        CommunicatorError: of the first call that cannot be followed.
    """
    return _MakingRanks(calls).run()


class _RankGroups:
    """Communicators and groups of one rank by their numbers."""

    def __init__(self, rank: int, world: DumpiComm, calls: list[DumpiCall]) -> None:
        self.rank, self.calls, self.at = rank, calls, 0
        self.comms: dict[int, DumpiComm | None] = {
            COMM_NULL: None, COMM_WORLD: world, COMM_SELF: DumpiComm("self", (rank,)),
        }  # fmt: skip
        self.groups: dict[int, tuple[int, ...]] = {_GROUP_NULL: (), _GROUP_EMPTY: ()}
        self.result: list[MadeComm] = []
        self.made: dict[DumpiComm, int] = {}

    def comm(self, call: DumpiCall) -> DumpiComm:
        comm = self.comms.get(call.arguments["comm"])
        if comm is None:
            raise CommunicatorError(
                self.rank, call, f"no call made its communicator {call.arguments['comm']}"
            )
        return comm

    def group(self, call: DumpiCall, name: str) -> tuple[int, ...]:
        number = call.arguments[name]
        if number not in self.groups:
            raise CommunicatorError(self.rank, call, f"no call made its group {number}")
        return self.groups[number]

    def follow_group(self, call: DumpiCall) -> None:
        """Note the group that a call makes."""
        arguments = call.arguments
        if call.name == "Comm_group":
            self.groups[arguments["group"]] = self.comm(call).members
            return
        if "group1" in arguments:
            first, second = self.group(call, "group1"), self.group(call, "group2")
            if call.name == "Group_union":
                members = first + tuple(rank for rank in second if rank not in first)
            else:
                wanted = call.name == "Group_intersection"
                members = tuple(rank for rank in first if (rank in second) == wanted)
        else:
            group = self.group(call, "group")
            ranks = self._listed(call, len(group))
            chosen = set(ranks)
            if "incl" in call.name:
                members = tuple(group[rank] for rank in ranks)
            else:
                members = tuple(member for rank, member in enumerate(group) if rank not in chosen)
        self.groups[arguments["newgroup"]] = members

    def _listed(self, call: DumpiCall, size: int) -> list[int]:
        """Return the ranks that a call names; they are in its group of `size` ranks."""
        ranks: list[int] = list(call.arguments.get("ranks", ()))
        for triple in call.arguments.get("ranges", ()):
            if len(triple) != 3 or not triple[2]:
                reason = f"a range of ranks is {triple}, expected first, last and a stride that is not 0"
                raise CommunicatorError(self.rank, call, reason)
            first, last, stride = triple
            range_ = range(first, last + (1 if stride > 0 else -1), stride)
            ranks += range_[: size + 1]  # longer ones leave the group
        if any(not 0 <= rank < size for rank in ranks):
            raise CommunicatorError(self.rank, call, f"it names a rank that its group of {size} has not")
        return ranks


class _MakingRanks:
    def __init__(self, calls: list[list[DumpiCall]]) -> None:
        world = DumpiComm("world", tuple(range(len(calls))))
        self._ranks = [_RankGroups(rank, world, calls_of_rank) for rank, calls_of_rank in enumerate(calls)]
        self._waiting: dict[tuple[DumpiComm, int], dict[int, DumpiCall]] = {}
        self._active = deque(range(len(calls)))

    def run(self) -> list[list[MadeComm]]:
        while self._active:
            self._advance(self._ranks[self._active.popleft()])
        for (parent, _), calls in self._waiting.items():
            missing = next(rank for rank in parent.members if rank not in calls)
            rank, call = next(iter(calls.items()))
            raise CommunicatorError(
                rank, call, f"rank {missing} is in its communicator and makes no such call"
            )
        return [state.result for state in self._ranks]

    def _advance(self, state: _RankGroups) -> None:
        """Follow a rank until it makes a communicator."""
        while state.at < len(state.calls):
            call = state.calls[state.at]
            state.at += 1
            if call.name in UNSUPPORTED:
                raise CommunicatorError(state.rank, call, "communicators of two groups are not converted")
            if call.name in _GROUPS:
                state.follow_group(call)
                continue
            parent = state.comm(call)
            ordinal = state.made.get(parent, 0)
            state.made[parent] = ordinal + 1
            calls = self._waiting.setdefault((parent, ordinal), {})
            calls[state.rank] = call
            if len(calls) == len(parent.members):
                del self._waiting[parent, ordinal]
                self._make(parent, ordinal, calls)
            return

    def _make(self, parent: DumpiComm, ordinal: int, calls: dict[int, DumpiCall]) -> None:
        comms: dict[tuple[int, ...], DumpiComm] = {}
        groups = self._groups_of(parent, calls)
        for rank in parent.members:
            state, call, comm = self._ranks[rank], calls[rank], None
            if call.arguments["newcomm"] != COMM_NULL:
                members, dims = groups[rank]
                if rank not in members:
                    reason = "the rank is not a member of the communicator that it gets"
                    raise CommunicatorError(rank, call, reason)
                kind = call.name.removeprefix("Comm_").removesuffix("_create").lower()
                comm = comms.setdefault(members, DumpiComm(kind, members, parent, ordinal, dims))
            group = self._group_of(parent, state, call)
            state.result.append(MadeComm(comm, group))
            state.comms[call.arguments["newcomm"]] = comm
            self._active.append(rank)

    @staticmethod
    def _group_of(parent: DumpiComm, state: _RankGroups, call: DumpiCall) -> tuple[int, ...]:
        """Return the ranks of the parent that a call of MPI_Comm_create names; () of other calls."""
        if call.name != "Comm_create":
            return ()
        positions = {member: position for position, member in enumerate(parent.members)}
        members = state.group(call, "group")
        if not positions.keys() >= set(members):
            raise CommunicatorError(state.rank, call, "its group has ranks that its communicator has not")
        return tuple(positions[member] for member in members)

    def _groups_of(self, parent: DumpiComm, calls: dict[int, DumpiCall]) -> dict[int, _Grid]:
        """Return the members, and the dimensions, of the communicator of each rank that makes these calls."""
        rank, call = next(iter(calls.items()))
        for other, theirs in calls.items():
            if theirs.name != call.name:
                raise CommunicatorError(other, theirs, f"rank {rank} calls MPI_{call.name} in its place")
        if call.name == "Comm_create":
            return {
                rank: (self._ranks[rank].group(creation, "group"), ()) for rank, creation in calls.items()
            }
        if call.name == "Comm_split":
            return _split_ranks(parent, calls)
        if call.name == "Cart_sub":
            return _divide_grid(parent, rank, call)
        dims: tuple[int, ...] = tuple(call.arguments.get("dims", parent.dims))
        count = {"Comm_dup": len(parent.members), "Cart_create": prod(dims)}.get(call.name)
        members = parent.members[: call.arguments["nodes"] if count is None else count]
        return dict.fromkeys(parent.members, (members, dims))


_Grid = tuple[tuple[int, ...], tuple[int, ...]]
"""Members of a communicator, and the dimensions of its grid or ()."""


def _split_ranks(parent: DumpiComm, calls: dict[int, DumpiCall]) -> dict[int, _Grid]:
    """Divide the ranks by their colors, in the order of their keys and then of the parent."""
    by_color: dict[int, list[int]] = {}
    for rank in parent.members:
        by_color.setdefault(calls[rank].arguments["color"], []).append(rank)
    result: dict[int, _Grid] = {}
    for ranks in by_color.values():
        members = tuple(sorted(ranks, key=lambda rank: calls[rank].arguments["key"]))
        result |= dict.fromkeys(ranks, (members, ()))
    return result


def _divide_grid(parent: DumpiComm, rank: int, call: DumpiCall) -> dict[int, _Grid]:
    """Divide a grid into those of the dimensions that remain."""
    keeps = [bool(flag) for flag in call.arguments["remain_dims"]]
    if len(keeps) != len(parent.dims) or prod(parent.dims) != len(parent.members):
        raise CommunicatorError(rank, call, "its communicator is no grid of these dimensions")
    by_place: dict[tuple[int, ...], list[int]] = {}
    for place, member in enumerate(parent.members):
        fixed = []
        for extent, keep in zip(reversed(parent.dims), reversed(keeps), strict=True):
            if not keep:
                fixed.append(place % extent)
            place //= extent
        by_place.setdefault(tuple(fixed), []).append(member)
    dims = tuple(extent for extent, keep in zip(parent.dims, keeps, strict=True) if keep)
    return {member: (tuple(group), dims) for group in by_place.values() for member in group}
