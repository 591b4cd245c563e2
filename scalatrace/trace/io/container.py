"""Container of trace files (docs/reference/format.md): magic, version, flags, sizes, checksum, payload."""

from __future__ import annotations

import struct
import zlib
from os import PathLike, fspath
from typing import NamedTuple

from scalatrace.errors import FormatError

__all__ = ["FORMAT_VERSION", "MAGIC", "Container", "is_symbolic", "pack_container", "read_container"]

MAGIC = b"\x89STRC\r\n\x1a"
FORMAT_VERSION = 1
STREAMS_VERSION = 2
"""Version of files with calls of several threads of a rank."""

DEFLATED = 1
PART = 2
SYMBOLIC = 4
HEADER = struct.Struct("<8sHHQQI")
CHECKED = slice(8, 28)
"""Header bytes that the checksum covers; what stands before them is the magic, after them the checksum."""

MAX_DEFLATION, SMALL_PAYLOAD = 64, 1 << 26
"""A payload of more than SMALL_PAYLOAD bytes that deflates to less than 1/MAX_DEFLATION of them is stored as
it is. A deflated one is refused before any allocation. core/src/io/container.cpp writes the same."""

MAX_INFLATION = 1040
"""Maximum expansion of a deflate stream."""

MAX_PAYLOAD = 1 << 31

FAST_COMPRESSION_NBYTES = 1 << 16
"""Payloads above this size (bytes) use zlib's level 7 in place of 9: 1 % larger, in a third of the time."""


class Container(NamedTuple):
    """A payload and the facts of its header.

    Attributes:
        payload: msgpack bytes, inflated.
        part: the file is one rank's or one subtree's part, for `scalatrace merge` only.
        symbolic: it holds formulas, for any number of ranks.
        deflated: the payload was stored deflated, so its offsets are not the file's.
    """

    payload: bytes
    part: bool
    deflated: bool
    symbolic: bool = False


def pack_container(
    payload: bytes,
    compress: bool = True,
    part: bool = False,
    symbolic: bool = False,
    streams: bool = False,
) -> bytes:
    """Return the bytes of a file with this payload, deflated only if that makes it smaller."""
    level = 7 if len(payload) > FAST_COMPRESSION_NBYTES else 9
    deflated = zlib.compress(payload, level) if compress else payload
    stored = deflated if len(deflated) < len(payload) <= _most(len(deflated)) else payload
    flags = (DEFLATED if stored is not payload else 0) | (PART if part else 0) | (SYMBOLIC if symbolic else 0)
    header = HEADER.pack(
        MAGIC, STREAMS_VERSION if streams else FORMAT_VERSION, flags, len(stored), len(payload), 0
    )
    checksum = zlib.crc32(stored, zlib.crc32(header[CHECKED]))
    return header[:-4] + struct.pack("<I", checksum) + stored


def _most(stored_size: int) -> int:
    """Return the size of the largest payload that so many deflated bytes may hold."""
    return min(
        MAX_PAYLOAD, MAX_INFLATION * (stored_size + 1), max(SMALL_PAYLOAD, MAX_DEFLATION * stored_size)
    )


def is_symbolic(path: str | PathLike[str]) -> bool:
    """Return whether the header of a file marks it as formulas (.stx)."""
    try:
        with open(path, "rb") as file:
            head = file.read(HEADER.size)
    except OSError:
        return False
    return len(head) == HEADER.size and head.startswith(MAGIC) and bool(HEADER.unpack(head)[2] & SYMBOLIC)


def read_container(data: bytes, path: str | PathLike[str] = "") -> Container:
    """Take a file's bytes apart.

    Raises:
        FormatError: not a trace, of another version, cut, or damaged.
    """
    path = fspath(path)
    if data[: len(MAGIC)] != MAGIC[: len(data)] or not data:
        raise FormatError("not a scalatrace trace; give a .st file", path, 0)
    if len(data) < HEADER.size:
        raise FormatError("the file ends within its header; copy or record it again", path, len(data))
    _, version, flags, stored_size, size, checksum = HEADER.unpack_from(data)
    stored = data[HEADER.size :]
    _check_header(version, flags, stored_size, len(stored), path)
    if zlib.crc32(stored, zlib.crc32(data[CHECKED])) != checksum:
        raise FormatError(
            "the checksum differs: the file is damaged; copy or record it again", path, CHECKED.stop
        )
    deflated = bool(flags & DEFLATED)
    payload = _inflate(stored, size, path) if deflated else stored
    if len(payload) != size:
        raise FormatError(
            f"corrupt trace: the payload has {len(payload)} bytes, not {size}", path, HEADER.size
        )
    return Container(payload, bool(flags & PART), deflated, bool(flags & SYMBOLIC))


def _check_header(version: int, flags: int, stored_size: int, payload_size: int, path: str) -> None:
    if version not in (FORMAT_VERSION, STREAMS_VERSION):
        raise FormatError(
            f"format version {version} is unknown, expected "
            f"{STREAMS_VERSION} or less; use the scalatrace that wrote it",
            path,
            8,
        )
    if flags & ~(DEFLATED | PART | SYMBOLIC):
        raise FormatError(f"unknown flags {flags:#x}; use the scalatrace that wrote it", path, 10)
    if stored_size != payload_size:
        reason = (
            "the file is cut short" if payload_size < stored_size else "the file has bytes after its payload"
        )
        raise FormatError(
            f"{reason}: {payload_size} bytes instead of {stored_size}; copy or record it again",
            path,
            HEADER.size + min(payload_size, stored_size),
        )


def _inflate(stored: bytes, size: int, path: str) -> bytes:
    if size > _most(len(stored)):
        raise FormatError(f"corrupt trace: {len(stored)} bytes cannot inflate to {size}", path, 20)
    stream = zlib.decompressobj()
    try:
        payload = stream.decompress(stored, size + 1)
    except zlib.error as error:
        raise FormatError(
            f"corrupt trace: the payload does not inflate: {error}", path, HEADER.size
        ) from None
    if not stream.eof or stream.unused_data:
        raise FormatError("corrupt trace: the deflated payload has a wrong length", path, HEADER.size)
    return payload
