"""How the executor treats each MPI operation.

message      Send, Recv and their variants, probes
completion   Wait, Test and their variants: of a test, what it completed
collective   by an algorithm of the platform
one-sided    Put, Get, ...: transfers that a flush, unlock or fence waits for
recorded     takes as long as in the trace: files, ports, neighbourhood collectives, ...
free         takes no time: Init, Finalize, Comm_free, Pready, ...
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cache

from scalatrace.operations import COLLECTIVE_NAMES, MESSAGES, Category, Meeting, Mode, Operation, operation

__all__ = ["COLLECTIVES", "EngineOp", "Flags", "Treatment", "treatment"]

COLLECTIVES = {name: number for number, name in enumerate(COLLECTIVE_NAMES)}
"""Operation -> number in st_sim.h."""


class EngineOp(IntEnum):
    """enum st_sim_op."""

    SEQUENCE = 0
    LOCAL = 1
    SEND = 2
    RECV = 3
    SENDRECV = 4
    COLLECTIVE = 5
    WAIT = 6
    WAITALL = 7
    WAITANY = 8
    WAITSOME = 9
    START = 10
    STARTALL = 11
    FREE = 12
    PROBE = 13
    MRECV = 14
    PUT = 15
    GET = 16
    FLUSH = 17
    KERNEL = 18
    CANCEL = 19
    NAME = 20


class Flags(IntEnum):
    """enum st_sim_flags."""

    NONBLOCKING = 1
    PERSISTENT = 2
    SYNCHRONOUS = 4
    BUFFERED = 8
    STEADY = 16
    FLUSHES = 32
    RECORDED = 64
    POLLS = 128
    PARTITIONED = 256
    CANCELLABLE = 512
    AWAITED = 1024
    FROM_ROOT = 2048
    AT_ROOT = 4096
    LISTS = 8192
    IN_TURN = 16384
    OF_WINDOW = 32768
    OF_FILE = 65536
    BLOCK_LISTS = 131072


@dataclass(frozen=True)
class Treatment:
    """Of one operation.

    Attributes:
        flags: sum of `Flags`.
        collective: operation of the platform's algorithms ("allreduce"), "" for none.
        recorded: whether it takes as long as in the trace.
        note: an assumption that the user should know, "" for none.
    """

    op: EngineOp
    flags: int = 0
    collective: str = ""
    recorded: bool = False
    note: str = ""


_COMPLETIONS = {
    "Wait": EngineOp.WAIT, "Test": EngineOp.WAIT, "Waitall": EngineOp.WAITALL, "Testall": EngineOp.WAITALL,
    "Waitany": EngineOp.WAITANY, "Testany": EngineOp.WAITANY, "Waitsome": EngineOp.WAITSOME,
    "Testsome": EngineOp.WAITSOME,
    "Start": EngineOp.START, "Startall": EngineOp.STARTALL, "Request_free": EngineOp.FREE,
    "Cancel": EngineOp.CANCEL,
}  # fmt: skip

_FLUSHES = {
    "Win_flush", "Win_flush_all", "Win_flush_local", "Win_flush_local_all", "Win_unlock", "Win_unlock_all",
    "Win_complete",
}  # fmt: skip
_MEANS = "blocks of different sizes count as their mean"
_RECORDED = "takes its recorded time, without waiting for others"
_FREE_CATEGORIES = (Category.DATATYPE, Category.ENVIRONMENT, Category.COMPLETION, Category.START)


@cache
def treatment(name: str) -> Treatment:
    """Return how an operation, without `MPI_`, is simulated."""
    row = operation(name)
    base = row.base
    flags = Flags.PERSISTENT if row.flow_later else Flags.NONBLOCKING if row.makes_request else 0
    if base in _COMPLETIONS:
        return Treatment(_COMPLETIONS[base])
    if row.category in MESSAGES or row.category is Category.PERSISTENT:
        return _message(row, flags)
    if row.category is Category.PROBE:
        # A matched message is received at once; Mrecv then only copies it.
        return Treatment(EngineOp.RECV if row.matched else EngineOp.PROBE)
    if row.collective:
        note = _MEANS if row.has_unequal_blocks and row.is_pairwise else ""
        lists = Flags.BLOCK_LISTS if row.has_unequal_blocks else 0
        return Treatment(EngineOp.COLLECTIVE, flags | lists, row.collective, note=note)
    if row.meeting is Meeting.SETUP:
        if row.category is Category.WINDOW:
            return Treatment(EngineOp.COLLECTIVE, Flags.FLUSHES, "barrier")
        return Treatment(EngineOp.COLLECTIVE, flags, "allreduce", note="costs an Allreduce of 8 bytes")
    if base in _FLUSHES:
        return Treatment(EngineOp.FLUSH)
    if row.category is Category.ONE_SIDED:
        gets = row.recvs is not None
        return Treatment(EngineOp.GET if gets else EngineOp.PUT, flags)
    if row.category in _FREE_CATEGORIES or base in ("Comm_free", "Win_lock", "Win_lock_all"):
        return Treatment(EngineOp.LOCAL, flags)
    return Treatment(EngineOp.LOCAL, flags, recorded=True, note=_RECORDED)


def _message(row: Operation, flags: int) -> Treatment:
    if row.matched:
        return Treatment(EngineOp.MRECV, flags)
    if row.sends is not None and row.recvs is not None:
        return Treatment(EngineOp.SENDRECV, flags)
    if row.recvs is not None:
        return Treatment(EngineOp.RECV, flags)
    mode = {Mode.SYNCHRONOUS: Flags.SYNCHRONOUS, Mode.BUFFERED: Flags.BUFFERED}.get(row.mode, 0)
    return Treatment(EngineOp.SEND, flags | mode)
