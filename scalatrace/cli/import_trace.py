"""Make a trace of its text form (`scalatrace show --text`), or of what another tool wrote: an OTF2 archive
(Score-P, Extrae), a DUMPI trace (SST), a GOAL schedule (LogGOPSim, ATLAHS; text or binary), a Chakra
execution trace (ASTRA-sim), or flat logs.

Archives and schedules have messages and collectives, not all parameters of MPI calls: sizes become bytes, and
calls without either are left out. Computation becomes the time between calls. The result is compressed and
merged as the recorder does it."""

from __future__ import annotations

import argparse
import os

from scalatrace.cli.output import add_json, add_no_compress, need_file, print_json
from scalatrace.cli.progress import stage
from scalatrace.escapes import clean
from scalatrace.files import check_output

EXAMPLE = (
    "scalatrace show a.st --text > a.txt && $EDITOR a.txt && scalatrace import a.txt -o b.st\n"
    "  scalatrace import scorep/traces.otf2 -o app.st\n"
    "  scalatrace import dumpi-2013.09.30.meta -o app.st\n"
    "  scalatrace import allreduce.goal -o app.st\n"
    "  scalatrace import chakra/ -o app.st"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "source",
        help="text form of a trace, OTF2 archive (.otf2), DUMPI trace (.meta), GOAL schedule, or a folder "
        "with a Chakra trace (NAME.RANK.et), a DUMPI trace or flat logs (rank-R.log)",
    )
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="where to write the trace")
    add_no_compress(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Convert, and say what was left out."""
    from scalatrace.convert.sources import convert
    from scalatrace.report.style import console, nbytes, number

    need_file(args.source)
    check_output(args.output, "-o")
    stage("converting")
    trace, left_out = convert(args.source, args.output, compress=not args.no_compress)
    facts = {
        "output": args.output, "bytes": os.path.getsize(args.output), "nprocs": trace.nprocs,
        "events": trace.counted(), "left_out": dict(left_out),
    }  # fmt: skip
    if args.json:
        print_json(facts)
        return 0
    out = console()
    calls = "too many calls to count" if (events := facts["events"]) is None else f"{number(events)} calls"
    out.print(f"{clean(args.output)}: {number(trace.nprocs)} ranks, {calls}, {nbytes(facts['bytes'])}")
    for name, count in sorted(left_out.items()):
        out.print(f"left out: {number(count)} {clean(name)}")
    return 0
