"""Replace the names in traces (.st, .stx), so that they can be given away: program and arguments,
paths, call sites, dates, hosts, file names, entries of the user. Structure, sizes, tags and times stay.
Traces of one call share names, so they still extrapolate together. Nothing is written if a name is left."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import scalatrace
from scalatrace.cli.output import add_json, print_json, words
from scalatrace.cli.progress import track
from scalatrace.cli.sizes import add_plugins
from scalatrace.errors import UsageError
from scalatrace.files import check_output, read_file, read_text, write_file
from scalatrace.spelling import did_you_mean
from scalatrace.trace.anonymize.options import KEPT, AnonymizeOptions

if TYPE_CHECKING:
    from scalatrace.trace.anonymize.names import AnonymousNames

EXAMPLE = (
    "scalatrace anonymize app.st -o out.st\n"
    "  scalatrace anonymize s16.st s20.st s25.st s30.st --into shared --mapping names.json"
)

PRIVATE_MODE = 0o600


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("traces", nargs="+", metavar="trace", help="trace or symbolic trace (.st, .stx)")
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("-o", "--output", metavar="FILE", help="where to write one anonymous trace")
    group.add_argument(
        "--into", metavar="FOLDER", help="where to write several, as trace1.st, trace2.st, ... in this order"
    )
    parser.add_argument(
        "--mapping",
        metavar="FILE",
        help="write the table of old and new names, for the owner; an existing table is used and extended",
    )
    parser.add_argument(
        "--keep",
        type=words,
        default=[],
        metavar="WORDS",
        help="comma-separated: sites (call sites), program (the command line), numbers (the integers of its "
        "arguments), machine (numbers of hosts, ranks and cores per host)",
    )
    parser.add_argument(
        "--drop-parameters", action="store_true", help="drop the parameters of the program (--param), too"
    )
    parser.add_argument(
        "--times", choices=("keep", "drop"), default="keep", help="of calls and computation (default: keep)"
    )
    add_plugins(parser, "Python file that formulas need")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Read all, rename, check; then write all."""
    from scalatrace.extrap.grid.plugins import load_plugins
    from scalatrace.trace.anonymize.names import AnonymousNames

    options = _options(args)
    outputs = _outputs(args)
    load_plugins(args.plugin)
    names = AnonymousNames()
    if args.mapping:
        check_output(args.mapping, "--mapping")
        if os.path.isfile(args.mapping):
            names = AnonymousNames.from_json(read_text(args.mapping), args.mapping)
    results = [_anonymous(path, names, options) for path in track(args.traces, "renaming")]
    if args.mapping:
        write_file(args.mapping, names.to_json().encode(), PRIVATE_MODE)
    if args.into:
        os.makedirs(args.into, exist_ok=True)
    for path, data in zip(outputs, results, strict=True):
        write_file(path, data)
    _report(args, outputs, results, names)
    return 0


def _options(args: argparse.Namespace) -> AnonymizeOptions:
    if unknown := [word for word in args.keep if word not in KEPT]:
        raise UsageError(f"--keep {unknown[0]}: give {', '.join(KEPT)}{did_you_mean(unknown[0], KEPT)}")
    return AnonymizeOptions(frozenset(args.keep), args.drop_parameters, args.times == "drop")


def _outputs(args: argparse.Namespace) -> list[str]:
    if args.output:
        if len(args.traces) > 1:
            raise UsageError("-o is for one trace: give the folder for several with --into FOLDER")
        check_output(args.output, "-o")
        return [args.output]
    if os.path.exists(args.into) and not os.path.isdir(args.into):
        raise UsageError(f"--into {args.into}: this is no folder")
    return [
        os.path.join(args.into, f"trace{n}{'.stx' if path.endswith('.stx') else '.st'}")
        for n, path in enumerate(args.traces, 1)
    ]


def _anonymous(path: str, names: AnonymousNames, options: AnonymizeOptions) -> bytes:
    """Return the bytes of the anonymous file, checked. Raises ScalatraceError."""
    from scalatrace.trace.anonymize import check
    from scalatrace.trace.anonymize.traces import anonymous_model, anonymous_trace
    from scalatrace.trace.io.container import read_container
    from scalatrace.trace.io.reader import load_any
    from scalatrace.trace.model.symbolic import SymbolicTrace

    with TemporaryDirectory(prefix="scalatrace-") as folder:
        written = Path(folder, "anonymous")
        trace = load_any(path)
        result = (
            anonymous_model(trace, names, options)
            if isinstance(trace, SymbolicTrace)
            else anonymous_trace(trace, names, options)
        )
        scalatrace.save(result, written)
        allowed = check.allowed_in(result, options)
        data = read_file(written)
    check.check_payload(read_container(data).payload, read_container(read_file(path), path).payload, allowed)
    return data


def _report(
    args: argparse.Namespace, outputs: Sequence[str], results: Sequence[bytes], names: AnonymousNames
) -> None:
    counts = names.counts()
    if args.json:
        files: list[dict[str, Any]] = [
            {"input": path, "output": output, "bytes": len(data)}
            for path, output, data in zip(args.traces, outputs, results, strict=True)
        ]
        print_json({"files": files, "names": counts})
        return
    for path, output, data in zip(args.traces, outputs, results, strict=True):
        print(f"{path}: {output}, {len(data):,} bytes")
    replaced = ", ".join(f"{kind} {count:,}" for kind, count in counts.items())
    print(f"names: {replaced or 'none'}")
