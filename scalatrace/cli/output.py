"""What commands share: arguments and their types, and plain data as JSON."""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

from scalatrace.errors import UsageError


def add_trace(parser: argparse.ArgumentParser) -> None:
    """Let the command take a trace file."""
    parser.add_argument("trace", help="trace file (.st)")


def add_json(parser: argparse.ArgumentParser) -> None:
    """Let the command answer in JSON."""
    parser.add_argument("--json", action="store_true", help="for scripts: everything, as JSON")


def print_json(data: Any) -> None:
    """Print plain data as JSON."""
    print(json.dumps(data, indent=2))


def words(text: str) -> list[str]:
    """Return the words of a list with commas."""
    return [word for word in text.split(",") if word]


def natural(text: str) -> int:
    """Return a number of things that must be at least 1; for argparse."""
    n = int(text)
    if n < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return n


def factor(text: str) -> float:
    """Return a what-if factor; for argparse."""
    from scalatrace.replay.common.whatif import parse_factor

    try:
        return parse_factor(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_factors(parser: argparse.ArgumentParser) -> None:
    """Let the command be told how much longer computations and messages are to be."""
    parser.add_argument("--compute-scale", type=factor, default=1.0, metavar="F", help="computation times F")
    parser.add_argument(
        "--bytes-scale", type=factor, default=1.0, metavar="F", help="elements of messages times F"
    )


def need_file(path: str) -> None:
    """Make sure that an input exists. Raises UsageError."""
    if not os.path.exists(path):
        raise UsageError(f"{path}: no such file")
