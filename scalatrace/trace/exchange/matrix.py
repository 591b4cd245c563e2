"""Communication matrix: bytes or messages from each rank to each rank, from the compressed form.

point to point   messages, also those of persistent and partitioned sends, each time they are started
collective       collectives that say who sends what to whom (`exchanges`): each call counts as a message
                 to each of its partners, the own rank included
outside          others, such as broadcasts and reductions, and one-sided calls: totals only
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from scalatrace.arrays import Ints
from scalatrace.errors import LimitError, UsageError
from scalatrace.operations import SENDING, Category, blocking_name, operation
from scalatrace.trace.exchange.collectives import Exchange, exchanges_of, has_pairs, is_unknown
from scalatrace.trace.exchange.messages import Messages, messages_of, sends_to
from scalatrace.trace.exchange.rank_sets import Budget
from scalatrace.trace.query.summaries import summarised
from scalatrace.trace.query.traffic import traffic

if TYPE_CHECKING:
    from scalatrace.trace.model.trace import Trace

__all__ = [
    "CALLS", "COLLECTIVE", "MAX_DENSE_RANKS", "MEASURES", "POINT_TO_POINT", "PairTable", "flows",
    "has_collectives", "matrix", "outside", "pair_table", "pairs", "pairs_by_site",
]  # fmt: skip

MEASURES = ("bytes", "messages")

POINT_TO_POINT, COLLECTIVE = "p2p", "collective"
CALLS = ("all", POINT_TO_POINT, COLLECTIVE)
"""Which calls are counted."""

MAX_DENSE_RANKS = 8192
"""Ranks of a matrix with all its entries, which takes 512 MB then."""

MAX_PAIRS = 1 << 23
"""Pairs of ranks that are listed, of each call; more take gigabytes."""

OUTSIDE = (Category.COLLECTIVE, Category.NEIGHBOUR, Category.ONE_SIDED)
"""What moves bytes between ranks and may not be in the matrix."""

Pairs = dict[tuple[int, int], int]
"""(sender, receiver), both world ranks -> amount; pairs without any are left out."""

Site = tuple[str, tuple[str, ...]]
"""Operation and stack of a call."""


@dataclass(frozen=True)
class PairTable:
    """Pairs of world ranks, in order of sender and receiver, with an amount above 0.

    Attributes:
        amounts: integers of 64 bits, or Python integers where these are too small.
    """

    senders: Ints
    receivers: Ints
    amounts: NDArray[Any]

    def __len__(self) -> int:
        return len(self.senders)

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        columns = (self.senders, self.receivers, self.amounts)
        return zip(*(column.tolist() for column in columns), strict=True)

    @property
    def total(self) -> int:
        """The sum of all amounts."""
        return int(self.amounts.sum())

    def blocks(self, size: int, nprocs: int) -> dict[tuple[int, int], int]:
        """Return the sums of blocks of `size` x `size` ranks: row (sender), column (receiver) -> amount."""
        count = -(-nprocs // size)
        keys, amounts = _by_key(self.senders // size * count + self.receivers // size, self.amounts)
        return {divmod(key, count): n for key, n in zip(keys.tolist(), amounts.tolist(), strict=True)}


def pairs(trace: Trace, what: str = "bytes", calls: str = "all") -> Pairs:
    """Return `pair_table` as a dictionary. Raises as it does."""
    return {(sender, receiver): amount for sender, receiver, amount in pair_table(trace, what, calls)}


def pair_table(trace: Trace, what: str = "bytes", calls: str = "all") -> PairTable:
    """Return what each rank sent to each rank; equal calls are counted, not walked.

    PROC_NULL and processes of another world count nowhere.

    Args:
        what: one of MEASURES: "bytes" or "messages".
        calls: one of CALLS: "p2p": messages; "collective": collectives that say who sends to whom; "all".

    Raises:
        UsageError: an unknown word, or the trace has histograms instead of destinations.
        FormatError: a message goes to a rank that its communicator does not have.
        LimitError: very many ranks, different calls or pairs.
    """
    _check(trace, what, calls)
    return _table(trace.nprocs, list(flows(trace, Budget(sampling=False), calls)), what)


def flows(trace: Trace, budget: Budget, calls: str = "all") -> Iterator[Messages | Exchange]:
    """Yield what ranks send, as sets of equal calls. Raises as `pair_table`."""
    if calls != COLLECTIVE:
        yield from messages_of(trace, budget)
    if calls != POINT_TO_POINT:
        yield from exchanges_of(trace, budget)


def _check(trace: Trace, what: str, calls: str) -> None:
    if what not in MEASURES:
        raise UsageError(f"unknown measure {what!r}; give {' or '.join(MEASURES)}")
    if calls not in CALLS:
        raise UsageError(f"unknown calls {calls!r}; give {', '.join(CALLS)}")
    if calls != COLLECTIVE and (names := summarised(trace, lambda op, name: sends_to(op, name))):
        raise UsageError(f"no matrix: the trace has histograms instead of destinations ({', '.join(names)})")


def _table(nprocs: int, sent: list[Messages | Exchange], what: str) -> PairTable:
    """Add up amounts by pair: in 64 bits if all of them together fit, else as Python integers."""
    import numpy as np  # takes longer to import than most traces to read

    npairs = sum(flow.npairs for flow in sent)
    if npairs > MAX_PAIRS:
        raise LimitError(
            f"calls of {nprocs:,} ranks have {npairs:,} pairs of ranks, too many to list "
            f"(limit {MAX_PAIRS:,}); `scalatrace matrix` and `scalatrace report` draw blocks of ranks"
        )
    chunks = [flow.expanded() for flow in sent]
    keys = np.concatenate(
        [np.zeros(0, np.int64), *(flow.senders * nprocs + flow.receivers for flow in chunks)]
    )
    parts = [_amounts(flow, what) for flow in chunks]
    fits = sum(int(part.sum()) for part in parts) < 1 << 63
    amounts = np.concatenate([np.zeros(0, np.int64 if fits else object), *parts])
    if fits:
        amounts = amounts.astype(np.int64)
    keys, amounts = _by_key(keys, amounts)
    positive = (amounts > 0).astype(bool)  # of Python integers, a comparison gives objects
    senders, receivers = np.divmod(keys[positive], nprocs)
    return PairTable(senders, receivers, amounts[positive])


def _by_key(keys: Ints, amounts: NDArray[Any]) -> tuple[Ints, NDArray[Any]]:
    """Return the different keys in order, and the sum of the amounts of each."""
    import numpy as np

    order = np.argsort(keys, kind="stable")
    keys, amounts = keys[order], amounts[order]
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[starts], np.add.reduceat(amounts, starts) if len(starts) else amounts


def _amounts(flow: Messages | Exchange, what: str) -> NDArray[Any]:
    """Return the amount of each pair in all calls, exactly."""
    import numpy as np

    count, n = int(flow.count), len(flow.senders)
    nbytes = 1 if what == "messages" else flow.nbytes
    largest = nbytes if isinstance(nbytes, int) else int(nbytes.max(initial=0))
    kind: Any = np.int64 if count * largest * max(n, 1) < 1 << 62 else object
    if isinstance(nbytes, int):
        return np.full(n, nbytes * count, dtype=kind)
    return nbytes.astype(kind) * count


def pairs_by_site(trace: Trace, one_sided: bool = False) -> dict[Site, set[tuple[int, int]]]:
    """Return the pairs that exchange messages, by operation and stack of the send. Raises as `pairs`.

    Args:
        one_sided: return origins and targets of one-sided communication instead.
    """
    _check(trace, "messages", POINT_TO_POINT)
    by_site: dict[Site, set[tuple[int, int]]] = {}
    for flow in messages_of(trace, Budget(sampling=False), {Category.ONE_SIDED} if one_sided else SENDING):
        if flow.count:
            site = flow.call[0], trace.stack(flow.call[1])
            by_site.setdefault(site, set()).update(
                zip(flow.senders.tolist(), flow.receivers.tolist(), strict=True)
            )
    return by_site


def matrix(trace: Trace, what: str = "bytes", calls: str = "all") -> Ints:
    """Return `pair_table` as nprocs x nprocs; row: sender, column: receiver.

    Raises:
        LimitError: more than MAX_DENSE_RANKS ranks, or an amount of more than 64 bits; and as `pair_table`.
    """
    import numpy as np

    if trace.nprocs > MAX_DENSE_RANKS:
        raise LimitError(
            f"the matrix of {trace.nprocs} ranks is too large to hold all entries (limit {MAX_DENSE_RANKS}); "
            "scalatrace.trace.exchange.matrix.pair_table has those that are not 0"
        )
    amounts = np.zeros((trace.nprocs, trace.nprocs), np.int64)
    table = pair_table(trace, what, calls)
    for sender, receiver, amount in table if table.amounts.dtype == object else ():
        if amount >> 63:
            raise LimitError(
                f"rank {sender} sends {amount} {what} to rank {receiver}, more than 64 bits hold; "
                "scalatrace.trace.exchange.matrix.pairs has exact integers"
            )
    amounts[table.senders, table.receivers] = table.amounts
    return amounts


def has_collectives(trace: Trace) -> bool:
    """Return whether the trace has collectives with known senders and receivers."""
    return any(has_pairs(op.name) for op in trace.ops)


def outside(trace: Trace) -> dict[str, tuple[int, int]]:
    """Return calls and bytes sent of what is not in the matrix, by operation; only those that send.

    Calls that have pairs are outside where their amounts or roots are kept as histograms only.

    Raises:
        LimitError: very many ranks have different parameters or trip counts.
    """
    wanted = {i for i, op in enumerate(trace.ops) if operation(op.name).category in OUTSIDE}
    result: dict[str, tuple[int, int]] = {}
    for event, ncalls, nbytes, _ in traffic(trace) if wanted else ():
        if event.op in wanted and ncalls:
            if has_pairs(trace.ops[event.op].name) and not is_unknown(trace, event):
                continue
            name = blocking_name(trace.ops[event.op].name)
            calls, sent = result.get(name, (0, 0))
            result[name] = calls + ncalls, sent + nbytes
    return {name: (calls, sent) for name, (calls, sent) in result.items() if sent}
