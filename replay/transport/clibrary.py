"""The C functions of the MPI that mpi4py uses, called with exactly the recorded arguments.

mpi4py's own methods alter some arguments on their way (a message to MPI_PROC_NULL becomes no bytes, what
only the root gives becomes nothing), which a replay must not. So mpi4py brings MPI up and holds the
handles, and the calls go through here. A tracer that is loaded before libmpi is found first, as it is by
the program itself.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

from mpi4py import MPI

from scalatrace.replay.common.errors import ReplayError
from scalatrace.replay.transport.args import (
    Constant,
    Count,
    Counts,
    Handles,
    Ints,
    Out,
    Ref,
    Status,
    Statuses,
    Text,
    Wide,
    Wides,
)

INT_MAX = 2**31 - 1
STATUS_BYTES = MPI._sizeof(MPI.Status)

_LIBRARIES = (ctypes.CDLL(None), ctypes.CDLL(MPI.__file__))
_CONSTANTS = {
    Constant.IN_PLACE: int(MPI.IN_PLACE),
    Constant.NULL: 0,
    Constant.ARGV_NULL: 0,
    Constant.UNWEIGHTED: int(MPI.UNWEIGHTED),
}


_HANDLES: dict[int, Any] = {4: ctypes.c_int, 8: ctypes.c_void_p}
"""What handles are in C, by their size: MPICH's are ints, Open MPI's pointers."""

_TRUNCATED = (MPI.ERR_TRUNCATE, MPI.ERR_IN_STATUS, MPI.ERR_PENDING)

Step = Callable[[], None]


class Around:
    """What is to be done just before and after each time that a call is made."""

    __slots__ = ("after", "before")

    def __init__(self) -> None:
        self.before: list[Step] = []
        self.after: list[Step] = []


class Ready:
    """A call with its arguments converted, to be made any number of times."""

    __slots__ = ("after", "before", "call", "name")

    truncates = False
    """Whether messages may be too long for their receives, as in the recorded program."""

    def __init__(self, name: str, function: Any, arguments: list[Any], around: Around) -> None:
        self.name, self.call = name, partial(function, *arguments)
        self.before, self.after = around.before, around.after

    def __call__(self) -> None:
        """Make the call and put its results where the arguments say. Raises ReplayError."""
        for step in self.before:
            step()
        code = self.call()
        if code and not (Ready.truncates and MPI.Get_error_class(code) in _TRUNCATED):
            raise self.refused(code)
        for step in self.after:
            step()

    def refused(self, code: int) -> ReplayError:
        """Return the error of a call that MPI refused."""
        return ReplayError(f"{self.name}: {MPI.Get_error_string(code)}")


def ready(prefix: str, op: str, args: Sequence[Any]) -> Ready:
    """Convert the arguments of `<prefix><op>`, in its large-count form where a count needs it."""
    large = _is_large(args)
    name, function = _function(prefix, op, large)
    around = Around()
    converted = [_CONVERTERS.get(type(arg), _CONVERTERS[object])(arg, large, around) for arg in args]
    return Ready(name, function, converted, around)


@cache
def _function(prefix: str, op: str, large: bool) -> tuple[str, Any]:
    name = f"{prefix}{op}_c" if large else f"{prefix}{op}"
    return name, symbol(name)


@cache
def symbol(name: str) -> Any:
    """Return a C function. Raises ReplayError when this MPI has none of that name."""
    for library in _LIBRARIES:
        try:
            return getattr(library, name)
        except AttributeError:
            continue
    raise ReplayError(f"this MPI has no {name}")


def has(name: str) -> bool:
    """Say whether this MPI has a C function."""
    try:
        symbol(name)
    except ReplayError:
        return False
    return True


def address(buffer: Any, offset: int) -> ctypes.c_void_p:
    """Return the address of a byte of a ctypes array."""
    return ctypes.c_void_p(ctypes.addressof(buffer) + offset)


def matched(status: Status) -> tuple[int, int]:
    """Return source and bytes of the message that a status is about."""
    readable, nbytes = MPI.Status(), ctypes.c_longlong()
    ctypes.memmove(MPI._addressof(readable), status.room, STATUS_BYTES)
    symbol("PMPI_Get_elements_x")(status.room, by_value(MPI.BYTE), ctypes.byref(nbytes))
    return readable.source, max(0, nbytes.value)


def _is_large(args: Sequence[Any]) -> bool:
    for arg in args:
        if type(arg) is Count and arg.n > INT_MAX:
            return True
        if type(arg) is Counts and any(n > INT_MAX for n in arg.values):
            return True
    return False


def handle_type(handle: Any) -> Any:
    """Return the C type of an mpi4py handle, or of those of its class."""
    return _HANDLES[MPI._sizeof(handle)]


def by_value(handle: Any) -> Any:
    """Return an mpi4py handle as a C argument: what it is when a call is made."""
    return handle_type(handle).from_address(MPI._addressof(handle))


def _status(arg: Status, large: bool, around: Around) -> Any:
    arg.room = (ctypes.c_char * STATUS_BYTES)()
    return arg.room


def _out(arg: Out, large: bool, around: Around) -> Any:
    room = (ctypes.c_int * max(1, arg.n))()

    def keep() -> None:
        arg.values = list(room)

    around.after.append(keep)
    return room


def _handles(arg: Handles, large: bool, around: Around) -> Any:
    if not arg.items:
        return ctypes.c_void_p(0)
    places = list(map(by_value, arg.items))
    room = (handle_type(arg.items[0]) * len(places))(*(place.value for place in places))

    def fill() -> None:
        room[:] = [place.value for place in places]

    def put_back() -> None:
        for place, value in zip(places, room):  # noqa: B905  (as many, and this is the fast way)
            place.value = value

    if isinstance(arg.items[0], MPI.Request):
        around.before.append(fill)
        around.after.append(put_back)
    return room


def _constant(arg: Constant, large: bool, around: Around) -> Any:
    if arg is Constant.INFO_NULL:
        return by_value(MPI.INFO_NULL)
    if arg is Constant.STATUS:
        return (ctypes.c_char * STATUS_BYTES)()
    return ctypes.c_void_p(_CONSTANTS[arg])


def _array(c_type: Any, values: Sequence[int]) -> Any:
    return (c_type * max(1, len(values)))(*values)


def _integer(large: bool) -> Any:
    """Return the C type of a number of elements."""
    return ctypes.c_longlong if large else ctypes.c_int


_CONVERTERS: dict[type, Callable[[Any, bool, Around], Any]] = {
    int: lambda n, large, around: ctypes.c_int(n),
    bool: lambda n, large, around: ctypes.c_int(n),
    Count: lambda count, large, around: _integer(large)(count.n),
    Counts: lambda counts, large, around: _array(_integer(large), counts.values),
    Ints: lambda ints, large, around: _array(ctypes.c_int, ints.values),
    Wide: lambda wide, large, around: ctypes.c_longlong(wide.n),
    Wides: lambda wides, large, around: _array(ctypes.c_longlong, wides.values),
    Text: lambda text, large, around: ctypes.c_char_p(text.text.encode("utf-8", "surrogateescape")),
    Status: _status,
    Statuses: lambda statuses, large, around: (ctypes.c_char * (STATUS_BYTES * max(1, statuses.n)))(),
    Ref: lambda ref, large, around: ctypes.c_void_p(MPI._addressof(ref.handle)),
    Out: _out,
    Handles: _handles,
    Constant: _constant,
    ctypes.c_void_p: lambda place, large, around: place,
    object: lambda handle, large, around: by_value(handle),
}
"""What an argument is in C, by its type; `object` stands for the handles of mpi4py."""
