"""Make a trace from the parts that a broken run left behind, and name the ranks that are missing."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from scalatrace.cli.output import need_file
from scalatrace.errors import UsageError

PART = re.compile(r"rank-(\d+)\.part")
"""What the recorder calls a part."""

EXAMPLE = "scalatrace merge app.st.parts -o app.st"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("parts", help="folder of parts, as the recorder leaves it (FILE.st.parts)")
    parser.add_argument("-o", "--output", metavar="FILE", help="trace (default: parts without .parts)")
    parser.add_argument("--no-compress", action="store_true", help="do not deflate the file")


def run(args: argparse.Namespace) -> int:
    """Merge the parts through the core, lowest rank first, and write the trace."""
    import scalatrace

    output = args.output or _default_output(args.parts)
    merge(part_files(args.parts), output, not args.no_compress)
    trace = scalatrace.load(output)
    print(f"{output}: {len(trace.ranks)} of {trace.nprocs} ranks, {trace.nevents():,} events")
    missing = [rank for rank in range(trace.nprocs) if rank not in trace.ranks]
    if missing:
        print(f"scalatrace: no part of rank {', '.join(map(str, missing))}", file=sys.stderr)
    return 0


def merge(parts: Sequence[Path], output: str, compress: bool) -> None:
    """Merge parts one after the other and write the trace. Raises ScalatraceError."""
    from scalatrace.core.binding import Core

    with Core.read_part(parts[0]) as whole:
        for path in parts[1:]:
            with Core.read_part(path) as core:
                whole.merge(core.pack())
        whole.write(output, compress)


def part_files(folder: str) -> list[Path]:
    """Return the parts in a folder, lowest rank first.

    Raises:
        UsageError: there is no such folder, or no part in it.
    """
    need_file(folder)
    numbered = [(PART.fullmatch(path.name), path) for path in Path(folder).iterdir()]
    found = sorted((int(match[1]), path) for match, path in numbered if match)
    if not found:
        raise UsageError(f"{folder}: no parts (rank-R.part) in it")
    return [path for _, path in found]


def _default_output(folder: str) -> str:
    stem, ending = os.path.splitext(folder.rstrip("/"))
    if ending != ".parts":
        raise UsageError(f"{folder} does not end in .parts: say with -o what to write")
    return stem
