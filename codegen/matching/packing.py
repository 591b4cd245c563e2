"""Elastic values from what each rank had: as few groups and terms as a plain search finds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from codegen.matching.mailbox import Repeated, Slot
from scalatrace.trace import elastic
from scalatrace.trace.compress import compress
from scalatrace.trace.elastic import Columns, Elastic, Groups
from scalatrace.trace.nodes import Encoding, Peer
from scalatrace.trace.ranklist import RankList
from scalatrace.trace.values import Vec

__all__ = ["gathered", "pack_peers", "pack_tags", "row"]

Row = tuple[Any, ...]
"""Values, and terms (count, 0, value, ...) for what is repeated; not compressed yet."""
Items = Sequence[Slot | Repeated]


def row(items: Iterable[Slot | Repeated], value: Callable[[Slot], int]) -> Row:
    """The values of slots. What is repeated swallows what it repeats before it."""
    found: list[Any] = []
    for item in items:
        if isinstance(item, Slot):
            found.append(value(item))
            continue
        inner, times = list(row(item.slots, value)), item.times
        while inner and found[-len(inner) :] == inner:
            del found[-len(inner) :]
            times += 1
        found.append((times, 0, *inner))
    return tuple(found)


def gathered(rows: Mapping[int, Row]) -> Elastic:
    """The elastic value in which each rank has these values; one row is compressed once, whoever has it."""
    by_row: dict[Row, list[int]] = {}
    for rank in sorted(rows):
        by_row.setdefault(rows[rank], []).append(rank)
    vecs = {values: _vec(values) for values in by_row}
    ranks_of: dict[Vec, list[int]] = {}
    for values, ranks in by_row.items():
        ranks_of.setdefault(vecs[values], []).extend(ranks)
    if len(ranks_of) == 1:
        return next(iter(ranks_of))
    found = sorted(
        ((RankList(ranks), vec) for vec, ranks in ranks_of.items()), key=lambda pair: pair[0].first
    )
    groups = Groups(found)
    if any(vec.constant is None for vec in ranks_of):
        return groups
    values = compress(vecs[rows[rank]].terms for rank in sorted(rows))  # type: ignore[misc]
    columns = Columns(RankList(rows), Vec(values))
    return columns if len(str(elastic.encode(columns))) < len(str(elastic.encode(groups))) else groups


def _vec(values: Row) -> Vec:
    constants = _constants(values)
    return Vec(constants.pop()) if len(constants) == 1 else Vec(compress(values))


def _constants(values: Row) -> set[int]:
    found: set[int] = set()
    for value in values:
        found |= {value} if isinstance(value, int) else _constants(value[2:])
    return found


def pack_tags(items: Mapping[int, Items]) -> Elastic:
    """The tags that the ranks' receives have in the end."""
    return gathered({rank: row(slots, lambda slot: slot.tag) for rank, slots in items.items()})


def pack_peers(items: Mapping[int, Items]) -> Peer:
    """Their senders, in the encoding in which the ranks differ least."""
    best: tuple[tuple[int, int], Encoding, dict[int, Row]] | None = None
    for encoding in Encoding:
        rows = {rank: row(slots, lambda slot: _encoded(encoding, slot)) for rank, slots in items.items()}  # noqa: B023
        distinct = set(rows.values())
        cost = len(distinct), sum(len(_constants(values)) for values in distinct)
        if best is None or cost < best[0]:
            best = cost, encoding, rows
    assert best is not None
    return Peer(best[1], gathered(best[2]))


def _encoded(encoding: Encoding, slot: Slot) -> int:
    if slot.scope is None:
        return slot.peer
    return encoding.encode(slot.peer, slot.scope.comm.rank, max(len(slot.scope.comm.peers), 1))
