"""What a selection should leave of a full log: the same question as the tracer's, asked of its events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scalatrace.operations import Category, operation, received_bytes, sent_bytes
from scalatrace.trace.io.flatlog import FlatCall, FlatComm, FlatLog
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.values.vec import UNDEFINED

MAKING = ("Comm_", "Cart_", "Graph_", "Dist_graph_", "Intercomm_", "Win_create", "Win_allocate", "Win_free")
MAKING += ("File_open", "File_close")
SOME = ("Waitsome", "Testsome")
ENDING = ("Wait", "Waitall", "Waitany", "Test", "Testall", "Testany", "Request_free", *SOME)


@dataclass
class Comm:
    """A communicator as `Flow.nbytes` wants it."""

    rank: int
    peers: tuple[int, ...]
    remote: tuple[int, ...] | None = None
    kind: str = ""


class Entry:
    """One event of a log, with what its numbers stand for."""

    def __init__(self, log: FlatLog, call: FlatCall) -> None:
        self.op, self.stack = call.op, log.stacks[call.signature]
        self.params: dict[str, Any] = {}
        self.kinds: dict[str, Kind] = dict(log.schemas[call.op])
        self.comm = Comm(log.rank, tuple(range(log.nprocs)), kind="none")
        for (name, kind), value in zip(log.schemas[call.op], call.values, strict=True):
            if kind is Kind.COMM and value in log.comms:
                value = log.comms[value]
                if name == "comm":
                    self.comm = _comm(log, value)
            elif kind is Kind.TYPE:
                value = log.types.get(value, value)
            self.params[name] = value

    def __contains__(self, name: object) -> bool:
        return name in self.params

    def __getitem__(self, name: str) -> Any:
        return self.params[name]

    @property
    def nbytes(self) -> int:
        """The more of what it sends or receives."""
        asked = (sent_bytes, received_bytes)
        return max(ask(self.op, self, started) for ask in asked for started in (False, True))

    def key(self) -> tuple[Any, ...]:
        """All that must be equal in two logs, whatever their numbers."""
        return self.op, self.stack, sorted((name, _plain(value)) for name, value in self.params.items())


def _plain(value: Any) -> str:
    return f"{value.kind} {value.members}" if isinstance(value, FlatComm) else repr(value)


def _comm(log: FlatLog, comm: FlatComm) -> Comm:
    members = comm.members or (log.rank,)
    return Comm(members.index(log.rank), comm.remote or members, comm.remote, comm.kind)


def entries(path: Path) -> Iterator[Entry]:
    """The events of a log."""
    log = FlatLog(path)
    for call in log:
        yield Entry(log, call)


class Live:
    """Requests or messages alive, oldest first: [selected, persistent]."""

    def __init__(self) -> None:
        self.all: list[list[bool]] = []

    def named(self, age: int) -> list[bool] | None:
        return self.all[-1 - age] if age >= 0 else None

    def age(self, thing: list[bool] | None) -> int:
        if thing is None or not thing[0]:
            return UNDEFINED
        position = next(i for i, other in enumerate(self.all) if other is thing)
        return sum(other[0] for other in self.all[position + 1 :])

    def end(self, thing: list[bool] | None, for_good: bool) -> None:
        if thing is not None and (for_good or not thing[1]):
            self.all = [other for other in self.all if other is not thing]


class Picker:
    """What of one rank's events remains when `wanted` says which calls are selected."""

    def __init__(self, wanted: Callable[[Entry], bool]) -> None:
        self.wanted = wanted
        self.requests, self.messages = Live(), Live()
        self.begun = False

    def picked(self, path: Path) -> Iterator[Entry]:
        for entry in entries(path):
            keep = self._keeps(entry)
            if operation(entry.op).makes_request:
                self.requests.all.append([keep, entry.op.endswith("_init")])
            if entry.op in ("Mprobe", "Improbe"):
                self.messages.all.append([keep, False])
            if keep:
                yield entry

    def _keeps(self, entry: Entry) -> bool:
        if entry.op.startswith(MAKING):
            return True
        if "message" in entry:
            return self._message(entry)
        if "request" in entry or "requests" in entry:
            return self._requests(entry)
        if entry.op.endswith("_end"):
            return self.begun
        keep = self.wanted(entry)
        if entry.op.endswith("_begin"):
            self.begun = keep
        return keep

    def _message(self, entry: Entry) -> bool:
        message = self.messages.named(entry["message"])
        assert message is not None
        entry.params["message"] = self.messages.age(message)
        self.messages.end(message, True)
        return message[0]

    def _requests(self, entry: Entry) -> bool:
        name = "requests" if "requests" in entry else "request"
        ages = entry[name] if name == "requests" else (entry[name],)
        things = [self.requests.named(age) for age in ages]
        new = [self.requests.age(thing) for thing in things]
        if entry.op in SOME:
            new = [age for age in new if age != UNDEFINED]
        entry.params[name] = tuple(new) if name == "requests" else new[0]
        done = things[entry["index"] :][:1] if "index" in entry else things
        if entry.op in ENDING:
            for thing in done:
                self.requests.end(thing, entry.op == "Request_free")
        return any(thing is not None and thing[0] for thing in done)


def is_in(entry: Entry, *categories: Category) -> bool:
    """Whether its operation is of one of these categories."""
    return operation(entry.op).category in categories


def picked_keys(logs: Path, rank: int, wanted: Callable[[Entry], bool]) -> list[tuple[Any, ...]]:
    """What should be left of a rank's full log."""
    return [entry.key() for entry in Picker(wanted).picked(logs / f"rank-{rank}.log")]


def keys(logs: Path, rank: int) -> list[tuple[Any, ...]]:
    """All of a rank's log."""
    return [entry.key() for entry in entries(logs / f"rank-{rank}.log")]
