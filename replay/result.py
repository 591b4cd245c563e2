"""What a replay has done, per rank and in all."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from replay.rank import Rank


@dataclass(frozen=True)
class RankResult:
    """One rank's replay; times in nanoseconds.

    Attributes:
        wall_ns: from the first event to the last.
        computed_ns: computation that was waited out.
        late_ns: what the engine needed beyond that, and could not hide.
        calls, mpi_ns, sent: calls issued, time in them, bytes handed over, by operation.
        left: requests that nobody completed.
    """

    rank: int
    wall_ns: int
    computed_ns: int
    late_ns: int
    calls: dict[str, int] = field(default_factory=dict)
    mpi_ns: dict[str, int] = field(default_factory=dict)
    sent: dict[str, int] = field(default_factory=dict)
    left: int = 0

    @classmethod
    def of(cls, rank: Rank, wall_ns: int) -> RankResult:
        """Take the result from a rank that has replayed all its events."""
        pace, ledger = rank.pace, rank.ledger
        return cls(
            rank.mpi.rank,
            wall_ns,
            pace.waited_ns,
            pace.late_ns,
            dict(ledger.calls),
            dict(ledger.mpi_ns),
            dict(ledger.sent),
            len(rank.requests.left()),
        )

    def pack(self) -> bytes:
        """Return bytes for `unpack`."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def unpack(cls, data: bytes) -> RankResult:
        """Return what was packed."""
        return cls(**json.loads(data))


@dataclass(frozen=True)
class Summary:
    """All ranks' results.

    Attributes:
        nprocs: ranks.
        wall_s: of the slowest rank.
        computed_s, late_s: means over the ranks.
        calls, mpi_s, sent: calls, seconds in them, bytes handed over, by operation, over all ranks.
        left: requests that nobody completed, over all ranks.
    """

    nprocs: int
    wall_s: float
    computed_s: float
    late_s: float
    calls: dict[str, int]
    mpi_s: dict[str, float]
    sent: dict[str, int]
    left: int

    @classmethod
    def over(cls, results: Sequence[RankResult]) -> Summary:
        """Summarise the results of all ranks."""
        calls: Counter[str] = Counter()
        mpi_ns: Counter[str] = Counter()
        sent: Counter[str] = Counter()
        for result in results:
            calls.update(result.calls)
            mpi_ns.update(result.mpi_ns)
            sent.update(result.sent)
        n = len(results)
        return cls(
            n,
            max(r.wall_ns for r in results) / 1e9,
            sum(r.computed_ns for r in results) / n / 1e9,
            sum(r.late_ns for r in results) / n / 1e9,
            dict(calls.most_common()),
            {op: ns / 1e9 for op, ns in mpi_ns.most_common()},
            dict(sent),
            sum(r.left for r in results),
        )
