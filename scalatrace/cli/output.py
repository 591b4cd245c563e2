"""Arguments shared by commands, their types, and output as JSON and CSV."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any, Protocol

from scalatrace.cli.parsing import further
from scalatrace.errors import UsageError
from scalatrace.escapes import write_csv
from scalatrace.report.tables import CommandTable, Row

if TYPE_CHECKING:
    from rich.console import Console

    from scalatrace.trace.query.factors import FactorRule


class Reporter(Protocol):
    """Result that has a form as text."""

    def render(self, console: Console, /) -> None:
        """Print it."""


def add_trace(parser: argparse.ArgumentParser) -> None:
    """Declare the trace file."""
    parser.add_argument("trace", help="trace file (.st)")


def add_json(parser: argparse._ActionsContainer, text: str = "print the complete result as JSON") -> None:
    """Declare `--json`; `text` says what is printed."""
    parser.add_argument("--json", action="store_true", help=text)


def add_formats(parser: argparse.ArgumentParser, *tables: CommandTable) -> None:
    """Declare `--json` and `--csv`, and list the columns in the help."""
    group = parser.add_mutually_exclusive_group()
    add_json(group)
    group.add_argument("--csv", action="store_true", help="print the table as CSV; columns: --help-all")
    for table in tables:
        title, _, columns = table.help().partition(":\n")
        further(parser, title, dedent(columns))


def add_names(parser: argparse.ArgumentParser) -> None:
    """Declare `--names`, the time limit of `named.load_named`."""
    further(parser).add_argument(
        "--names", type=seconds, default=10.0, metavar="S",
        help="look up source lines of native call sites for at most S seconds; 0: do not (default: 10)",
    )  # fmt: skip


def print_json(data: Any) -> None:
    """Print plain data as JSON."""
    print(json.dumps(data, indent=2))


def print_csv(table: CommandTable, rows: Iterable[Row]) -> None:
    """Print the columns of a table that scripts get."""
    write_csv(sys.stdout, table.csv(rows))


def print_facts(
    args: argparse.Namespace, facts: Any, table: CommandTable, rows: Iterable[Row], reporter: Reporter
) -> None:
    """Print a result as asked for: its facts as JSON, the rows of a table as CSV, or text."""
    if args.json:
        print_json(facts)
    elif args.csv:
        print_csv(table, rows)
    else:
        from scalatrace.report.style import console

        reporter.render(console())


def words(text: str) -> list[str]:
    """Return the words of a comma-separated list."""
    return [word for word in text.split(",") if word]


def natural(text: str) -> int:
    """Return an integer of at least 1; for argparse."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer of at least 1")
    return int(text)


def workers(text: str) -> int | str:
    """Read a number of worker processes, or `mpi`: the ranks of this program."""
    return text if text == "mpi" else natural(text)


def nonnegative(text: str, complaint: str = "is not a number of at least 0") -> float:
    """Return a finite number of at least 0; for argparse."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} {complaint}")
    return number


def seconds(text: str) -> float:
    """Return a number of seconds, 0 or more; for argparse."""
    return nonnegative(text, "is no number of seconds")


def factor(text: str) -> float:
    """Return a what-if factor; for argparse."""
    from scalatrace.scaling import parse_factor

    try:
        return parse_factor(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_factors(parser: argparse.ArgumentParser) -> None:
    """Declare the factors on computation times and message sizes."""
    parser.add_argument(
        "--compute-scale", type=factor, default=1.0, metavar="F", help="multiply computation times by F"
    )
    parser.add_argument(
        "--bytes-scale", type=factor, default=1.0, metavar="F", help="multiply the elements of messages by F"
    )


def add_seed(parser: argparse.ArgumentParser, of: str) -> None:
    """Declare `--seed` of random numbers; `of` says of which."""
    further(parser).add_argument("--seed", type=int, default=0, metavar="N", help=f"of {of} (default: 0)")


def add_plot(parser: argparse.ArgumentParser) -> None:
    """Declare `--plot`."""
    parser.add_argument("--plot", type=Path, metavar="FILE", help=".svg, .png or .pdf; needs matplotlib")


def add_by_messages(parser: argparse.ArgumentParser) -> None:
    """Declare `--collectives`: as they are, or replaced by messages."""
    parser.add_argument(
        "--collectives", choices=("native", "p2p"), default="native",
        help="p2p: messages between each pair of ranks",
    )  # fmt: skip


def add_no_compress(parser: argparse.ArgumentParser) -> None:
    """Declare `--no-compress` of commands that write a trace."""
    further(parser).add_argument("--no-compress", action="store_true", help="do not deflate the file")


def add_at(parser: argparse.ArgumentParser) -> None:
    """Declare the factors for some of the calls; `rules_of` reads them."""
    parser.add_argument(
        "--at", nargs=2, action="append", default=[], metavar=("WHERE", "FACTORS"),
        help="for an operation, or calls that pass FILE:LINE, FILE:FIRST-LAST or FILE: compute=F,bytes=F",
    )  # fmt: skip


def rules_of(args: argparse.Namespace) -> tuple[FactorRule, ...]:
    """Return the factors of `--at`. Raises UsageError."""
    from scalatrace.trace.query.factors import parse_rule

    return tuple(parse_rule(*words) for words in args.at)


def need_file(path: str) -> None:
    """Raise UsageError when an input does not exist."""
    if not os.path.exists(path):
        raise UsageError(f"{path}: no such file or folder; check the path")
