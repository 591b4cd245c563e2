"""Check that values and times of a trace are within 64 bits, and peers and arrays within their communicators.

Value vectors are checked by their ends, in time that depends on the size of the file. A peer depends on the
rank of its caller: the first and the last caller come first. Only where these may leave the communicator,
peers of single ranks are decoded.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from scalatrace.trace.io.members import check_array
from scalatrace.trace.model.callsite import short_frame
from scalatrace.trace.model.elastic import Elastic, Formulas, Groups, Summary, Value, at, vecs
from scalatrace.trace.model.nodes import Event, Peer
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import TIMES, Kind
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.specials import separate_specials
from scalatrace.trace.values.vec import INT64, SPECIAL_MAX, Vec

__all__ = ["Path", "Ranges"]

WORLD = 0

MAX_TIME_NS = 1 << 63
"""292 years."""

MAX_DECODED_RANKS = 1 << 12
"""Ranks of one trace whose peers are decoded here; commands refuse wrong peers of further ranks."""

MAX_DECODED_VALUES = 1 << 8
"""Peers of a rank that are decoded one by one, where not only the smallest and largest one count."""

Path = tuple[Elastic, ...]
"""Repeats of the nodes around an event, the outermost first, and its own."""


class Ranges:
    """The checks of one trace. Methods raise ValueError, which names event, parameter, rank and value."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        if any(stat.name in TIMES and stat.resolution <= 0 for stat in trace.stats):
            raise ValueError("the resolution of a time is not above 0")
        self._times = [
            (i, stat.name, MAX_TIME_NS / stat.resolution)
            for i, stat in enumerate(trace.stats)
            if stat.name in TIMES
        ]
        self._left = MAX_DECODED_RANKS
        self._sizes: dict[int, tuple[int, bool]] = {}
        self._decoded: set[tuple[int | None, Encoding, Value, Path]] = set()

    def check_tables(self) -> None:
        """Check the elements of arrays."""
        for i, array in enumerate(self._trace.arrays):
            reached = list(array.vec.ends(array.length))
            if array.summed and any(end * array.length not in INT64 for end in reached):
                reached = list(array.values)  # only a few of the sums may be that large
            for value in reached:
                if value not in INT64:
                    raise ValueError(f"array {i} reaches {value}, more than 64 bits hold")

    def check(self, event: Event, path: Path) -> None:
        """Check the values and times of an event node."""
        self.check_repeat(event.repeat)
        for (name, kind), param in zip(self._trace.ops[event.op].params, event.params, strict=True):
            value, encoding = param, Encoding.ABSOLUTE
            if isinstance(param, Peer):
                value, encoding = param.value, param.encoding
            assert not isinstance(value, Peer)
            is_constant = type(value) is Vec and type(value.terms) is int
            if not is_constant and (far := _beyond_64_bits(value)) is not None:
                raise ValueError(f"{self._parameter(event, name)} reaches {far}, more than 64 bits hold")
            if kind is Kind.PEER or (name == "root" and kind is Kind.INT):
                self._check_peer(event, name, value, encoding, path)
            if kind is Kind.ARRAY:
                self._check_arrays(event, name, value)
        for stats in event.stats:
            for i, stat, limit in self._times:
                h = stats.histograms[i]
                if h is not None and not (h.min >= 0 and h.max < limit and h.mean < limit):
                    described = f"{stat} of {h.min if h.min < 0 else max(h.max, h.mean):.4g}"
                    raise ValueError(f"{self._name(event)} has {described}, not between 0 and 2^63 ns")

    def check_repeat(self, repeat: Elastic) -> None:
        """Check the trip counts of a node."""
        if (far := _beyond_64_bits(repeat)) is not None:
            raise ValueError(f"the repeat of a node reaches {far}, more than 64 bits hold")

    def _name(self, event: Event) -> str:
        stack = self._trace.stack(event.signature)
        return self._trace.ops[event.op].name + (f" at {short_frame(stack[0])}" if stack else "")

    def _parameter(self, event: Event, name: str) -> str:
        return f"parameter {name!r} of {self._name(event)}"

    def _check_peer(self, event: Event, name: str, value: Value, encoding: Encoding, path: Path) -> None:
        if isinstance(value, Formulas | Summary) or encoding is Encoding.MODULO:
            return
        families = self._families(event)
        if isinstance(families, int) and families < 0:
            return  # not recorded
        if self._fit(value, encoding, families, path):
            return
        key = (None if isinstance(families, Value) else families, encoding, value, path)
        if key[0] is not None and key in self._decoded:
            return
        self._decoded.add(key)
        for rank in self._callers(path):
            vec, count = at(value, rank), _executions(path, rank)
            if vec is None or not count:
                continue
            for own_rank, size, stored in self._stored_peers(families, rank, vec, encoding, count):
                peer = encoding.decode(stored, own_rank, size)
                if stored >= SPECIAL_MAX and size and not 0 <= peer < size:
                    raise ValueError(
                        f"{self._parameter(event, name)} is {peer} on rank {rank}, "
                        f"whose communicator has the ranks 0 to {size - 1}"
                    )

    def _check_arrays(self, event: Event, name: str, value: Value) -> None:
        families = self._families(event)
        size = self._most_members(families) if isinstance(families, int) else self._trace.nprocs
        for index in {index for vec in vecs(value) for index in (*_first(vec), *vec.ends())}:
            if index >= 0:
                try:
                    check_array(self._trace.ops[event.op].name, name, self._trace.arrays[index], size)
                except ValueError as error:
                    raise ValueError(f"{self._parameter(event, name)} {error}") from None

    def _most_members(self, family: int) -> int:
        """Return the most ranks that one communicator of a family has, or its remote group."""
        entry = self._trace.comms[family] if family >= 0 else None
        if entry is None or entry.sizes.terms == ():
            return 1 if entry is not None and entry.kind == "self" else self._trace.nprocs  # not known
        if entry.kind == "self":
            return 1
        return max(sizes.largest() or 1 for sizes in (entry.sizes, entry.remote_sizes) if sizes is not None)

    def _families(self, event: Event) -> int | Value:
        """Return the family of an event's communicator; the value of the parameter where calls differ."""
        where = self._trace.ops[event.op].position(Kind.COMM)
        if where is None:
            return WORLD
        value = event.params[where]
        assert not isinstance(value, Peer)
        return value.terms if isinstance(value, Vec) and isinstance(value.terms, int) else value

    def _fit(self, value: Value, encoding: Encoding, families: int | Value, path: Path) -> bool:
        """Return whether no rank can leave its communicator; False where this is not certain."""
        if not isinstance(families, int):
            return False
        size, in_order = self._least_size(families)
        if encoding is Encoding.XOR and size & (size - 1):
            return False  # in a power of two, it leads from rank to rank
        for ranks, vec in value.groups if isinstance(value, Groups) else [(None, vec) for vec in vecs(value)]:
            if not isinstance(vec.terms, int) and vec.length is None and vec.terms[-1][1]:
                return False  # it goes on without end
            ends = separate_specials(vec).ends()
            if not ends:
                continue
            low, high = ends
            if encoding is Encoding.RELATIVE:
                if not in_order:
                    return False
                first, last = _outermost(ranks) if ranks else self._callers_of(value, path)
                low, high = low + first, high + last
            if low < 0 or high >= size:
                return False
        return True

    def _callers_of(self, value: Value, path: Path) -> tuple[int, int]:
        """Return bounds of the ranks that make a call with this value."""
        first, last = _outermost(self._trace.ranks)
        for named in (value, *path):
            if isinstance(named, Groups):
                first = max(first, named.groups[0][0].first)
                last = min(last, max(_outermost(ranks)[1] for ranks, _ in named.groups))
            elif not isinstance(named, Vec | Summary) and len(named.ranks):
                ends = _outermost(named.ranks)
                first, last = max(first, ends[0]), min(last, ends[1])
        return first, last

    def _least_size(self, family: int) -> tuple[int, bool]:
        """Return the least number of ranks that a peer may name, and whether they are those of the run."""
        if family not in self._sizes:
            entry, world = self._trace.comms[family], self._trace.comms[WORLD]
            sizes = entry.sizes if entry.remote_sizes is None else entry.remote_sizes
            is_self = entry.kind == "self" and entry.members.terms == ()
            in_order = (entry.members, entry.sizes) == (world.members, world.sizes)
            least = 1 if is_self else sizes.smallest() or 0
            self._sizes[family] = least, in_order and entry.remote_sizes is None
        return self._sizes[family]

    def _callers(self, path: Path) -> Iterator[int]:
        """Yield ranks that may take part in all nodes of a path, as long as there are not too many."""
        named = min(
            (repeat for repeat in path if not isinstance(repeat, Vec)),
            key=lambda repeat: len(repeat.ranks),
            default=None,
        )
        for rank in self._trace.ranks if named is None else named.ranks:
            if self._left <= 0:
                return
            self._left -= 1
            yield rank

    def _stored_peers(
        self, families: int | Value, rank: int, vec: Vec, encoding: Encoding, count: int
    ) -> Iterator[tuple[int, int, int]]:
        """Yield own rank, size and stored peers of a rank: the smallest and largest, or the first ones."""
        if isinstance(families, int):
            comm = self._trace.communicator(families, rank)
            ends = encoding is not Encoding.XOR
            stored = separate_specials(vec, count).ends(count) if ends else _first(vec, count)
            yield from ((comm.rank, len(comm.peers), peer) for peer in stored)
            return
        numbers = at(families, rank)
        for peer, family in zip(_first(vec, count), _first(numbers, count) if numbers else (), strict=False):
            if family >= 0:
                comm = self._trace.communicator(family, rank)
                yield comm.rank, len(comm.peers), peer


def _beyond_64_bits(value: Value) -> int | None:
    """Return a value that 64 bits do not hold; None if there is none."""
    if isinstance(value, Vec):  # nearly all are
        return value.beyond(INT64)
    if isinstance(value, Summary):
        return None if value.typical in INT64 else value.typical
    for vec in vecs(value):
        if (far := vec.beyond(INT64)) is not None:
            return far
    return None


def _outermost(ranks: RankList) -> tuple[int, int]:
    return ranks.first, ranks.runs[-1][1] - 1


def _executions(path: Path, rank: int) -> int:
    """Return how often a rank executes an event."""
    count = 1
    for repeat in path:
        vec = at(repeat, rank)
        if vec is None or not count:
            return 0
        count = vec.total(count)
    return count


def _first(vec: Vec, count: int = MAX_DECODED_VALUES) -> tuple[int, ...]:
    return tuple(islice(vec, min(count, MAX_DECODED_VALUES)))
