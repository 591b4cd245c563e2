"""One program or library: source line and function of addresses in it, from DWARF and the symbol tables.

Debug information may be in a file of its own, found by build ID, or by name and checksum in `.gnu_debuglink`.
"""

from __future__ import annotations

import os
import struct
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from elftools.dwarf.ranges import BaseAddressEntry
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection, SymbolTableSection

from scalatrace.compilers.elf_symbols import opened
from scalatrace.symbols.names import function_name
from scalatrace.trace.model.sites import Range

__all__ = ["Location", "build_id", "has_lines", "line_rows", "locations", "offsets_of", "source_file"]

DEBUG_FOLDER = Path("/usr/lib/debug")


class Location(NamedTuple):
    """Where an address is.

    Attributes:
        file: path of the source file as the compiler was given it; "" if there is no debug information.
        line: 0 without debug information.
        function: its name; "" if no symbol is known.
    """

    file: str
    line: int
    function: str


def locations(path: str | Path, addresses: Iterable[int]) -> dict[int, Location]:
    """Source line and function of addresses, as the file numbers them; addresses without either are left out.

    Raises:
        FormatError: the file cannot be read, or is no ELF file.
    """
    wanted = sorted(set(addresses))
    with opened(path) as elf:
        functions = dict(_functions(elf, wanted))
        lines = dict(_lines(elf, wanted)) if has_lines(elf) else {}
        for separate in () if lines else _separate_files(elf, Path(path)):
            with open(separate, "rb") as debug:
                debug_elf = ELFFile(debug)
                functions = dict(_functions(debug_elf, wanted)) | functions
                lines = dict(_lines(debug_elf, wanted)) if has_lines(debug_elf) else {}
            break
    rows = {}
    for address in wanted:
        file_name, line = lines.get(address, ("", 0))
        function = functions.get(address, "")
        if line or function:
            rows[address] = Location(file_name, line, function)
    return rows


def build_id(path: str | Path) -> str:
    """The build ID of a program or library; "": it has none.

    Raises:
        FormatError: as `locations`.
    """
    with opened(path) as elf:
        return _build_id(elf)


def _build_id(elf: ELFFile) -> str:
    note = elf.get_section_by_name(".note.gnu.build-id")
    for entry in note.iter_notes() if isinstance(note, NoteSection) else ():
        if entry["n_type"] == "NT_GNU_BUILD_ID" and isinstance(entry["n_desc"], str):
            return entry["n_desc"]
    return ""


def has_lines(elf: ELFFile) -> bool:
    """Return whether the file has line programs."""
    return bool(elf.has_dwarf_info() and elf.get_section_by_name(".debug_line") is not None)


def _functions(elf: ELFFile, wanted: list[int]) -> Iterator[tuple[int, str]]:
    """The function of each address, by the symbol tables."""
    functions: list[tuple[int, int, str]] = []
    for name in (".dynsym", ".symtab"):
        section = elf.get_section_by_name(name)  # separate debug files have empty ones of another type
        for symbol in section.iter_symbols() if isinstance(section, SymbolTableSection) else ():
            if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_value"] and symbol.name:
                functions.append((symbol["st_value"], symbol["st_size"], symbol.name))
    functions.sort()
    starts = [start for start, _, _ in functions]
    for address in wanted:
        at = bisect_right(starts, address) - 1
        if at >= 0 and address < functions[at][0] + max(functions[at][1], 1):
            yield address, function_name(functions[at][2])


def _lines(elf: ELFFile, wanted: list[int]) -> Iterator[tuple[int, tuple[str, int]]]:
    """File and line of each address, by the line programs of the units that hold it."""
    dwarf = elf.get_dwarf_info()
    for unit, addresses in _units(dwarf, wanted):
        program = dwarf.line_program_for_CU(unit)
        if program is None:
            continue
        rows = line_rows(program)
        starts = [row[0] for row in rows]
        for address in addresses:
            at = bisect_right(starts, address) - 1
            if at >= 0 and rows[at][2]:
                yield address, (source_file(program, unit, rows[at][1]), rows[at][2])


def line_rows(program: Any) -> list[tuple[int, int, int]]:
    """(address, file, line) of a line program in order; line 0 where a sequence ends."""
    rows = []
    for entry in program.get_entries():
        state = entry.state
        if state is not None:
            rows.append((state.address, state.file, 0 if state.end_sequence else state.line))
    # Where one sequence ends, another may begin: its row comes later and counts.
    return sorted(rows, key=lambda row: (row[0], row[2] != 0))


def _units(dwarf: Any, wanted: list[int]) -> Iterator[tuple[Any, list[int]]]:
    """Each compilation unit that holds some of the addresses, with these."""
    remaining = list(wanted)
    ranges = dwarf.get_aranges()
    if ranges is not None:
        by_unit: dict[int, list[int]] = {}
        for address in wanted:
            offset = ranges.cu_offset_at_addr(address)
            if offset is not None:
                by_unit.setdefault(offset, []).append(address)
                remaining.remove(address)
        for offset, addresses in by_unit.items():
            yield dwarf.get_CU_at(offset), addresses
    if not remaining:
        return
    for unit in dwarf.iter_CUs():  # compilers may write no table of addresses
        limits = _limits(dwarf, unit)
        inside = [address for address in remaining if any(low <= address < high for low, high in limits)]
        if inside:
            remaining = [address for address in remaining if address not in inside]
            yield unit, inside
        if not remaining:
            return


def _limits(dwarf: Any, unit: Any) -> list[tuple[int, int]]:
    """The ranges of addresses of a unit."""
    top = unit.get_top_DIE()
    low = top.attributes.get("DW_AT_low_pc")
    base = low.value if low is not None else 0
    if "DW_AT_ranges" in top.attributes:
        lists = dwarf.range_lists()
        entries = lists.get_range_list_at_offset(top.attributes["DW_AT_ranges"].value, unit) if lists else ()
        limits = []
        for entry in entries:
            if isinstance(entry, BaseAddressEntry):
                base = entry.base_address
            else:
                start = 0 if getattr(entry, "is_absolute", False) else base
                limits.append((start + entry.begin_offset, start + entry.end_offset))
        return limits
    high = top.attributes.get("DW_AT_high_pc")
    if low is None or high is None:
        return []
    is_length = not high.form.startswith("DW_FORM_addr")
    return [(base, base + high.value if is_length else high.value)]


def source_file(program: Any, unit: Any, number: int) -> str:
    """The path of a file of a line program."""
    header = program.header
    first = 0 if header.version >= 5 else 1
    entries = header.file_entry
    if not first <= number < len(entries) + first:
        return ""
    entry = entries[number - first]
    folders = header.include_directory
    index = entry.dir_index if header.version >= 5 else entry.dir_index - 1
    compiled_in = _attribute(unit, "DW_AT_comp_dir")
    folder = _text(folders[index]) if 0 <= index < len(folders) else ""
    return os.path.normpath(os.path.join(compiled_in, folder, _text(entry.name)))


def _attribute(unit: Any, name: str) -> str:
    attribute = unit.get_top_DIE().attributes.get(name)
    return _text(attribute.value) if attribute is not None else ""


def _text(value: object) -> str:
    return value.decode(errors="surrogateescape") if isinstance(value, bytes) else str(value)


def _separate_files(elf: ELFFile, path: Path) -> Iterator[Path]:
    """Files with the debug information of a stripped one that are there, the best first."""
    if number := _build_id(elf):
        candidate = DEBUG_FOLDER / ".build-id" / number[:2] / f"{number[2:]}.debug"
        if candidate.is_file():
            yield candidate
    link = elf.get_section_by_name(".gnu_debuglink")
    if link is not None:
        data = link.data()
        name, folder = os.path.basename(_text(data.split(b"\0", 1)[0])), path.resolve().parent
        (checksum,) = struct.unpack("<I" if elf.little_endian else ">I", data[-4:])
        for candidate in (folder / name, folder / ".debug" / name, DEBUG_FOLDER / str(folder)[1:] / name):
            if name and candidate.is_file() and zlib.crc32(candidate.read_bytes()) == checksum:
                yield candidate


def offsets_of(path: str | Path, site: Range) -> list[Range]:
    """Return the ranges of offsets in a program whose source lines are in a range of a file.

    Raises:
        FormatError: the file cannot be read, or is no ELF file.
    """
    name = Path(path).name
    with opened(path) as elf:
        spans = sorted(set(_spans(elf, site))) if has_lines(elf) else []
    merged: list[tuple[int, int]] = []
    for low, high in spans:
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
