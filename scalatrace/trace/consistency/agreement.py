"""Find the first message or collective call on whose sizes the ranks of a trace do not agree.

Messages may be shorter than the buffers of their receives, never longer. All members of a collective call
have to name one root and, where the standard wants it, equally many bytes. Totals are compared, not the order
of calls; `partners` compares how many there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from scalatrace.operations import Category, blocking_name, operation
from scalatrace.trace.consistency.failed import WITH_ERRORS
from scalatrace.trace.consistency.messages import MessageEnds, MessageRows
from scalatrace.trace.consistency.partners import CallCounts, Instances, feed
from scalatrace.trace.model.call import Call
from scalatrace.trace.model.elastic import Summary
from scalatrace.trace.model.nodes import Peer
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.summaries import byte_parameters

__all__ = ["first_conflict"]


MAX_PAIRS = 1 << 20
"""Pairs of ranks whose bytes of Alltoallv are compared."""


def first_conflict(trace: Trace) -> str | None:
    """Return the first call without partner, or whose ranks give different sizes or roots, or None.

    Sizes are not compared of messages to ranks that receive from any rank or with any tag, of what was
    recorded as histograms, and of collective calls between groups. Time is that of `partners.feed`.
    """
    partners, agreement = CallCounts(trace), _Agreement(trace)
    feed(trace, partners, agreement)
    return partners.unmatched() or agreement.first()


class _Agreement:
    """Sizes and roots of the calls of all ranks."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        truncates = WITH_ERRORS in trace.counts
        cancels = any(op.name == "Cancel" for op in trace.ops)
        self._compares = not (truncates or cancels or _has_summaries(trace))
        self._sizes, self._collectives, self._pairs = _Sizes(), _Collectives(), _Pairs()
        self._outside: str | None = None

    def add(self, call: Call, n: int) -> None:
        if not self._compares:
            return
        if operation(call.op).category is Category.COLLECTIVE:
            self._outside = self._outside or next(_outside(call), None)
            self._collectives.add(call, n)
            self._pairs.add(call, n)

    @property
    def follows_starts(self) -> bool:
        return self._compares

    def add_messages(self, messages: MessageEnds) -> None:
        if self._compares:
            of_kinds = (text for call in messages.calls for text in _outside(call))
            self._outside = self._outside or next(of_kinds, None)
            self._sizes.add(messages)

    def end_rank(self, rank: int) -> None:
        """Do nothing: calls of ranks are compared at the end."""

    def first(self) -> str | None:
        """Return the first disagreement, in words; None when there is none."""
        return (
            self._outside
            or self._sizes.too_long(self._trace)
            or self._collectives.disagreement()
            or self._pairs.disagreement()
        )


def _outside(call: Call) -> Iterator[str]:
    """Of peers that the communicator does not have: what is wrong, in words."""
    for name in operation(call.op).peers:
        peer, size = call.raw(name) if name in call else 0, len(call.comm.peers)
        if peer >= size:
            yield (
                f"rank {call.rank} names {name} {peer} in MPI_{call.op} on communicator {call.comm.family}, "
                f"which has {size} ranks"
            )


def _has_summaries(trace: Trace) -> bool:
    for leaf in trace.leaves():
        op = trace.ops[leaf.op]
        for (name, _), param in zip(op.params, leaf.params, strict=True):
            value = param.value if isinstance(param, Peer) else param
            if isinstance(value, Summary) and (
                byte_parameters(op.name, name) or name in ("root", "dest", "source", "tag", "recvtag")
            ):
                return True
    return False


class _Sizes:
    """Bytes of messages and of the buffers of receives."""

    def __init__(self) -> None:
        self._rows = MessageRows()
        self._wild: set[tuple[int, int]] = set()

    def add(self, messages: MessageEnds) -> None:
        self._rows.add(messages)
        # What a receive gets is unknown where a wildcard, or its Mprobe, chose it.
        self._wild.update((call.family, call.rank) for call in messages.calls if operation(call.op).matched)
        self._wild.update(messages.wild_receivers())

    def too_long(self, trace: Trace) -> str | None:
        for (family, source, dest, tag), (sent, room) in self._rows.unequal_sizes().items():
            if (family, dest) in self._wild:
                continue
            for nbytes, most in _side_by_side(sent, room):
                if nbytes > most:
                    return (
                        f"rank {source} sends {nbytes} bytes with tag {tag} to rank {dest} on communicator "
                        f"{family} ({trace.comms[family].kind}), whose receive has room for {most}"
                    )
        return None


def _side_by_side(sent: Mapping[int, int], room: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    """Yield the longest message with the largest buffer, and so on."""
    messages, buffers = (
        sorted(([s, n] for s, n in amounts.items()), reverse=True) for amounts in (sent, room)
    )
    while messages and buffers:
        yield messages[0][0], buffers[0][0]
        n = min(messages[0][1], buffers[0][1])
        for rows in (messages, buffers):
            rows[0][1] -= n
            if not rows[0][1]:
                rows.pop(0)


class _Collectives:
    """Roots and bytes of collective calls by operation, communicator and rank."""

    def __init__(self) -> None:
        self._given: dict[tuple[str, int, int], dict[int, Counter[tuple[int, int]]]] = {}
        self._instances = Instances()

    def add(self, call: Call, n: int) -> None:
        row, comm = operation(call.op), call.comm
        if row.category is not Category.COLLECTIVE or comm.remote is not None:
            return
        flow = row.equal_block
        if flow is None and "root" not in call:
            return
        root = call.raw("root") if "root" in call else -1
        instance = self._instances.number(comm)
        if instance is None:
            return  # the other world has a trace of its own
        amounts = self._given.setdefault((call.op, comm.family, instance), {}).setdefault(
            call.rank, Counter()
        )
        amounts[root, 0 if flow is None else flow.nbytes(call)] += n

    def disagreement(self) -> str | None:
        for (op, family, _), by_rank in self._given.items():
            first, expected = next(iter(by_rank.items()))
            for rank, amounts in by_rank.items():
                if amounts != expected:
                    expected_amount = min((expected - amounts) or expected)
                    different_amount = min((amounts - expected) or amounts)
                    return (
                        f"MPI_{op} on communicator {family}: rank {first} gives {_words(expected_amount)}, "
                        f"rank {rank} {_words(different_amount)}"
                    )
        return None


def _words(call_key: tuple[int, int]) -> str:
    root, nbytes = call_key
    return f"{nbytes} bytes" if root < 0 else f"{nbytes} bytes and root {root}" if nbytes else f"root {root}"


def _optional(call: Call, name: str) -> Any:
    return call[name] if name in call else None  # noqa: SIM401 - a call is no dict


class _Pairs:
    """Bytes that Alltoallv moves from rank to rank, in all calls on a communicator."""

    def __init__(self) -> None:
        self._bytes: Counter[tuple[int, int, int, int]] = Counter()
        self._instances = Instances()
        self._full = False

    def add(self, call: Call, n: int) -> None:
        comm = call.comm
        if blocking_name(call.op) != "Alltoallv" or self._full or comm.remote is not None:
            return
        if call.get("in_place"):
            return
        instance, own_rank = self._instances.number(comm), comm.rank
        if instance is None:
            return  # the other world has a trace of its own
        for flow, sign in (("send", n), ("recv", -n)):
            counts, datatype = (_optional(call, f"{flow}{name}") for name in ("counts", "type"))
            if not isinstance(counts, tuple) or not hasattr(datatype, "size"):
                self._full = True  # not recorded: nothing to compare
                return
            for receiver, count in enumerate(counts):
                pair = (own_rank, receiver) if flow == "send" else (receiver, own_rank)
                self._bytes[comm.family, instance, comm.world(pair[0]), comm.world(pair[1])] += (
                    sign * count * datatype.size
                )
        self._full = len(self._bytes) > MAX_PAIRS

    def disagreement(self) -> str | None:
        for (family, _, source, dest), nbytes in self._bytes.items() if not self._full else ():
            if nbytes:
                return (
                    f"MPI_Alltoallv on communicator {family}: rank {source} sends {abs(nbytes)} bytes "
                    f"{'more' if nbytes > 0 else 'less'} to rank {dest} than that receives"
                )
        return None
