"""Name the native call sites of a trace: `app+0x1253` becomes `/src/solver.f90:7:exchange`.

It reads the debug information of the program and its libraries (compile with -g, with or without -O2), or
their separate debug files. Without any, offsets get the names of functions. Resolve on the machine of the
run, before the program is compiled again.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict

import scalatrace
from scalatrace.cli.output import add_formats, add_trace, print_facts, seconds
from scalatrace.files import check_output
from scalatrace.report.columns import MODULES

EXAMPLE = (
    "scalatrace resolve app.st -o lines.st\n"
    "  scalatrace resolve app.st -o lines.st --binary build/app --search build/lib"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_trace(parser)
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="where to write the trace")
    parser.add_argument(
        "--binary", action="append", default=[], metavar="PATH",
        help="the program or a library, where it is not found by its name",
    )  # fmt: skip
    parser.add_argument(
        "--search", action="append", default=[], metavar="FOLDER", help="search libraries there first"
    )
    parser.add_argument("--force", action="store_true", help="use files that changed since the run, too")
    parser.add_argument(
        "--time-limit", type=seconds, metavar="S", help="look up for at most S seconds (default: no limit)"
    )
    add_formats(parser, MODULES)


def run(args: argparse.Namespace) -> int:
    """Read, look up, write; 1 if no call site has a name."""
    from scalatrace.report.program import ModulesReporter
    from scalatrace.symbols.find import Finder
    from scalatrace.symbols.resolve import resolve

    check_output(args.output, "-o")
    trace = scalatrace.load(args.trace)
    finder = Finder.of(trace.meta, args.binary, args.search)
    resolved, modules = resolve(trace, finder, args.force, args.time_limit)
    scalatrace.save(resolved, args.output)
    facts = [{**asdict(module), "path": str(module.path) if module.path else None} for module in modules]
    print_facts(args, {"output": args.output, "modules": facts}, MODULES, facts, ModulesReporter(facts))
    return 0 if not modules or any(module.lines or module.names for module in modules) else 1
