"""Find the first call whose partner is missing from a trace, so that a replay would hang.

Recording with a selection, or lossy extrapolation, can drop one side of a message or collective call. Numbers
of calls are compared, not their order, which a selection keeps.
"""

from __future__ import annotations

from collections import Counter
from typing import Protocol

from scalatrace.operations import MESSAGES, Category, Meeting, operation
from scalatrace.trace.consistency.message_counts import CountedMessage, matched
from scalatrace.trace.consistency.messages import (
    MessageEnds,
    MessageRows,
    messages_of_call,
    messages_of_event,
)
from scalatrace.trace.model.call import Call
from scalatrace.trace.model.elastic import Summary
from scalatrace.trace.model.nodes import Peer
from scalatrace.trace.model.tables import Communicator
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import executions_of
from scalatrace.trace.query.grouped import counted_calls
from scalatrace.trace.query.requests import started
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG, UNDEFINED

__all__ = ["CallCounts", "Instances", "feed", "first_unmatched", "is_counted"]


class Instances:
    """The communicators seen so far.

    Attributes:
        members: of each communicator by its number, the world ranks of both groups, in order.
    """

    def __init__(self) -> None:
        self.members: list[tuple[int, ...]] = []
        self._numbers: dict[tuple[int, tuple[int, ...]], int | None] = {}
        self._seen: dict[tuple[int, int, int], tuple[Communicator, int | None]] = {}

    def number(self, comm: Communicator) -> int | None:
        """Return the number of a communicator; None if it has processes of another world."""
        key = comm.family, id(comm.members), id(comm.remote)  # ranks share them; they are kept alive below
        if key not in self._seen:
            self._seen[key] = comm, self._number(comm)
        return self._seen[key][1]

    def _number(self, comm: Communicator) -> int | None:
        everyone = tuple(sorted((*comm.members, *(comm.remote or ()))))
        if (comm.family, everyone) not in self._numbers:
            all_defined = UNDEFINED not in everyone
            self._numbers[comm.family, everyone] = len(self.members) if all_defined else None
            if all_defined:
                self.members.append(everyone)
        return self._numbers[comm.family, everyone]


_COUNTED = (Category.COLLECTIVE, Category.NEIGHBOUR, Category.IO, Category.FILE)
_PAIRS = {
    "Win_start": ("Win_complete",),
    "Win_post": ("Win_wait", "Win_test"),
    "Win_lock": ("Win_unlock",),
    "Win_lock_all": ("Win_unlock_all",),
}
_EPOCHS = ("Win_fence", *(op for op in _PAIRS if op != "Win_post"))


class PartnerCheck(Protocol):
    """Interface of the checks to which `feed` gives the calls of all ranks."""

    @property
    def follows_starts(self) -> bool:
        """Return whether it needs started requests, for which the calls of a rank may have to be walked."""

    def add(self, call: Call, n: int) -> None:
        """Take a call that occurs n times and sends or receives no message; completions are left out."""

    def add_messages(self, messages: MessageEnds) -> None:
        """Take calls that send or receive, or persistent ones that are started."""

    def end_rank(self, rank: int) -> None:
        """Finish a rank: all its calls were given."""


def feed(trace: Trace, *checks: PartnerCheck) -> None:
    """Give the calls of each rank in turn to all checks.

    Time is proportional to the nodes times the ranks, and to the calls that differ in more than their tags.
    """
    followers = [check for check in checks if check.follows_starts]
    for rank in trace.ranks:
        for event, times in executions_of(trace, rank):
            category = operation(trace.ops[event.op].name).category
            if category in (Category.COMPLETION, Category.START):
                continue
            if category in MESSAGES:
                messages = messages_of_event(trace, event, rank, times)
                for check in checks:
                    check.add_messages(messages)
                continue
            for call, n in counted_calls(trace, event, rank, times, lambda op, name: True):
                for check in checks:
                    check.add(call, n)
        for _, call, n in started(trace, rank) if followers else ():
            for check in followers:
                check.add_messages(messages_of_call(call, n))
        for check in checks:
            check.end_rank(rank)


def first_unmatched(trace: Trace) -> str | None:
    """Describe the first call found whose partner is not in the trace; None when there is none.

    Messages are not compared where destinations, sources or tags were not kept or receives were cancelled.
    Time is that of `feed`.
    """
    partners = CallCounts(trace)
    feed(trace, partners)
    return partners.unmatched()


class CallCounts:
    """Counts of messages, collective calls and epochs of all ranks."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._collective = _Collective()
        self._messages = _MatchedCounts() if _messages_are_known(trace) else None
        self._epochs: Counter[tuple[int, int, str]] = Counter()
        self._outside: str | None = None

    def add(self, call: Call, n: int) -> None:
        self._collective.add(call, n)
        _add_epoch(self._epochs, call, n)
        if self._messages is not None:
            self._messages.add_probe(call, n)

    @property
    def follows_starts(self) -> bool:
        return self._messages is not None

    def add_messages(self, messages: MessageEnds) -> None:
        if self._messages is not None:
            self._messages.add_messages(messages)

    def end_rank(self, rank: int) -> None:
        self._outside = self._outside or _outside_epochs(rank, self._epochs)
        self._epochs.clear()

    def unmatched(self) -> str | None:
        """Return a message about the first call without its partner, or None."""
        if unmatched := self._outside or self._collective.unmatched():
            return unmatched
        return self._messages.unmatched(self._trace) if self._messages is not None else None


# -- collective calls --------------------------------------------------------------------------------------


class _Collective:
    """Counts of collective calls by operation, communicator (window, file) and rank."""

    def __init__(self) -> None:
        self._calls: dict[tuple[str, int, int, int], Counter[int]] = {}
        self._kinds: dict[int, str] = {}
        self._instances = Instances()

    def add(self, call: Call, n: int) -> None:
        if not is_counted(call.op):
            return
        comm = call.comm
        instance = self._instances.number(comm)
        if instance is None:
            return  # the other world has a trace of its own
        on = call.raw("win") if "win" in call else call.raw("fh") if "fh" in call else -1
        key = call.op, comm.family, instance, on
        self._kinds[comm.family] = comm.kind
        self._calls.setdefault(key, Counter())[call.rank] += n

    def unmatched(self) -> str | None:
        for (op, family, instance, _), calls in self._calls.items():
            most = max(calls, key=lambda rank: calls[rank])
            for rank in self._instances.members[instance]:
                if calls[rank] != calls[most]:
                    where = f"MPI_{op} on communicator {family} ({self._kinds[family]})"
                    return f"rank {most} calls {where} {calls[most]} times, rank {rank} {calls[rank]} times"
        return None


def is_counted(op: str) -> bool:
    """Return whether all members of a communicator, file or window call an operation equally often.

    Calls that make or free communicators and windows do, too, but are left out: a rank may end without.
    """
    row = operation(op)
    return row.meeting is not Meeting.NONE and (row.category in _COUNTED or row.base == "Win_fence")


# -- one-sided calls ---------------------------------------------------------------------------------------


def _add_epoch(epochs: Counter[tuple[int, int, str]], call: Call, n: int) -> None:
    if "win" in call:
        one_sided = operation(call.op).category is Category.ONE_SIDED
        epochs[call.comm.family, call.raw("win"), "data" if one_sided else call.op] += n


def _outside_epochs(rank: int, epochs: Counter[tuple[int, int, str]]) -> str | None:
    for family, window in sorted({key[:2] for key in epochs}):
        calls = Counter({op: n for (*on, op), n in epochs.items() if on == [family, window]})
        if calls["data"] and not any(calls[op] for op in _EPOCHS):
            return f"rank {rank} makes one-sided calls, but the trace has none that opens an epoch"
        for opening, closing in _PAIRS.items():
            if calls[opening] != sum(calls[op] for op in closing):
                return (
                    f"rank {rank} calls MPI_{opening} {calls[opening]} times, MPI_{closing[0]} not as often"
                )
    return None


# -- messages ----------------------------------------------------------------------------------------------


def _messages_are_known(trace: Trace) -> bool:
    if any(op.name == "Cancel" for op in trace.ops):
        return False
    for leaf in trace.leaves():
        for (name, _), param in zip(trace.ops[leaf.op].params, leaf.params, strict=True):
            value = param.value if isinstance(param, Peer) else param
            if isinstance(value, Summary) and name in ("dest", "source", "tag", "sendtag", "recvtag"):
                return False
    return True


class _MatchedCounts:
    """Messages, receives and probes of all ranks."""

    def __init__(self) -> None:
        self._rows = MessageRows()
        self._probed: set[CountedMessage] = set()

    def add_messages(self, messages: MessageEnds) -> None:
        self._rows.add(messages)

    def add_probe(self, call: Call, n: int) -> None:
        if operation(call.op).category is not Category.PROBE:
            return
        messages = messages_of_call(call, n)
        if call.op in ("Mprobe", "Improbe"):
            self._rows.add(messages)  # its Mrecv has no peer
        else:
            self._probed.update(CountedMessage(*row[:4]) for row in messages.received.tolist())

    def unmatched(self, trace: Trace) -> str | None:
        sent, awaited = self._rows.unbalanced()
        result = matched(sent, awaited)
        if result.missing is not None:
            key, n = result.missing
            matching = awaited[key] - n if key.is_wild else sent[key]
            return f"{_describe(trace, key, awaited[key], 'waits for')}, but {matching} are sent"
        if result.left is not None:
            key, n = result.left
            return f"{_describe(trace, key, sent[key], 'sends')}, but {sent[key] - n} are received"
        sent_to = self._rows.by_destination() if self._probed else {}
        probed = (key for key in self._probed if not any(map(key.fits, sent_to.get(key.dest, ()))))
        return next((f"{_describe(trace, key, 1, 'probes for')}, but none is sent" for key in probed), None)


def _describe(trace: Trace, key: CountedMessage, n: int, verb: str) -> str:
    family, source, dest, tag = key
    kind = f"communicator {family} ({trace.comms[family].kind})"
    text = f"{n} message{'s' * (n != 1)}{'' if tag == ANY_TAG else f' with tag {tag}'}"
    if verb == "sends":
        return f"rank {source} sends {text} to rank {dest} on {kind}"
    return (
        f"rank {dest} {verb} {text} from {'any rank' if source == ANY_SOURCE else f'rank {source}'} on {kind}"
    )
