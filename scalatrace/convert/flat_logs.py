"""A trace of flat logs (docs/reference/format.md)."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from scalatrace.convert.ranks import CallError, RankCalls, write_trace
from scalatrace.errors import FormatError
from scalatrace.trace.io.flatlog import FlatCall, FlatLog
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.values.vec import SPECIAL

__all__ = ["convert_logs", "log_files"]

_SPECIALS = frozenset(SPECIAL.values())
_OF_MEMBERS = frozenset({"Comm_create_group", "Comm_create_from_group", "Intercomm_create_from_groups"})
"""Calls that not all members of the parent make."""


def log_files(folder: Path) -> list[Path]:
    """Return the logs of all ranks, in order.

    Raises:
        FormatError: the folder has none, or not one of each rank of one run.
    """
    logs = {log.rank: log for log in map(FlatLog, folder.glob("rank-*.log"))}
    if not logs:
        raise FormatError("no flat logs: expected rank-0.log and so on", folder)
    sizes = sorted({log.nprocs for log in logs.values()})
    if len(sizes) > 1:
        raise FormatError(f"some logs are of {sizes[0]} ranks, others of {sizes[-1]}", folder)
    nprocs = sizes[0]
    missing = next((rank for rank in range(nprocs) if rank not in logs), None)
    if missing is not None:
        raise FormatError(f"there is no log of rank {missing}; {nprocs} ranks are needed", folder)
    return [Path(logs[rank].path) for rank in range(nprocs)]


def convert_logs(folder: str | PathLike[str], path: str | PathLike[str]) -> None:
    """Write the trace of the logs in a folder. It has no times: logs have none. Raises FormatError."""
    files = log_files(Path(folder))
    meta = {"program": f"flat logs in {Path(folder).name}"}
    write_trace(range(len(files)), lambda rank: _rank(FlatLog(files[rank])), path, meta)


def _rank(log: FlatLog) -> RankCalls:
    calls = RankCalls(log.rank, log.nprocs)
    for call in log:
        schema = log.schemas[call.op]
        _define(calls, log, call)
        params = [
            (name, kind, _value(log, kind, value))
            for (name, kind), value in zip(schema, call.values, strict=True)
        ]
        try:
            calls.append(call.op, params, log.stacks[call.signature], thread=log.thread)
        except CallError as error:
            raise FormatError(f"MPI_{call.op}: {error}", log.path) from None
    return calls


def _value(log: FlatLog, kind: Kind, value: Any) -> Any:
    """Return a value as `RankCalls.append` takes it: a communicator is its number in the log, as a key."""
    if value in _SPECIALS:
        return value
    if kind is Kind.TYPE:
        return log.types[value]
    return ("log", value) if kind is Kind.COMM else value


def _define(calls: RankCalls, log: FlatLog, call: FlatCall) -> None:
    """Define the communicators of a call; those that it makes have an ordinal."""
    named = [
        (name, value)
        for (name, kind), value in zip(log.schemas[call.op], call.values, strict=True)
        if kind is Kind.COMM
    ]
    parent: object = "world"
    for name, value in named:
        is_new = name.startswith("newcomm")
        ordinal = calls.next_ordinal(parent) if is_new and call.op not in _OF_MEMBERS else None
        if value in _SPECIALS:
            continue
        comm = log.comms[value]
        above = ("log", comm.parent) if comm.parent >= 0 else "world"
        calls.comm(("log", value), comm.kind, comm.members, above, comm.remote, ordinal)
        if not is_new:
            parent = ("log", value)
