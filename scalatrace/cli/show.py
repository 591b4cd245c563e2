"""Show a trace as a tree of loops and events, as exact text, in loop notation, or the calls of one rank."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from scalatrace.cli.named import load_named_any
from scalatrace.cli.output import add_formats, add_names, add_trace, natural, print_csv, print_json
from scalatrace.cli.sizes import add_sizes
from scalatrace.errors import UsageError
from scalatrace.report.columns import CALLS, NODES, NOTATION
from scalatrace.report.trees.legend import LEGEND
from scalatrace.trace.query.unfinished import unfinished_calls

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.report.notation import NotationReporter
    from scalatrace.trace.model.symbolic import SymbolicTrace

__doc__ = f"{__doc__}\n\n{LEGEND}"

EXAMPLE = (
    "scalatrace show stencil.st\n"
    "  scalatrace show stencil.st --top 5 --depth 3\n"
    "  scalatrace show stencil.st --at halo.py:11\n"
    "  scalatrace show stencil.st --rank 3 --limit 20"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_trace(parser)
    add_sizes(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--text", action="store_true", help="the exact text form, for `scalatrace import`")
    form.add_argument("--notation", action="store_true", help="loops as subscripts: E1(4,2) E2(1,1 0) ...")
    form.add_argument(
        "--rank",
        type=int,
        metavar="R",
        help="the calls of world rank R, one a line; --json: an object a line",
    )
    parser.add_argument("--full", action="store_true", help="tree: do not cut long values")
    parser.add_argument(
        "--distances",
        action="store_true",
        help="tree: distances (self+4) and ranks, not the grid (south, x>0)",
    )
    parser.add_argument("--stacks", action="store_true", help="tree: all frames of a call site")
    parser.add_argument("--depth", type=natural, metavar="N", help="tree: N levels of nodes")
    parser.add_argument(
        "--top",
        type=natural,
        metavar="N",
        help="tree: of each loop the N nodes with most time in MPI and computation, and their shares",
    )
    parser.add_argument(
        "--at", metavar="WHERE", help="tree: events whose operation or call site contains WHERE"
    )
    parser.add_argument("--legend", action="store_true", help="tree: explain the notation, as on a terminal")
    parser.add_argument("--limit", type=natural, metavar="N", help="with --rank: the first N calls")
    add_names(parser)
    add_formats(parser, NODES, CALLS, NOTATION)


def run(args: argparse.Namespace) -> int:
    """Load the trace and show it in the form asked for."""
    from scalatrace.trace.model.symbolic import SymbolicTrace

    if args.text and (args.json or args.csv):
        raise UsageError("--text is a form of its own: leave out --json and --csv")
    of_tree = {"--depth": args.depth, "--top": args.top, "--at": args.at, "--legend": args.legend or None}
    if args.text or args.notation or args.rank is not None:
        for option in (option for option, value in of_tree.items() if value is not None):
            raise UsageError(f"{option} belongs to the tree: leave out --text, --notation and --rank")
    trace = load_named_any(args.trace, 0 if args.text else args.names, args)
    if isinstance(trace, SymbolicTrace):
        for option in (option for option, value in of_tree.items() if value is not None):
            raise UsageError(f"{option} belongs to the tree of a trace: give -P N, {args.trace} has formulas")
        return _show_formulas(trace, args)
    if args.rank is not None:
        _show_rank(trace, args)
    elif args.text:
        from scalatrace.trace.io.text import text

        sys.stdout.write(text(trace))
    else:
        _show_nodes(trace, args)
    return 0


def _show_formulas(trace: SymbolicTrace, args: argparse.Namespace) -> int:
    from rich.text import Text

    from scalatrace.extrap.formatting import lines
    from scalatrace.report.style import HANGING, console, print_wrapped

    if args.csv:
        raise UsageError(f"{args.trace} holds formulas, which are no table: leave out --csv")
    if args.json:
        print_json({"lines": list(lines(trace))})
        return 0
    out = console()
    for line in lines(trace):
        words = line.lstrip(" ")
        indent = Text(line[: len(line) - len(words)])
        print_wrapped(out, indent, indent.copy().append(HANGING), Text(words))
    return 0


def _show_rank(trace: Trace, args: argparse.Namespace) -> None:
    from scalatrace.report.lines import LinesReporter
    from scalatrace.report.style import console

    reporter = LinesReporter(trace.walk(args.rank), args.limit)
    if args.json:
        for line in reporter.json_lines():
            print(line)
    elif args.csv:
        print_csv(CALLS, reporter.rows())
    else:
        reporter.render(console())
        unfinished = unfinished_calls(trace).get(args.rank, ()) if args.limit is None else ()
        for call in unfinished:
            console().print(
                f"unfinished  {call.text}, for {call.seconds:.1f} s",
                highlight=False,
                markup=False,
                soft_wrap=True,
            )


def _show_nodes(trace: Trace, args: argparse.Namespace) -> None:
    from scalatrace.report.notation import NotationReporter
    from scalatrace.report.style import console
    from scalatrace.report.trees.reporter import TreeReporter, node_rows
    from scalatrace.report.trees.selection import NodeSelection

    selection = NodeSelection(args.depth, args.top, args.at)
    if args.notation:
        _show_notation(NotationReporter(trace), args)
    elif args.json:
        print_json({"nodes": node_rows(trace, selection)})
    elif args.csv:
        print_csv(NODES, map(_node, node_rows(trace, selection)))
    else:
        TreeReporter(trace, args.full, args.stacks, selection, args.legend, not args.distances).render(
            console()
        )


def _show_notation(reporter: NotationReporter, args: argparse.Namespace) -> None:
    from scalatrace.report.style import console

    if args.json:
        print_json(reporter.plain())
    elif args.csv:
        print_csv(NOTATION, reporter.plain()["events"])
    else:
        reporter.render(console())


def _node(row: dict[str, Any]) -> dict[str, Any]:
    """Return a node with its parameters as one text."""
    parameters = [f"{name}={value}" for name, value in row.get("parameters", {}).items()]
    return {**row, "parameters": parameters, "call site": (row.get("stack") or [""])[0]}
