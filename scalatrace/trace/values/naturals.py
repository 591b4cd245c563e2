"""Natural numbers in seven bits a byte, low ones first; the top bit is set in all bytes but the last."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["numbers", "put", "read"]

MAX_BYTES = 9
"""Bytes of a number of 63 bits."""


def put(out: bytearray, n: int) -> None:
    """Append a number."""
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)


def read(raw: bytes, at: int = 0) -> tuple[int, int]:
    """Read the number at an offset; return it and its end. Raises ValueError if there is none."""
    n = 0
    for i, byte in enumerate(raw[at : at + MAX_BYTES]):
        n |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            return n, at + i + 1
    raise ValueError("a number has no end or too many bytes")


def numbers(raw: bytes) -> Iterator[int]:
    """Yield all numbers of a column. Raises ValueError at a number without end."""
    return iter(raw) if raw.isascii() else _each(raw)


def _each(raw: bytes) -> Iterator[int]:
    at = 0
    while at < len(raw):
        n, at = read(raw, at)
        yield n
