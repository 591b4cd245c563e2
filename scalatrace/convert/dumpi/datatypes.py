"""Sizes of the datatypes of one rank of a DUMPI trace."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from scalatrace.convert.collectives import BYTE
from scalatrace.trace.model.tables import Datatype

__all__ = ["DumpiTypes"]

_PREDEFINED = (
    ("", 0), ("", 0), ("CHAR", 1), ("SIGNED_CHAR", 1), ("UNSIGNED_CHAR", 1), ("BYTE", 1), ("WCHAR", 4),
    ("SHORT", 2), ("UNSIGNED_SHORT", 2), ("INT", 4), ("UNSIGNED", 4), ("LONG", 8), ("UNSIGNED_LONG", 8),
    ("FLOAT", 4), ("DOUBLE", 8), ("LONG_DOUBLE", 16), ("LONG_LONG_INT", 8), ("UNSIGNED_LONG_LONG", 8),
    ("LONG_LONG", 8), ("PACKED", 1), ("", 0), ("", 0), ("FLOAT_INT", 8), ("DOUBLE_INT", 12), ("LONG_INT", 12),
    ("SHORT_INT", 6), ("2INT", 8), ("LONG_DOUBLE_INT", 20),
)  # fmt: skip
"""Names and usual sizes by number (dumpi/common/constants.h); a file may have other sizes."""

_REPEATED: dict[str, Callable[[dict[str, Any]], int]] = {
    "Type_contiguous": lambda a: a["count"],
    "Type_vector": lambda a: a["count"] * a["blocklength"],
    "Type_hvector": lambda a: a["count"] * a["blocklength"],
    "Type_create_hvector": lambda a: a["count"] * a["blocklength"],
    "Type_create_indexed_block": lambda a: a["count"] * a["blocklength"],
    "Type_indexed": lambda a: sum(a["lengths"]),
    "Type_hindexed": lambda a: sum(a["lengths"]),
    "Type_create_hindexed": lambda a: sum(a["blocklengths"]),
    "Type_create_subarray": lambda a: prod(a["subsizes"]),
    "Type_create_darray": lambda a: prod(a["gsizes"]) // max(a["size"], 1),
    "Type_create_resized": lambda a: 1,
    "Type_dup": lambda a: 1,
}
"""Elements of the old type in the new one; a distributed array has the mean of its ranks."""


class DumpiTypes:
    """The datatypes of a rank, by the numbers that are valid at this place of its calls.

    Args:
        sizes: bytes by number, where the file has them.
    """

    def __init__(self, sizes: tuple[int, ...] | None) -> None:
        self._sizes = {number: size for number, (_, size) in enumerate(_PREDEFINED)}
        if sizes is not None:
            self._sizes |= {number: size for number, size in enumerate(sizes) if size > 0}

    def follow(self, name: str, arguments: dict[str, Any]) -> None:
        """Note the type that a call makes; other calls make none."""
        if name in ("Type_struct", "Type_create_struct"):
            lengths = arguments["lengths" if name == "Type_struct" else "blocklengths"]
            sizes = [self._sizes.get(number) for number in arguments["oldtypes"]]
            known_sizes = [size for size in sizes if size is not None]
            if len(known_sizes) == len(sizes):
                pairs = zip(lengths, known_sizes, strict=False)
                self._sizes[arguments["newtype"]] = sum(length * size for length, size in pairs)
        elif name in _REPEATED:
            size = self._sizes.get(arguments["oldtype"])
            if size is not None:
                self._sizes[arguments["newtype"]] = size * _REPEATED[name](arguments)

    def of(self, number: int) -> tuple[Datatype, int]:
        """Return a predefined type and 1, or MPI_BYTE and the bytes of another one.

        Raises:
            KeyError: its size is not known.
        """
        size = self._sizes[number]
        name = _PREDEFINED[number][0] if number < len(_PREDEFINED) else ""
        return (Datatype(f"MPI_{name}", size, size), 1) if name else (BYTE, size)
