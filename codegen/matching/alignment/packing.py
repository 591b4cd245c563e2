"""Elastic values from what each rank had: as few groups and terms as a plain search finds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scalatrace.trace.model import elastic
from scalatrace.trace.model.elastic import Columns, Elastic, Groups
from scalatrace.trace.model.nodes import Peer
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.values.compress import compress
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec

__all__ = ["PackedRow", "gather_rows", "pack_peers"]

PackedRow = tuple[Any, ...]
"""Values, and terms (count, 0, value, ...) for what is repeated; not compressed yet."""


def gather_rows(rows: Mapping[int, PackedRow]) -> Elastic:
    """The elastic value in which each rank has these values; one row is compressed once, whoever has it."""
    by_row: dict[PackedRow, list[int]] = {}
    for rank in sorted(rows):
        by_row.setdefault(rows[rank], []).append(rank)
    vecs = {values: _vec(values) for values in by_row}
    ranks_of: dict[Vec, list[int]] = {}
    for values, ranks in by_row.items():
        ranks_of.setdefault(vecs[values], []).extend(ranks)
    if len(ranks_of) == 1:
        return next(iter(ranks_of))
    ordered = sorted(
        ((RankList(ranks), vec) for vec, ranks in ranks_of.items()), key=lambda pair: pair[0].first
    )
    groups = Groups(ordered)
    if any(vec.constant is None for vec in ranks_of):
        return groups
    values = compress(vecs[rows[rank]].terms for rank in sorted(rows))  # type: ignore[misc]
    columns = Columns(RankList(rows), Vec(values))
    return columns if len(str(elastic.encode(columns))) < len(str(elastic.encode(groups))) else groups


def _vec(values: PackedRow) -> Vec:
    constants = _constants(values)
    return Vec(constants.pop()) if len(constants) == 1 else Vec(compress(values))


def _constants(values: PackedRow) -> set[int]:
    constants: set[int] = set()
    for value in set(values):
        constants |= {value} if isinstance(value, int) else _constants(value[2:])
    return constants


def pack_peers(rows: Mapping[int, PackedRow], places: Mapping[int, tuple[int, int] | None]) -> Peer:
    """Peers, given as numbers in the communicators, in the encoding in which the ranks differ least.

    `places`: each rank's own number and the communicator's size; None where that is not always the same.
    """
    best: tuple[tuple[int, int], Encoding, dict[int, PackedRow]] | None = None
    for encoding in Encoding if None not in places.values() else (Encoding.ABSOLUTE,):
        encoded = {rank: _encode(encoding, values, places[rank]) for rank, values in rows.items()}
        distinct = set(encoded.values())
        cost = len(distinct), sum(len(_constants(values)) for values in distinct)
        if best is None or cost < best[0]:
            best = cost, encoding, encoded
    assert best is not None
    return Peer(best[1], gather_rows(best[2]))


def _encode(encoding: Encoding, values: PackedRow, place: tuple[int, int] | None) -> PackedRow:
    if encoding is Encoding.ABSOLUTE or place is None:
        return values
    code = {value: encoding.encode(value, *place) for value in _constants(values)}

    def encoded(packed_row: PackedRow) -> PackedRow:
        return tuple(code[v] if isinstance(v, int) else (*v[:2], *encoded(v[2:])) for v in packed_row)

    return encoded(values)
