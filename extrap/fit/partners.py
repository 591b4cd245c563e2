"""The peers of a call as each rank has them: as stored, in another encoding, as ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scalatrace.extrap.alignment.rank_tree import MAX_NORMALIZED_VALUES, normalize_vec
from scalatrace.extrap.errors import ExtrapolationError
from scalatrace.extrap.fit.fit_types import Samples
from scalatrace.trace.model import elastic
from scalatrace.trace.model.elastic import Value
from scalatrace.trace.model.nodes import Peer
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.symbolic.shapes import Parts, vec_parts
from scalatrace.trace.values.compress import vec_of
from scalatrace.trace.values.vec import Vec

__all__ = ["RankPeers", "encode_peers", "vec_of_rank"]


@dataclass(frozen=True, slots=True)
class RankPeers:
    """One rank's peers: stored values, number of calls, and decoder."""

    vec: Vec
    times: int
    width: int
    encoding: Encoding
    own: int
    size: int

    def parts(self, encoding: Encoding) -> Parts:
        """Return the peers in an encoding."""
        if self.vec.constant is not None:
            return vec_parts(Vec(self._recoded(self.vec.constant, encoding)), self.times, self.width)
        if encoding is self.encoding:
            return vec_parts(normalize_vec(self.vec, self.times), self.times, self.width)
        if self.times > MAX_NORMALIZED_VALUES:
            return vec_parts(self.vec, self.times, self.width)
        listed = self.vec.first(self.times)
        recoded = {value: self._recoded(value, encoding) for value in set(listed)}
        row = map(recoded.__getitem__, listed)
        return vec_parts(vec_of(row), self.times, self.width)

    def ranks(self, most: int) -> set[int]:
        """Return the ranks of the first values; negative ones are special values."""
        values = set(self.vec.first(min(self.times, most)))
        return {self.encoding.decode(value, self.own, self.size) for value in values}

    def _recoded(self, value: int, encoding: Encoding) -> int:
        peer = self.encoding.decode(value, self.own, self.size)
        return encoding.encode(peer, self.own, self.size)


def encode_peers(peers: Mapping[int, RankPeers], encoding: Encoding) -> Samples:
    """Return the peers of all points in an encoding."""
    known: dict[RankPeers, Parts] = {}
    return {
        point: known[one] if one in known else known.setdefault(one, one.parts(encoding))
        for point, one in peers.items()
    }


def vec_of_rank(value: Value | Peer, rank: int) -> Vec:
    """Return a rank's value of a parameter. Raises ExtrapolationError if it has none."""
    result = elastic.at(value.value if isinstance(value, Peer) else value, rank)
    if result is None:
        raise ExtrapolationError(f"a parameter has no value for rank {rank}")
    return result
