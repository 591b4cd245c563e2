"""MPI-IO. Files are in a folder of the replay under their last name. Their content is random."""

from __future__ import annotations

import os
from typing import Any

from scalatrace.replay.common.errors import ReplayError
from scalatrace.replay.common.view import AnyCall
from scalatrace.replay.engine.handlers import handles
from scalatrace.replay.engine.rank import RankReplay, returns_request
from scalatrace.replay.transport.args import Constant, Count, Ref, Text, Wide


def file_of(rank: RankReplay, event: AnyCall) -> Any:
    """Return the file of an event: the n-th opened on its communicator.

    Raises:
        ReplayError: nothing in the trace has opened it.
    """
    key = (event.comm.family, event["fh"])
    if key not in rank.files:
        raise ReplayError(f"file {key[1]} of communicator {key[0]} is used, but was not opened")
    return rank.files[key]


@handles("File_open")
def open_(rank: RankReplay, event: AnyCall) -> None:
    """MPI_File_open(comm, filename, amode, info, fh)."""
    path = rank.file_path(event["filename"])
    if event.comm.rank == 0:
        _prepare(path, event["amode"])
    handle = rank.mpi.handle("file")
    amode = rank.named_constant(event["amode"])
    rank.issue("File_open", rank.comm(event.comm.family), Text(path), amode, Constant.INFO_NULL, Ref(handle))
    rank.files[event.comm.family, event["fh"]] = handle


def _prepare(path: str, amode: str) -> None:
    """Make sure that the file is there, or is not, as the program found it."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if "MPI_MODE_EXCL" in amode:
        if os.path.exists(path):
            os.unlink(path)
    else:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o666))


@handles("File_delete")
def delete(rank: RankReplay, event: AnyCall) -> None:
    """MPI_File_delete(filename, info)."""
    path = rank.file_path(event["filename"])
    _prepare(path, "")
    rank.issue("File_delete", Text(path), Constant.INFO_NULL)


@handles("File_close")
def close(rank: RankReplay, event: AnyCall) -> None:
    """MPI_File_close(fh)."""
    rank.issue("File_close", Ref(file_of(rank, event)))
    del rank.files[event.comm.family, event["fh"]]


@handles("File_set_view")
def set_view(rank: RankReplay, event: AnyCall) -> None:
    """MPI_File_set_view(fh, disp, etype, filetype, datarep, info)."""
    types = [rank.type(event[name]).handle for name in ("etype", "filetype")]
    args = [Wide(event["disp"]), *types, Text(event["datarep"]), Constant.INFO_NULL]
    rank.issue("File_set_view", file_of(rank, event), *args)


@handles("File_seek", "File_seek_shared")
def seek(rank: RankReplay, event: AnyCall) -> None:
    """MPI_File_seek(fh, offset, whence)."""
    rank.issue(event.op, file_of(rank, event), Wide(event["offset"]), rank.named_constant(event["whence"]))


@handles("File_set_size", "File_preallocate")
def set_size(rank: RankReplay, event: AnyCall) -> None:
    """MPI_File_set_size(fh, size)."""
    rank.issue(event.op, file_of(rank, event), Wide(event["size"]))


@handles("File_set_atomicity")
def set_atomicity(rank: RankReplay, event: AnyCall) -> None:
    """MPI_File_set_atomicity(fh, flag)."""
    rank.issue("File_set_atomicity", file_of(rank, event), event["flag"])


@handles("File_sync")
def sync(rank: RankReplay, event: AnyCall) -> None:
    """MPI_File_sync(fh)."""
    rank.issue("File_sync", file_of(rank, event))


def transfers() -> tuple[str, ...]:
    """Return the names of all reads and writes but the halves of split collectives."""
    kinds = ("", "_at", "_all", "_at_all", "_shared", "_ordered")
    plain = [f"File_{verb}{kind}" for verb in ("read", "write") for kind in kinds]
    nonblocking = [f"File_i{verb}{kind}" for verb in ("read", "write") for kind in kinds[:-1]]
    return (*plain, *nonblocking)


@handles(*transfers())
def transfer(rank: RankReplay, event: AnyCall) -> None:
    """MPI_File_write_at(fh, offset, buf, count, datatype, status), and all like it."""
    status = [] if returns_request(event.op) else [Constant.STATUS]
    rank.start(event, file_of(rank, event), *_offset(event), *_data(rank, event), *status)


def halves(name: str) -> tuple[str, ...]:
    """Return the names of the first or second halves of split collectives."""
    kinds = ("_all", "_at_all", "_ordered")
    return tuple(f"File_{verb}{kind}_{name}" for verb in ("read", "write") for kind in kinds)


@handles(*halves("begin"))
def begin(rank: RankReplay, event: AnyCall) -> None:
    """MPI_File_write_all_begin(fh, buf, count, datatype): the memory is in use until the end."""
    data = _data(rank, event)
    rank.issue(event.op, file_of(rank, event), *_offset(event), *data)
    rank.split_io[event.comm.family, event["fh"]] = (data[0], rank.take_buffers())


@handles(*halves("end"))
def end(rank: RankReplay, event: AnyCall) -> None:
    """MPI_File_write_all_end(fh, buf, status): with the buffer of its beginning."""
    key = (event.comm.family, event["fh"])
    if key not in rank.split_io:
        raise ReplayError(f"{event.op} without its beginning")
    address, memory = rank.split_io.pop(key)
    rank.issue(event.op, file_of(rank, event), address, Constant.STATUS)
    rank.buffers.give_back(memory)


def _offset(event: AnyCall) -> list[Any]:
    return [Wide(event["offset"])] if "_at" in event.op else []


def _data(rank: RankReplay, event: AnyCall) -> list[Any]:
    built, n = rank.type(event["datatype"]), event["count"]
    writes = "write" in event.op
    return [(rank.out if writes else rank.room)(n, built), Count(n), built.handle]
