"""Values that differ from rank to rank: parts with their ranks, as few as can be, as one expression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scalatrace.codegen.builders.places import RankPlaces
from scalatrace.codegen.builders.sample import Mask
from scalatrace.formula import TRUE, Cond, Const, Special, Value, either, select

__all__ = ["FieldPiece", "join_pieces", "unite_pieces"]


@dataclass(frozen=True, eq=False)
class FieldPiece:
    """Ranks with one expression; `cond` selects them among the ranks at a position."""

    ranks: Mask
    e: Value
    cond: Cond = TRUE


def unite_pieces(places: RankPlaces, pieces: Sequence[FieldPiece]) -> list[FieldPiece]:
    """Pieces of the same value as one: a formula that is right elsewhere too stands there as well."""
    remaining, united = list(pieces), []
    while remaining:
        candidates = list(dict.fromkeys(piece.e for piece in remaining))
        right = {e: [p for p in remaining if places.sample.agree(e, p.e, p.ranks)] for e in candidates}
        best = max(candidates, key=lambda e: (len(right[e]), -_weight(e)))
        ranks = right[best][0].ranks
        for piece in right[best][1:]:
            ranks = ranks | piece.ranks
        united.append(FieldPiece(ranks, best, either(*(piece.cond for piece in right[best]))))
        remaining = [
            piece for piece in remaining if all(piece is not piece_right for piece_right in right[best])
        ]
    return united


def _weight(e: Value) -> int:
    return 0 if isinstance(e, Const | Special) else len(repr(e))


def join_pieces(places: RankPlaces, pieces: Sequence[FieldPiece], universe: Mask) -> Value:
    """The expression that has each piece's value on its ranks."""
    parts = unite_pieces(places, pieces)
    if not parts:
        return Const(0)
    *smaller, last = sorted(parts, key=lambda piece: int(piece.ranks.sum()))
    remaining_ranks, chain = universe, []
    for piece in smaller:
        chain.append((places.cond(piece.ranks, remaining_ranks, piece.cond), piece.e))
        remaining_ranks = remaining_ranks & ~piece.ranks
    e = last.e
    for cond, before in reversed(chain):
        e = select(cond, before, e)
    return e
