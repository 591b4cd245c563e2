"""Table entries that events refer to: operations, statistics, communicators, datatypes, arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import accumulate, islice

from scalatrace.errors import FormatError
from scalatrace.trace.values.vec import UNDEFINED, Vec

__all__ = [
    "MAX_RESOLUTION",
    "TIMES",
    "Communicator",
    "Datatype",
    "Family",
    "IntArray",
    "Kind",
    "LargeLayout",
    "Layout",
    "Op",
    "RecordedStat",
    "SharedKind",
    "UseName",
    "is_resolution",
    "layout_of",
]


MAX_RESOLUTION = 1e30
"""Of a statistic: no sum of its values is infinite."""


def is_resolution(value: object) -> bool:
    """Return whether a value from a file can be the resolution of a statistic."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= MAX_RESOLUTION


class Kind(IntEnum):
    """Kind of a parameter, which decides the meaning of its stored integer."""

    INT = 0
    PEER = 1  # rank in the event's communicator, or a special value
    COMM = 2  # index into Trace.comms
    TYPE = 3  # index into Trace.types
    STRING = 4  # index into Trace.strings
    ARRAY = 5  # index into Trace.arrays


class SharedKind(IntEnum):
    """Kind of an object that several threads of a rank use in an order."""

    REQUEST = 0  # a persistent one
    WINDOW = 1
    FILE = 2


UseName = tuple[SharedKind, int]
"""Kind, and the thread that made the requests, or the communicator of the windows or files."""


@dataclass(frozen=True, slots=True)
class Op:
    """An operation's name, without `MPI_`, and its parameters in the order of an event's values."""

    name: str
    params: tuple[tuple[str, Kind], ...]

    def position(self, kind: Kind) -> int | None:
        """Return the position of the first parameter of a kind."""
        return next((i for i, (_, k) in enumerate(self.params) if k is kind), None)

    def index(self, name: str) -> int | None:
        """Return the position of the parameter of a name."""
        return next((i for i, (n, _) in enumerate(self.params) if n == name), None)


@dataclass(frozen=True, slots=True)
class RecordedStat:
    """A statistic: a stored integer times `resolution` is the value."""

    name: str
    resolution: float


TIMES = frozenset({"compute_ns", "comm_ns"})
"""The statistics that every trace has: times before and in calls."""


@dataclass(frozen=True, slots=True)
class Datatype:
    """A datatype: description (a predefined name or a constructor expression), size and extent in bytes."""

    description: str
    size: int
    extent: int


@dataclass(frozen=True, slots=True)
class IntArray:
    """An array parameter: the first `length` values a, b, c, ... of `vec`; or 0, a, a+b, ... if `summed`.

    In a `relative` one these values begin at the element of the caller's own rank in the call's communicator
    and go round, so a halo exchange over Alltoallv has one array on all ranks.
    """

    length: int
    vec: Vec
    summed: bool = False
    relative: bool = False

    @property
    def values(self) -> tuple[int, ...]:
        """The array itself; of a relative one, rank 0's."""
        return self.of(0)

    def of(self, rank: int) -> tuple[int, ...]:
        """Return the array of a caller with this rank in the call's communicator."""
        listed = self.vec.first(self.length)
        if self.relative and self.length:
            first = -rank % self.length
            listed = listed[first:] + listed[:first]
        return (0, *accumulate(listed[:-1])) if self.summed and self.length else listed

    def first(self, n: int) -> tuple[int, ...]:
        """Return at most the first n values; of a relative array, those of rank 0."""
        return IntArray(min(n, self.length), self.vec, self.summed).of(0)

    def sums(self) -> IntArray:
        """Return the array of prefix sums: the displacements of pieces with such counts."""
        return IntArray(self.length, self.vec, True, self.relative)


@dataclass(frozen=True, slots=True)
class Communicator:
    """The communicator of a family that one rank is in.

    Attributes:
        family: index into Trace.comms.
        kind: "world", "self", "null", "dup", "split", "cart", ...
        members: world ranks in communicator order (a range where there are very many), UNDEFINED for a
            process of another world (MPI_Comm_spawn, MPI_Comm_connect); an intercommunicator's local group.
        rank: the walking rank's own rank in it; -1 in MPI_COMM_NULL.
        remote: world ranks of the remote group; None when this is no intercommunicator.
    """

    family: int
    kind: str
    members: Sequence[int]
    rank: int
    remote: Sequence[int] | None = None

    @property
    def size(self) -> int:
        """Size of the (local) group."""
        return len(self.members)

    @property
    def peers(self) -> Sequence[int]:
        """World ranks that a peer parameter counts: the remote group of an intercommunicator."""
        return self.members if self.remote is None else self.remote

    def world(self, peer: int) -> int:
        """Return a peer's world rank, UNDEFINED in another world. Raises FormatError for an invalid peer."""
        if not 0 <= peer < len(self.peers):
            raise FormatError(
                f"a call names rank {peer} of a communicator of {len(self.peers)} (family {self.family})"
            )
        return self.peers[peer]


@dataclass(frozen=True, slots=True)
class Family:
    """All communicators made by one collective call, e.g. every row of a Comm_split.

    Attributes:
        kind: how they were made.
        parent: index of the family they were made from; -1 for none.
        sizes: sizes of the instances, ordered by their first member's world rank (of this world).
        members: world ranks of the first instance in communicator order, then of the second, ...;
            UNDEFINED: a process of another world.
        remote_sizes, remote_members: the same of the remote groups of intercommunicators, else None.
    """

    kind: str
    parent: int
    sizes: Vec
    members: Vec
    remote_sizes: Vec | None = None
    remote_members: Vec | None = None


MIN_LARGE_MEMBERS = 1 << 14
"""Members of a family from which on instances of equal size are not expanded."""


class LargeLayout:
    """The instances of a family of many ranks, looked up in its vecs on demand."""

    __slots__ = ("_members", "_size", "_total")

    def __init__(self, members: Vec, size: int, total: int) -> None:
        self._members, self._size, self._total = members, size, total

    remote: list[tuple[int, ...]] | None = None

    @property
    def sizes(self) -> list[int]:
        """The number of members of each instance."""
        return [self._size] * (self._total // self._size)

    @property
    def groups(self) -> list[tuple[int, ...]]:
        """The members of each instance."""
        listed = self._members.first(self._total)
        return [listed[i : i + self._size] for i in range(0, self._total, self._size)]

    def of(self, rank: int) -> tuple[Sequence[int], int, None] | None:
        """Return members and own position of a rank's communicator; None if it is in none."""
        at = self._members.find(rank)
        if at is None or at >= self._total:
            return None
        instance, position = divmod(at, self._size)
        return self._members.part(instance * self._size, (instance + 1) * self._size), position, None


def layout_of(family: Family, nprocs: int) -> Layout | LargeLayout:
    """Return the instances of a family. Raises ValueError if its description contradicts itself."""
    total, size = family.members.length, family.sizes.constant
    if total is None or total < MIN_LARGE_MEMBERS or size is None or family.remote_members is not None:
        return Layout(family, nprocs)
    low, high = family.members.smallest(), family.members.largest()
    if low is None or high is None or low < 0 or high >= nprocs or size < 1 or total % size or total > nprocs:
        return Layout(family, nprocs)  # which says what is wrong, if anything
    return LargeLayout(family.members, size, total)


class Layout:
    """The instances of a family, expanded: the instance and position of each rank."""

    __slots__ = ("_where", "groups", "remote")

    def __init__(self, family: Family, nprocs: int) -> None:
        """Check the instances. Raises ValueError if sizes and members disagree or a rank is in two."""
        self.groups = _cut(family.sizes, family.members, nprocs)
        self.remote: list[tuple[int, ...]] | None = None
        if family.remote_sizes is not None and family.remote_members is not None:
            self.remote = _cut(family.remote_sizes, family.remote_members, nprocs)
            if len(self.remote) != len(self.groups):
                raise ValueError("a family has not as many remote groups as groups")
        self._where = {
            rank: (i, position)
            for i, group in enumerate(self.groups)
            for position, rank in enumerate(group)
            if rank != UNDEFINED
        }
        if len(self._where) != sum(rank != UNDEFINED for group in self.groups for rank in group):
            raise ValueError("a rank is in two communicators of one family")

    @property
    def sizes(self) -> list[int]:
        """The number of members of each instance."""
        return [len(group) for group in self.groups]

    def of(self, rank: int) -> tuple[Sequence[int], int, Sequence[int] | None] | None:
        """Return members, own position and remote members of a rank's communicator; None if it is in none."""
        if (position_of_rank := self._where.get(rank)) is None:
            return None
        instance, position = position_of_rank
        return self.groups[instance], position, self.remote[instance] if self.remote is not None else None


def _cut(sizes: Vec, members: Vec, nprocs: int) -> list[tuple[int, ...]]:
    """Split the members into instances; a lone int is a single member."""
    ranks = (members.constant,) if members.constant is not None else members.first(members.length or 0)
    if any(not 0 <= rank < nprocs and rank != UNDEFINED for rank in ranks):
        raise ValueError("a communicator has a member that is not a rank of the run")
    groups, remaining, sizes_left = [], iter(ranks), iter(sizes)
    remaining_count = len(ranks)
    while remaining_count:
        size = next(sizes_left, 0)
        if not 0 < size <= remaining_count:
            raise ValueError("the sizes of a family do not add up to its members")
        groups.append(tuple(islice(remaining, size)))
        remaining_count -= size
    return groups
