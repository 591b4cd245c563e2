"""Compare two traces event by event; exit status 1 when they differ."""

from __future__ import annotations

import argparse

from scalatrace.cli.output import add_json, print_json, words

EXAMPLE = (
    "scalatrace diff a.st b.st --ignore callsites,times\n"
    "  scalatrace diff recorded.st extrapolated.st --ignore timing"
)

TIMING = "timing"
"""The word for all that differs from run to run."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("left", help="trace file")
    parser.add_argument("right", help="trace file to compare it with")
    parser.add_argument(
        "--ignore",
        type=words,
        default=[],
        metavar="WORDS",
        help="comma-separated aspects that may differ: callsites, times, comms, names of parameters, and "
        "timing: times, and which request MPI_Waitany or MPI_Testany completes first, where no call "
        "depends on it",
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Load both and report each rank's first difference."""
    import scalatrace
    from scalatrace.report.findings import DiffReporter
    from scalatrace.report.style import console
    from scalatrace.trace.query.diff import diff

    left, right, ignored = scalatrace.load(args.left), scalatrace.load(args.right), set(args.ignore)
    if TIMING in ignored:
        from scalatrace.extrap.choices.canonical import canonical
        from scalatrace.trace.query.absolute import absolute

        left, right = canonical(absolute(left)), canonical(absolute(right))
        ignored = ignored - {TIMING} | {"times"}
    differences = diff(left, right, ignored)
    reporter = DiffReporter(differences, args.left, args.right)
    if args.json:
        print_json(reporter.plain())
    else:
        reporter.render(console())
    return 1 if differences else 0
