"""Make a trace from its text form, as written by `scalatrace show --text` and edited."""

from __future__ import annotations

import argparse

import scalatrace
from scalatrace.cli.output import add_json, print_json

EXAMPLE = "scalatrace show a.st --text > a.txt && $EDITOR a.txt && scalatrace pack a.txt -o b.st"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("text", help="text form of a trace")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="trace file to write")
    parser.add_argument("--no-compress", action="store_true", help="do not deflate the file")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Parse, check and write."""
    from scalatrace.trace.io.textparse import load_text

    trace = load_text(args.text)
    nbytes = scalatrace.save(trace, args.output, not args.no_compress)
    if args.json:
        print_json(
            {"output": args.output, "bytes": nbytes, "nprocs": trace.nprocs, "events": trace.counted()}
        )
    return 0
