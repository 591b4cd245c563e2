"""Offsets of source lines: the inverse of `locations`, for selections that name lines before a run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from elftools.elf.elffile import ELFFile

from scalatrace.compilers.elf_symbols import opened
from scalatrace.symbols.module import has_lines, line_rows, source_file
from scalatrace.trace.model.sites import Range

__all__ = ["offsets_of"]


def offsets_of(path: str | Path, site: Range) -> list[Range]:
    """Return the ranges of offsets in a program whose source lines are in a range of a file.

    Raises:
        FormatError: the file cannot be read, or is no ELF file.
    """
    name = Path(path).name
    with opened(path) as elf:
        found = sorted(set(_spans(elf, site))) if has_lines(elf) else []
    merged: list[tuple[int, int]] = []
    for low, high in found:
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return [(name, low, high) for low, high in merged]


def _spans(elf: ELFFile, site: Range) -> Iterator[tuple[int, int]]:
    """First and last offset of each row of the line programs that is in the range."""
    file, first, last = site
    dwarf = elf.get_dwarf_info()
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        if program is None:
            continue
        rows, names = line_rows(program), dict[int, str]()
        for (start, number, line), (end, _, _) in pairwise(rows):
            if line and first <= line <= last and start < end:
                if number not in names:
                    names[number] = source_file(program, unit, number)
                if names[number].endswith(file):
                    yield start, end - 1
