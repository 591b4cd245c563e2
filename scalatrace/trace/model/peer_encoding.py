"""Encodings of peers: stored value and rank of a peer."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.trace.values.vec import SPECIAL_MAX

__all__ = ["Encoding"]


class Encoding(IntEnum):
    """Encoding of a peer; self and size are those of the event's communicator."""

    ABSOLUTE = 0
    RELATIVE = 1  # peer - self
    MODULO = 2  # (peer - self) mod size
    XOR = 3  # peer ^ self

    def decode(self, value: int, rank: int, size: int) -> int:
        """Return the rank of an encoded peer; special values are unchanged."""
        if value < SPECIAL_MAX or self is Encoding.ABSOLUTE:
            return value
        if self is Encoding.RELATIVE:
            return value + rank
        return (value + rank) % size if self is Encoding.MODULO else value ^ rank

    def decode_all(self, values: Ints, rank: int, size: int) -> Ints:
        """Return `decode` of each value."""
        if self is Encoding.ABSOLUTE:
            return values
        peers = values ^ rank if self is Encoding.XOR else values + rank
        if self is Encoding.MODULO:
            peers %= size
        return np.where(values < SPECIAL_MAX, values, peers)

    def encode(self, peer: int, rank: int, size: int) -> int:
        """Return the stored value of a peer."""
        if peer < SPECIAL_MAX or self is Encoding.ABSOLUTE:
            return peer
        if self is Encoding.RELATIVE:
            return peer - rank
        return (peer - rank) % size if self is Encoding.MODULO else peer ^ rank
