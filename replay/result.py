"""Results of a replay, per rank and of all ranks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from scalatrace.trace.values.ranklist import RankList

if TYPE_CHECKING:
    from scalatrace.replay.engine.rank import RankReplay


@dataclass(frozen=True)
class RankResult:
    """One rank's replay; times in nanoseconds.

    Attributes:
        wall_ns: from the first event to the last.
        computed_ns: computation for which the rank waited.
        engine_ns: the engine's own time between calls, hidden in computation or not.
        late_ns: what could not be hidden.
        rows: (operation, communicator family, calls, time in them, bytes sent).
        left: requests that no call completed.
        received: messages received in the replay of a probabilistic trace.
        unequal: rows of `scalatrace.replay.compare`; None when nothing was compared.
    """

    rank: int
    wall_ns: int
    computed_ns: int
    engine_ns: int
    late_ns: int
    rows: list[tuple[str, int, int, int, int]] = field(default_factory=list)
    left: int = 0
    received: int = 0
    unequal: list[dict[str, Any]] | None = None

    @classmethod
    def of(cls, rank: RankReplay, wall_ns: int) -> RankResult:
        """Take the result from a rank that has replayed all its events."""
        pace = rank.pace
        rows = [(op, family, t.calls, t.ns, t.sent) for op, family, t in rank.stats.rows()]
        times = (wall_ns, pace.waited_ns, pace.engine_ns, pace.late_ns)
        return cls(rank.mpi.rank, *times, rows, len(rank.requests.left()))

    @property
    def calls(self) -> dict[str, int]:
        """Calls by operation."""
        return dict(_by_op(self.rows, 2))

    @property
    def sent(self) -> dict[str, int]:
        """Bytes sent by operation."""
        return dict(_by_op(self.rows, 4))

    def pack(self) -> bytes:
        """Return bytes for `unpack`."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def unpack(cls, data: bytes) -> RankResult:
        """Return the result of `pack`."""
        fields = json.loads(data)
        fields["rows"] = [tuple(row) for row in fields["rows"]]
        return cls(**fields)


def _by_op(rows: Sequence[tuple[Any, ...]], column: int) -> Counter[str]:
    result: Counter[str] = Counter()
    for row in rows:
        result[row[0]] += row[column]
    return result


@dataclass(frozen=True)
class ReplaySummary:
    """All ranks' results.

    Attributes:
        nprocs: ranks.
        wall_s: of the slowest rank.
        computed_s, engine_s, late_s: means over the ranks.
        calls, mpi_s, sent: calls, seconds in them, bytes sent, by operation, over all ranks.
        left: requests that no call completed, over all ranks.
        received: messages received in the replay of a probabilistic trace.
        unequal: what differs from the trace, ranks with the same difference together; None: not compared.
    """

    nprocs: int
    wall_s: float
    computed_s: float
    engine_s: float
    late_s: float
    calls: dict[str, int]
    mpi_s: dict[str, float]
    sent: dict[str, int]
    left: int
    received: int
    unequal: list[dict[str, Any]] | None

    @classmethod
    def over(cls, rank_results: Sequence[RankResult]) -> ReplaySummary:
        """Summarise the results of all ranks."""
        rows = [row for result in rank_results for row in result.rows]
        n = len(rank_results)
        return cls(
            n,
            max(r.wall_ns for r in rank_results) / 1e9,
            sum(r.computed_ns for r in rank_results) / n / 1e9,
            sum(r.engine_ns for r in rank_results) / n / 1e9,
            sum(r.late_ns for r in rank_results) / n / 1e9,
            dict(_by_op(rows, 2).most_common()),
            {op: ns / 1e9 for op, ns in _by_op(rows, 3).most_common()},
            dict(_by_op(rows, 4)),
            sum(r.left for r in rank_results),
            sum(r.received for r in rank_results),
            _together(rank_results),
        )


def _together(rank_results: Sequence[RankResult]) -> list[dict[str, Any]] | None:
    """Return the rows that differ, each once with the ranks that have it."""
    if any(result.unequal is None for result in rank_results):
        return None
    ranks: dict[tuple[Any, ...], list[int]] = {}
    for result in rank_results:
        for row in result.unequal or ():
            ranks.setdefault(tuple(row.items()), []).append(result.rank)
    return [{**dict(row), "ranks": str(RankList(who))} for row, who in sorted(ranks.items())]
