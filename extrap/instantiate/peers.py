"""Check that the peers of an instantiated trace are members of their communicators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scalatrace.extrap.errors import ExtrapolationError
from scalatrace.extrap.grid.communicators import slices
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.symbolic import FamilyRule
from scalatrace.trace.symbolic.grid import Grid
from scalatrace.trace.values.vec import SPECIAL_MAX, Vec

Ints = np.ndarray[Any, np.dtype[np.int64]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]

__all__ = ["Places"]


class Places:
    """Places of all ranks in the communicators that are slices of a grid."""

    def __init__(self, families: Sequence[FamilyRule], grid: Grid) -> None:
        self.families, self.grid = families, grid
        self._known: dict[tuple[int, ...], tuple[Ints, int]] = {}

    def check(self, what: str, family: int, encoding: Encoding, value: Any, ranks: Mask | Ints) -> None:
        """Raise ExtrapolationError when one of these ranks would have a peer that its communicator has not.

        Args:
            what: the call, for the message.
            family: the communicator.
            encoding: of the peers.
            value: for all of the ranks a vec, or its least and greatest value; or an array over all ranks of
                the grid.
            ranks: those that have the peers, as a mask or one by one.
        """
        if not 0 <= family < len(self.families):
            return
        axes = self.families[family].slices
        if axes is None:
            return  # its members follow formulas of their own
        places, size = self._of(axes)
        own, members = places[ranks], np.flatnonzero(ranks) if ranks.dtype == bool else ranks
        for stored in _extremes(value, ranks, encoding):
            peers = _decoded(encoding, stored, own)
            wrong = np.broadcast_to(((peers < 0) | (peers >= size)) & (stored > SPECIAL_MAX), own.shape)
            if wrong.any():
                at = int(np.argmax(wrong))
                raise ExtrapolationError(
                    f"{what}: rank {members[at]} of {self.grid} would have the peer "
                    f"{np.broadcast_to(peers, own.shape)[at]} in a communicator of {size}: the formula does "
                    f"not reach so far; more traces, or such of other shapes, would tell"
                )

    def decoder(self, family: int, rank: int) -> Callable[[Encoding, int], int] | None:
        """Return the decoder of a rank's peers in a communicator; None if it is not a slice of the grid."""
        if not 0 <= family < len(self.families) or (axes := self.families[family].slices) is None:
            return None
        places, size = self._of(axes)
        own = int(places[rank])
        return lambda encoding, value: encoding.decode(value, own, size)

    def _of(self, axes: tuple[int, ...]) -> tuple[Ints, int]:
        if axes not in self._known:
            members, size = slices(self.grid, axes)
            places = np.empty(self.grid.nprocs, dtype=np.int64)
            places[members] = np.arange(self.grid.nprocs) % size
            self._known[axes] = places, size
        return self._known[axes]


def _extremes(value: Any, ranks: Mask | Ints, encoding: Encoding) -> list[Any]:
    """Return the values that decide whether all are valid: all of them, or the least and the greatest."""
    if isinstance(value, np.ndarray):
        return [value[ranks]]
    low, high = (value.smallest(), value.largest()) if isinstance(value, Vec) else value
    if low == high and low is not None:
        return [np.int64(low)]
    if encoding is Encoding.XOR:
        return []
    return [np.int64(end) for end in (low, high) if end is not None]


def _decoded(encoding: Encoding, stored: Any, own: Ints) -> Any:
    match encoding:
        case Encoding.RELATIVE:
            return own + stored
        case Encoding.XOR:
            return own ^ stored
        case _:
            return stored
