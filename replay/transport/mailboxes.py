"""Receive every message on some communicators. No tracer sees these receives.

On each communicator a receive from any source is always posted. So a rank waits inside MPI, both for its own
request and for messages. Polling would either delay it or take time from other ranks.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from mmap import mmap
from typing import Any, NamedTuple

from mpi4py import MPI

from scalatrace.replay.common.errors import ReplayError
from scalatrace.replay.transport import clibrary
from scalatrace.replay.transport.args import Constant, Count, Ref

MailboxMessage = tuple[int, int]
"""Key of the communicator of a message, and its bytes."""


class _Mailbox(NamedTuple):
    key: int
    request: MPI.Request
    start: clibrary.Ready
    room: Any


class Mailboxes:
    """The receives of one rank."""

    def __init__(self, nbytes: int) -> None:
        """Take the bytes of the largest message."""
        large = clibrary.has("PMPI_Recv_init_c")
        self._room = max(1, nbytes if large else min(nbytes, clibrary.INT_MAX))  # MPI can send no larger ones
        self._boxes: list[_Mailbox] = []
        self._handle = clibrary.handle_type(MPI.Request)
        self._index, self._flag = ctypes.c_int(), ctypes.c_int()
        wide = self._room > clibrary.INT_MAX
        self._nbytes: Any = ctypes.c_longlong() if wide else ctypes.c_int()
        self._status = (ctypes.c_char * clibrary.STATUS_BYTES)()
        byte, count = clibrary.by_value(MPI.BYTE), ctypes.byref(self._nbytes)
        self._get_count = partial(
            clibrary.symbol("PMPI_Get_count_c" if wide else "PMPI_Get_count"), self._status, byte, count
        )
        self._arrange()

    def open(self, key: int, comm: Any) -> None:
        """Start to receive on a communicator."""
        room, request = self._memory(), MPI.Request()
        message = (clibrary.address(room, 0), Count(self._room), MPI.BYTE, MPI.ANY_SOURCE, MPI.ANY_TAG)
        clibrary.ready("PMPI_", "Recv_init", (*message, comm, Ref(request)))()
        start = clibrary.ready("PMPI_", "Start", (Ref(request),))
        start()
        self._boxes.append(_Mailbox(key, request, start, room))
        self._arrange()

    def close(self, key: int) -> None:
        """Stop receiving on a communicator."""
        for box in [box for box in self._boxes if box.key == key]:
            clibrary.ready("PMPI_", "Cancel", (Ref(box.request),))()
            clibrary.ready("PMPI_", "Wait", (Ref(box.request), Constant.STATUS))()
            clibrary.ready("PMPI_", "Request_free", (Ref(box.request),))()
            self._boxes.remove(box)
        self._arrange()

    def take(self) -> MailboxMessage | None:
        """Receive a message that has arrived; None when there is none."""
        if not self._boxes:
            return None
        self._call(self._testany)
        return self._take_from(self._index.value) if self._flag.value else None

    def take_own(self, comm: Any, tag: int) -> int:
        """Receive a message of this rank to itself on a communicator of one rank; return its bytes."""
        room = self._memory()
        message = (clibrary.address(room, 0), Count(self._room), MPI.BYTE, 0, tag)
        status = clibrary.address(self._status, 0)
        clibrary.ready("PMPI_", "Recv", (*message, comm, status))()
        self._call(self._get_count)
        return int(self._nbytes.value)

    def wait(self, request: Any) -> MailboxMessage | None:
        """Wait for a request or a message, whatever is first; return None for the request."""
        place = clibrary.by_value(request)
        self._slots[0] = place.value
        self._call(self._test)  # what has ended already, MPI would not tell from what there never was
        if not self._flag.value:
            self._call(self._waitany)
            if self._index.value:
                return self._take_from(self._index.value - 1)
        place.value = self._slots[0]
        return None

    def _memory(self) -> Any:
        """Return memory for a message. The system does not allocate pages that are not written."""
        return (ctypes.c_char * self._room).from_buffer(mmap(-1, self._room))

    def _take_from(self, at: int) -> MailboxMessage:
        box = self._boxes[at]
        self._call(self._get_count)
        nbytes = self._nbytes.value
        box.start()
        return box.key, nbytes

    def _call(self, call: Callable[[], int]) -> None:
        if code := call():
            raise ReplayError(f"waiting for messages: {MPI.Get_error_string(code)}")

    def _arrange(self) -> None:
        """Prepare the calls for these mailboxes: the first slot is for a request that is waited for."""
        n, pointer, size = len(self._boxes), ctypes.byref, ctypes.sizeof(self._handle)
        handles = [clibrary.by_value(box.request).value for box in self._boxes]
        self._slots = slots = (self._handle * (n + 1))(0, *handles)
        index, flag, status = pointer(self._index), pointer(self._flag), self._status
        self._test = partial(clibrary.symbol("PMPI_Test"), slots, flag, status)
        self._testany = partial(clibrary.symbol("PMPI_Testany"), n, pointer(slots, size), index, flag, status)
        self._waitany = partial(clibrary.symbol("PMPI_Waitany"), n + 1, slots, index, status)
