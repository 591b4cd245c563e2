"""Make a trace from its text form, as written by `scalatrace show --text` and edited."""

from __future__ import annotations

import argparse

EXAMPLE = "scalatrace show a.st --text > a.txt && $EDITOR a.txt && scalatrace pack a.txt -o b.st"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("text", help="text form of a trace")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="trace file to write")
    parser.add_argument("--no-compress", action="store_true", help="do not deflate the file")


def run(args: argparse.Namespace) -> int:
    """Parse, check and write."""
    import scalatrace
    from scalatrace.trace.io.textparse import load_text

    scalatrace.save(load_text(args.text), args.output, not args.no_compress)
    return 0
