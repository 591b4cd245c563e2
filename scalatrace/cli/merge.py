"""Merge the parts that an aborted run left behind into a trace, and list missing ranks."""

from __future__ import annotations

import argparse
import os
import re
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import msgpack  # type: ignore[import-untyped]

import scalatrace
from scalatrace.cli.budget import over_memory
from scalatrace.cli.output import add_formats, add_no_compress, need_file, print_csv, print_json
from scalatrace.cli.progress import stage
from scalatrace.errors import FormatError, ScalatraceError, UsageError
from scalatrace.escapes import clean
from scalatrace.files import read_file, unreadable, write_file
from scalatrace.launched import launched_rank
from scalatrace.report.columns import UNFINISHED_CALLS
from scalatrace.trace.io.container import read_container
from scalatrace.trace.query.unfinished import awaited_ranks, unfinished_calls

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.core.binding import Core
    from scalatrace.report.lines import UnfinishedReporter

PART = re.compile(r"rank-(\d+)\.part")
"""Name of a part file."""

HEADER_BYTES = 1 << 20
"""Bytes at the beginning of a part's payload that hold the facts of its run."""

EXAMPLE = "scalatrace merge app.st.parts -o app.st"


class Origin(NamedTuple):
    """The run that a part is of.

    Attributes:
        run: when it started, as the recorder noted it; a later one is greater, "" is not known.
        nprocs: its ranks.
    """

    run: str
    nprocs: int


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("parts", help="folder of parts that the recorder left (FILE.st.parts)")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="trace to write (default: parts without .parts)"
    )
    add_no_compress(parser)
    add_formats(parser, UNFINISHED_CALLS)


def run(args: argparse.Namespace) -> int:
    """Merge the parts through the core, lowest rank first, and write the trace; on all ranks of mpiexec."""
    from scalatrace.record.rank_merge import merge_parts

    if launched_rank() is not None:
        return _run_on_ranks(args)
    output, parts = _plan(args)
    stage(f"merging {len(parts):,} parts")
    with merge_parts(parts) as merged:
        return _write(merged, args, output)


def _run_on_ranks(args: argparse.Namespace) -> int:
    """Merge a share of the parts on each rank; rank 0 writes and reports, all return its status."""
    from scalatrace.record.rank_merge import MergeRanks

    ranks = MergeRanks()
    try:
        output, parts = ranks.on_first(lambda: _plan(args))
        core = ranks.merge(parts)
        return ranks.on_first(lambda: _write(core, args, output) if core else 1)
    except (ScalatraceError, MemoryError) as error:  # on all ranks
        if ranks.rank == 0:
            text = f"merge: {over_memory(error)}" if isinstance(error, MemoryError) else str(error)
            print(f"scalatrace: {clean(text)}", file=sys.stderr, flush=True)
        return getattr(error, "exit_status", 1)
    except KeyboardInterrupt:
        ranks.abort("scalatrace: interrupted")
    except BaseException:  # on one rank: the others would wait for it
        ranks.abort(traceback.format_exc())


def _plan(args: argparse.Namespace) -> tuple[str, list[Path]]:
    """Return the trace to write and the parts for it."""
    need_file(args.parts)
    output = args.output or _default_output(args.parts)
    return output, of_one_run(part_files(args.parts))


def _write(merged: Core, args: argparse.Namespace, output: str) -> int:
    """Check the merged trace, write it, and say which ranks it has."""
    from scalatrace.report.style import console

    with TemporaryDirectory(prefix="scalatrace-") as folder:
        path = Path(folder, "merged.st")
        merged.write(path, not args.no_compress)
        try:
            trace = scalatrace.load(path)
        except FormatError as error:
            raise FormatError(
                f"the parts are damaged, no trace was written: {error.reason}", args.parts
            ) from None
        write_file(output, path.read_bytes())
    missing = [rank for rank in range(trace.nprocs) if rank not in trace.ranks]
    reporter = _unfinished(trace)
    if args.json:
        facts = {
            "output": output,
            "nprocs": trace.nprocs,
            "events": trace.nevents(),
            "missing_ranks": missing,
        }
        print_json({**facts, **reporter.plain()})
        return 0
    if args.csv:
        print_csv(UNFINISHED_CALLS, reporter.rows())
        return 0
    print(f"{output}: {len(trace.ranks)} of {trace.nprocs} ranks, {trace.nevents():,} events")
    if missing:
        print(f"scalatrace: no part of rank {', '.join(map(str, missing))}", file=sys.stderr)
    reporter.render(console())
    return 0


def _unfinished(trace: Trace) -> UnfinishedReporter:
    from scalatrace.codegen.matching.diagnosis.diagnose import shortest_cycle
    from scalatrace.report.lines import UnfinishedReporter

    calls = unfinished_calls(trace)
    awaited = awaited_ranks(calls)
    return UnfinishedReporter(calls, awaited, shortest_cycle(awaited))


def of_one_run(parts: Sequence[Path]) -> list[Path]:
    """Return the parts of the newest run among these; the others are named on standard error.

    Raises:
        UsageError: the parts have different numbers of ranks but no start time of their runs.
        FormatError: a part is damaged.
    """
    origins = {path: origin(path) for path in parts}
    newest = max(o.run for o in origins.values())
    sizes = sorted({o.nprocs for o in origins.values() if o.run == newest})
    if len(sizes) > 1:
        raise UsageError(
            f"{parts[0].parent}: parts of runs of {' and '.join(map(str, sizes))} "
            "ranks; remove the older ones"
        )
    for path, its in origins.items():
        if its.run != newest:
            more = "" if its.nprocs == sizes[0] else f" (of {its.nprocs} ranks, not {sizes[0]})"
            print(f"scalatrace: {path.name} is of an older run{more}, left out", file=sys.stderr)
    return [path for path in parts if origins[path].run == newest]


def origin(path: Path) -> Origin:
    """Return the run that a part is of. Raises FormatError."""
    try:
        payload = read_container(read_file(path), path).payload
        unpacker = msgpack.Unpacker()
        unpacker.feed(payload[:HEADER_BYTES])
        _version, _rank, nprocs, _nevents, meta = (unpacker.unpack() for _ in range(5))
        return Origin(str(dict(zip(meta[::2], meta[1::2], strict=True)).get("run", "")), int(nprocs))
    except (ValueError, TypeError, msgpack.UnpackException):
        raise FormatError("not a part of a trace; remove it from the folder", path) from None


def part_files(folder: str) -> list[Path]:
    """Return the parts in a folder, lowest rank first.

    Raises:
        UsageError: there is no part in it.
        FormatError: the folder cannot be read.
    """
    try:
        named = [(PART.fullmatch(path.name), path) for path in Path(folder).iterdir()]
    except OSError as error:
        raise unreadable(error, folder) from None
    numbered = sorted((int(match[1]), path) for match, path in named if match)
    if not numbered:
        raise UsageError(
            f"{folder}: no parts (rank-R.part) in it; give the folder FILE.st.parts of the aborted run"
        )
    return [path for _, path in numbered]


def _default_output(folder: str) -> str:
    stem, ending = os.path.splitext(folder.rstrip("/"))
    if ending != ".parts":
        raise UsageError(f"{folder} does not end in .parts: give the trace to write with -o FILE")
    return stem
