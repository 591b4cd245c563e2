"""Find the first call whose partner is missing from a trace, so that a replay would hang.

Recording with a selection, or lossy extrapolation, can drop one side of a message or collective call. Numbers
of calls are compared, not their order, which a selection keeps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from scalatrace.operations import Category, Flow, operation
from scalatrace.trace.consistency.instances import Instances
from scalatrace.trace.model.call import Call
from scalatrace.trace.model.elastic import Summary
from scalatrace.trace.model.nodes import Event, Peer
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import executions_of
from scalatrace.trace.query.grouped import counted_calls
from scalatrace.trace.query.requests import started
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG, UNDEFINED

__all__ = ["first_unmatched", "is_collective", "peer_of", "tag_of"]

_MESSAGES = (Category.SEND, Category.RECV, Category.SENDRECV)
_COLLECTIVE = (Category.COLLECTIVE, Category.NEIGHBOUR)
_LOCAL_FILE_OPS = frozenset({"File_seek"})
_PAIRS = {
    "Win_start": ("Win_complete",),
    "Win_post": ("Win_wait", "Win_test"),
    "Win_lock": ("Win_unlock",),
    "Win_lock_all": ("Win_unlock_all",),
}
_EPOCHS = ("Win_fence", *(op for op in _PAIRS if op != "Win_post"))


def first_unmatched(trace: Trace) -> str | None:
    """Describe the first call found whose partner is not in the trace; None when there is none.

    Messages are not compared where destinations, sources or tags were not kept or receives were cancelled.
    Time is proportional to the nodes times the ranks, and to the calls whose parameters vary.
    """
    collective = _Collective()
    messages = _Messages() if _messages_are_known(trace) else None
    for rank in trace.ranks:
        epochs: Counter[tuple[int, int, str]] = Counter()
        for event, times in executions_of(trace, rank):
            for call, n in _examined(trace, event, rank, times):
                collective.add(call, n)
                _add_epoch(epochs, call, n)
                if messages is not None:
                    messages.add(call, n)
        if unmatched := _outside_epochs(rank, epochs):
            return unmatched
        for _, call, n in started(trace, rank) if messages is not None else ():
            messages.add(call, n, started=True)  # type: ignore[union-attr]
    return collective.unmatched() or (messages.unmatched(trace) if messages is not None else None)


def _examined(trace: Trace, event: Event, rank: int, times: int) -> Iterator[tuple[Call, int]]:
    if operation(trace.ops[event.op].name).category not in (Category.COMPLETION, Category.START):
        yield from counted_calls(trace, event, rank, times, lambda op, name: True)


# -- collective calls --------------------------------------------------------------------------------------


class _Collective:
    """Counts of collective calls by operation, communicator (window, file) and rank."""

    def __init__(self) -> None:
        self._calls: dict[tuple[str, int, int, int], Counter[int]] = {}
        self._kinds: dict[int, str] = {}
        self._instances = Instances()

    def add(self, call: Call, n: int) -> None:
        if not is_collective(call.op):
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


def is_collective(op: str) -> bool:
    """Whether all members of a communicator call an operation together."""
    category = operation(op).category
    if category is Category.IO:
        return "_all" in op or "_ordered" in op
    if category is Category.FILE:
        return op not in _LOCAL_FILE_OPS and not op.endswith("_end")
    return category in _COLLECTIVE or op == "Win_fence"


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


class _Messages:
    """Counts of messages sent and received, by communicator family, source, destination and tag."""

    def __init__(self) -> None:
        self._sent: Counter[tuple[int, int, int, int]] = Counter()
        self._awaited: Counter[tuple[int, int, int, int]] = Counter()
        self._probed: set[tuple[int, int, int, int]] = set()

    def add(self, call: Call, n: int, started: bool = False) -> None:
        row = operation(call.op)
        if row.category in _MESSAGES or (started and row.category is Category.PERSISTENT):
            if row.sends and (peer := peer_of(call, row.sends)) is not None:
                self._sent[call.comm.family, call.rank, peer, tag_of(call, "sendtag")] += n
            if row.recvs and (peer := peer_of(call, row.recvs)) is not None:
                self._awaited[call.comm.family, peer, call.rank, tag_of(call, "recvtag")] += n
        elif row.category is Category.PROBE and row.recvs and (peer := peer_of(call, row.recvs)) is not None:
            key = (call.comm.family, peer, call.rank, tag_of(call, "tag"))
            if call.op in ("Mprobe", "Improbe"):
                self._awaited[key] += n  # its Mrecv has no peer
            else:
                self._probed.add(key)

    def unmatched(self, trace: Trace) -> str | None:
        left, wild = self._sent.copy(), Counter[tuple[int, int, int, int]]()
        for key, n in self._awaited.items():
            if ANY_SOURCE in key or ANY_TAG in key:
                wild[key] += n
            elif left[key] < n:
                return f"{_describe(trace, key, n, 'waits for')}, but {self._sent[key]} are sent"
            else:
                left[key] -= n
        # Receives with one wildcard match first; those with two match anything.
        for key in sorted(wild, key=lambda key: (key[1] == ANY_SOURCE) + (key[3] == ANY_TAG)):
            missing = _take(left, key, wild[key])
            if missing:
                n = wild[key]
                return f"{_describe(trace, key, n, 'waits for')}, but {n - missing} are sent"
        for key, n in left.items():
            if n:
                sent = self._sent[key]
                return f"{_describe(trace, key, sent, 'sends')}, but {sent - n} are received"
        probed = (key for key in self._probed if not any(_fits(key, sent) for sent in self._sent))
        return next((f"{_describe(trace, key, 1, 'probes for')}, but none is sent" for key in probed), None)


def peer_of(call: Call, flow: Flow) -> int | None:
    """Return the world rank of the peer in a call's flow, or ANY_SOURCE; None for no rank of this trace."""
    if flow.peer not in call:
        return None
    peer = call.raw(flow.peer)
    if peer == ANY_SOURCE:
        return peer
    if not 0 <= peer < len(call.comm.peers) or call.comm.world(peer) == UNDEFINED:
        return None
    return call.comm.world(peer)


def tag_of(call: Call, name: str) -> int:
    """Return the tag of a call, for calls with two that of one direction (`name`); ANY_TAG without tag."""
    return call.raw(name) if name in call else call.raw("tag") if "tag" in call else ANY_TAG


def _fits(awaited: tuple[int, int, int, int], sent: tuple[int, int, int, int]) -> bool:
    return all(a == s or a in (ANY_SOURCE, ANY_TAG) for a, s in zip(awaited, sent, strict=True))


def _take(left: Counter[tuple[int, int, int, int]], awaited: tuple[int, int, int, int], n: int) -> int:
    """Remove up to n messages that match; return how many are missing."""
    for key in left:
        if n and left[key] and _fits(awaited, key):
            taken = min(n, left[key])
            left[key] -= taken
            n -= taken
    return n


def _describe(trace: Trace, key: tuple[int, int, int, int], n: int, verb: str) -> str:
    family, source, dest, tag = key
    kind = f"communicator {family} ({trace.comms[family].kind})"
    what = f"{n} message{'s' * (n != 1)}{'' if tag == ANY_TAG else f' with tag {tag}'}"
    if verb == "sends":
        return f"rank {source} sends {what} to rank {dest} on {kind}"
    return (
        f"rank {dest} {verb} {what} from {'any rank' if source == ANY_SOURCE else f'rank {source}'} on {kind}"
    )
