"""A transport that only stores the calls of a replay.

Completion is immediate: every flag is true, every index 0, every request null afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from scalatrace.replay.common.errors import ReplayError
from scalatrace.replay.transport.args import Constant, Handles, Out, Ref, Status
from scalatrace.trace.model.typetree import TypeTree

SIZES = {"MPI_DOUBLE": 8, "MPI_FLOAT": 4, "MPI_INT": 4, "MPI_BYTE": 1, "MPI_CHAR": 1, "MPI_LONG": 8}

BASE = 1 << 20
"""Address of all buffers."""


@dataclass(eq=False)
class Named:
    """A handle with its kind, and whether a call has set it."""

    kind: str
    name: str = "null"


@dataclass(frozen=True)
class MemoryBuffer:
    """A buffer without content."""

    nbytes: int
    random: bool = False


@dataclass(frozen=True)
class Address:
    """A place in a buffer."""

    buffer: MemoryBuffer
    offset: int


EMPTY_LIST = b"\x90"
"""In MessagePack."""


@dataclass
class MemoryTransport:
    """Stores (op, args) of every call in `calls`, of the engine's own calls in `quiet_calls`.

    `groups` has the members of communicators, by handle; others are the world. `arrivals` are source and
    bytes of the messages that probes match.
    """

    rank: int = 0
    size: int = 1
    shares_cores: bool = False
    calls: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    quiet_calls: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    groups: dict[int, tuple[int, ...]] = field(default_factory=dict)
    made: int = 0
    incoming: list[int] = field(default_factory=list)
    arrivals: list[tuple[int, int]] = field(default_factory=list)

    def handle(self, kind: str) -> Named:
        """Return a null handle of a kind."""
        return Named(kind)

    def predefined(self, kind: str, name: str) -> Named:
        """Return a handle called as MPI calls it."""
        return Named(kind, name)

    def user_op(self) -> Named:
        """Return a reduction."""
        return Named("op", "user")

    def datatype(self, tree: TypeTree) -> tuple[Any, int, int, int, int]:
        """Return a handle; its size is that of the types it names."""
        size = _size(tree)
        return Named("type", tree.name), size, size, 0, size

    def constant(self, value: int) -> int:
        """Return special values unchanged."""
        return value

    def named_constant(self, name: str) -> int:
        """Return something for a constant's name, or the number that the text is."""
        return len(name) if name.startswith("MPI_") else int(name)

    def degrees(self, comm: Named) -> tuple[int, int]:
        """Return that a graph has no edges: this transport does not look into topologies."""
        return 0, 0

    def buffer(self, nbytes: int, random: bool = False) -> MemoryBuffer:
        """Return a buffer without content."""
        return MemoryBuffer(nbytes, random)

    def at(self, buffer: MemoryBuffer, offset: int) -> Address:
        """Return a place in a buffer."""
        return Address(buffer, offset)

    def address(self, buffer: MemoryBuffer) -> int:
        """Return the address of all buffers."""
        return BASE

    def prepare(self, op: str, args: Sequence[Any]) -> tuple[str, tuple[Any, ...]]:
        """Keep the arguments as they are."""
        return op, tuple(args)

    def issue(self, call: tuple[str, tuple[Any, ...]]) -> None:
        """Note the call, and let it succeed."""
        self.calls.append(call)
        self._succeed(*call)

    def quiet(self, op: str, *args: Any) -> None:
        """Note a call of the engine's own, and let it succeed."""
        self.quiet_calls.append((op, args))
        self._succeed(op, args)

    def members(self, comm: Named) -> tuple[int, ...]:
        """Return the members in `groups`, else all ranks."""
        return self.groups.get(id(comm), tuple(range(self.size)))

    def group(self, ranks: Sequence[int]) -> Named:
        """Return a group called by its ranks."""
        return Named("group", str(tuple(ranks)))

    def matched(self, status: Status) -> tuple[int, int]:
        """Return the next of `arrivals`; without any, an empty message of rank 0."""
        return self.arrivals.pop(0) if self.arrivals else (0, 0)

    def recorded_as_any_source(self) -> AbstractContextManager[None]:
        """Do nothing: there is no tracer."""
        return nullcontext()

    def gather(self, data: bytes) -> list[bytes] | None:
        """Collect from the only rank there is."""
        return [data]

    def broadcast(self, data: bytes) -> bytes:
        """Return the data of the only rank there is."""
        return data

    def exchange(self, parts: Sequence[bytes]) -> list[bytes]:
        """Return what this rank sends to itself, and an empty list from each of the others."""
        return [part if number == self.rank else EMPTY_LIST for number, part in enumerate(parts)]

    def open_port(self) -> str:
        """Return the name of a port."""
        return "port"

    def mailboxes(self, nbytes: int) -> MemoryPost:
        """Return a Post that receives `incoming`."""
        return MemoryPost(self)

    def exchange_counts(self, comm: Named, counts: list[int], poll: Callable[[], object]) -> int:
        """Return the number of messages of the transport."""
        return len(self.incoming)

    def is_null(self, handle: Named) -> bool:
        """Say whether nothing has been made of a handle."""
        return handle.name == "null"

    def _succeed(self, op: str, args: Sequence[Any]) -> None:
        outs = [arg for arg in args if isinstance(arg, Out)]
        for out in outs:
            out.values = [1] * out.n
        if op in ("Waitsome", "Testsome"):
            outs[0].values, outs[1].values = [args[0]], list(range(args[0]))
        elif op in ("Waitany", "Testany"):
            outs[0].values = [0]
        for arg in args:
            if isinstance(arg, Ref):
                self._make(arg.handle, op)
            elif isinstance(arg, Handles) and op.startswith(("Wait", "Test")):
                for item in arg.items:
                    item.name = "null"

    def _make(self, handle: Named, op: str) -> None:
        consumed = op in ("Wait", "Test", "Mrecv") or (op == "Imrecv" and handle.kind == "message")
        ended = consumed or op.endswith(("free", "close", "disconnect"))
        handle.name = "null" if ended else self._name()

    def _name(self) -> str:
        self.made += 1
        return f"made {self.made}"


class MemoryPost:
    """Receives the messages of a transport, on the first communicator that is open."""

    def __init__(self, transport: MemoryTransport) -> None:
        self._transport = transport
        self._keys: list[int] = []

    def open(self, key: int, comm: Named) -> None:
        """Begin to receive."""
        self._keys.append(key)

    def close(self, key: int) -> None:
        """Receive no more."""
        self._keys.remove(key)

    def take(self) -> tuple[int, int] | None:
        """Return the next message, as far as there is one."""
        incoming = self._transport.incoming
        return (self._keys[0], incoming.pop(0)) if incoming and self._keys else None

    def take_own(self, comm: Named, tag: int) -> int:
        """Return the bytes of the next message; 0 when there is none."""
        return self._transport.incoming.pop(0) if self._transport.incoming else 0

    def wait(self, request: Named) -> None:
        """Let a request be complete, and note that it was asked for if it is not null."""
        if not self._transport.is_null(request):
            self._transport.quiet("Wait", Ref(request), Constant.STATUS)


def _size(tree: TypeTree) -> int:
    if tree.predefined:
        return SIZES.get(tree.name, 8)
    size = tree.arguments[-1 if tree.f90 else 0] if tree.f90 or tree.name == "opaque" else None
    if isinstance(size, int):
        return size
    if not tree.inner:
        raise ReplayError(f"datatype {tree.name} of nothing")
    return sum(map(_size, tree.inner))
