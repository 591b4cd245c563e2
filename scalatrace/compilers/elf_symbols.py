"""ELF files as pyelftools reads them: errors of damaged ones, and names in dynamic symbol tables."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from elftools.common.exceptions import DWARFError, ELFError
from elftools.construct import ConstructError
from elftools.elf.elffile import ELFFile

from scalatrace.errors import FormatError
from scalatrace.files import unreadable

__all__ = ["opened", "symbols"]

DAMAGE = (
    ELFError, DWARFError, ConstructError, zlib.error, struct.error, AssertionError, ArithmeticError,
    LookupError, ValueError, TypeError, AttributeError, RecursionError, MemoryError,
)  # fmt: skip
"""What pyelftools raises for files that are none, or damaged."""


@contextmanager
def opened(path: str | Path) -> Iterator[ELFFile]:
    """A program or library, read in the context.

    Raises:
        FormatError: the file cannot be read, is no ELF file, or is damaged where the context reads it.
    """
    try:
        with open(path, "rb") as file:
            yield ELFFile(file)
    except OSError as error:
        raise unreadable(error, str(path)) from None
    except DAMAGE as error:
        raise FormatError(f"no ELF program or library, or damaged: {error}", str(path)) from None


def symbols(path: str | Path, defined: bool) -> set[str]:
    """The names that a program or library defines for others, or wants from others.

    Raises:
        FormatError: as `opened`.
    """
    with opened(path) as elf:
        table: Any = elf.get_section_by_name(".dynsym")
        listed = table.iter_symbols() if table is not None else ()
        return {s.name for s in listed if (s["st_shndx"] != "SHN_UNDEF") == defined}
