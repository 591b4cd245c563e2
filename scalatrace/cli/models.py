"""Performance models of messages, collective operations and extrapolated programs, as formulas and times.

Models have four levels: asymptotic growth, dominant terms, bounds, and an exact formula. Without operations,
all are listed. The algorithm of a collective operation is the one that the platform uses for each size.

With --trace, the formulas of an extrapolated program (`extrapolate --symbolic`) give its communication time
as a formula in the number of ranks, if no rank waits for a late one.

With --partitioned N, the time of a partitioned send (MPI_Psend_init) of N threads after the slowest of them,
beside that of a single send (Dominguez-Trujillo 2021, Algorithm 1).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from scalatrace.cli.named import SiteNames
from scalatrace.cli.output import add_formats, add_names, natural, nonnegative, print_facts
from scalatrace.cli.parsing import further
from scalatrace.cli.sizes import parse_dims, parse_params
from scalatrace.errors import UsageError
from scalatrace.report.predictions.columns import MODEL_SENDS, MODEL_TERMS, MODEL_TIMES

if TYPE_CHECKING:
    from scalatrace.predict.models.growth import Dominant
    from scalatrace.predict.models.program import ProgramTime
    from scalatrace.predict.platform import Platform

EXAMPLE = (
    "scalatrace models --platform cluster allreduce --bytes 8 1048576 --ranks 64 1024\n"
    "  scalatrace models --platform bluegene-p message --latex\n"
    "  scalatrace models --platform cluster --trace app.stx --ranks 64 4096\n"
    "  scalatrace models --platform lassen --partitioned 20 --variability 0.1 --bytes 18874368"
)


BYTES, RANKS = (8, 1024, 1 << 20), (64,)
"""Sizes without --bytes and --ranks."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("operations", nargs="*", help="message, or collective operations such as allreduce")
    parser.add_argument(
        "--platform", required=True, metavar="FILE", help="platform file, or an installed one"
    )
    parser.add_argument("--bytes", type=_nbytes, nargs="+", default=BYTES, metavar="S", help="sizes in bytes")
    parser.add_argument(
        "--ranks", type=natural, nargs="+", default=RANKS, metavar="P", help="numbers of ranks"
    )
    parser.add_argument(
        "--mpi", default="", metavar="NAME",
        help="library whose rules choose algorithms, in place of the platform's: openmpi, mpich, ..., thakur",
    )  # fmt: skip
    parser.add_argument("--algorithm", metavar="NAME", help="this algorithm; all: each one")
    parser.add_argument(
        "--queue", type=_nbytes, default=0, metavar="R", help="entries of the matching queue in upper bounds"
    )
    parser.add_argument("--strided", action="store_true", help="data with holes in upper bounds")
    parser.add_argument("--trace", metavar="STX", help="formulas of an extrapolated program")
    parser.add_argument("--dims", action="append", metavar="XxY", help="with --trace: grid of ranks")
    parser.add_argument(
        "--param", action="append", default=[], metavar="N=V", help="parameter of the program"
    )
    parser.add_argument(
        "--partitioned", type=natural, metavar="N", help="a partitioned send of --bytes by N threads"
    )
    partitioned = further(parser)
    partitioned.add_argument(
        "--thread-us", type=nonnegative, default=100_000.0, metavar="US",
        help="with --partitioned: mean computation of a thread (default: 100000)",
    )  # fmt: skip
    partitioned.add_argument(
        "--variability", type=nonnegative, default=0.1, metavar="V",
        help="with --partitioned: the deviation of a thread is V squared times its mean, as in Algorithm 1 "
        "(default: 0.1)",
    )  # fmt: skip
    partitioned.add_argument(
        "--wait-us", type=nonnegative, default=0.0, metavar="US",
        help="with --partitioned: overhead of MPI_Wait (default: 0)",
    )  # fmt: skip
    parser.add_argument("--latex", action="store_true", help="print the formulas as LaTeX")
    add_names(parser)
    add_formats(parser, MODEL_TIMES, MODEL_TERMS, MODEL_SENDS)


def run(args: argparse.Namespace) -> int:
    """Make the formulas, evaluate them, report."""
    from scalatrace.predict.platform import read_platform
    from scalatrace.report.predictions.models import ModelsReporter, ProgramTimeReporter

    if args.partitioned and (args.trace or args.operations or args.latex):
        raise UsageError("--partitioned has its own table: give it without operations, --trace, --latex")
    if args.trace and args.operations:
        raise UsageError("give either operations or --trace")
    platform = read_platform(args.platform).changed(mpi=args.mpi)
    if args.partitioned:
        return _partitioned(platform, args)
    data = _program(platform, args) if args.trace else _operations(platform, args)
    reporter = ProgramTimeReporter(data) if args.trace else ModelsReporter(data)
    if args.latex and not (args.json or args.csv):
        print(reporter.latex())
    else:
        print_facts(args, data, reporter.table, reporter.rows(), reporter)
    return 0


def _nbytes(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer of at least 0")
    return int(text)


def _partitioned(platform: Platform, args: argparse.Namespace) -> int:
    """Report partitioned and single sends of each size."""
    from scalatrace.predict.models.messages import network_of
    from scalatrace.predict.variability import ThreadTimes, partitioned_send, single_send
    from scalatrace.predict.variability.partitioned import of_network
    from scalatrace.report.predictions.models import PartitionedReporter

    threads = ThreadTimes.of_variability(args.partitioned, args.thread_us * 1e3, args.variability)
    message = of_network(network_of(platform, max(args.ranks)))
    rows = []
    for nbytes in args.bytes:
        single = single_send(nbytes, threads, message)
        send = partitioned_send(nbytes, threads, message, args.wait_us * 1e3)
        rows.append(
            {
                "nbytes": nbytes, "threads": args.partitioned, "message_ns": send.message_ns,
                "overlapped": send.overlapped, "elapsed_ns": send.elapsed_ns, "bandwidth": send.bandwidth,
                "single_ns": single.elapsed_ns, "single_bandwidth": single.bandwidth,
            }
        )  # fmt: skip
    spread_ns = threads.slowest_ns - threads.fastest_ns
    data = {"platform": platform.name, "threads": args.partitioned, "spread_ns": spread_ns, "sends": rows}
    print_facts(args, data, MODEL_SENDS, rows, PartitionedReporter(data))
    return 0


def _operations(platform: Platform, args: argparse.Namespace) -> dict[str, Any]:
    from scalatrace.predict.models import OPERATIONS
    from scalatrace.predict.models.congestion import worst_case
    from scalatrace.predict.models.messages import network_of, ranges

    names = [_name(word) for word in args.operations] or list(OPERATIONS)
    network = network_of(platform, max(args.ranks))
    return {
        "platform": platform.name,
        "ranges": [
            {"sizes": segment.text(), "alpha_ns": segment.alpha_ns, "beta_ns": segment.beta_ns}
            for segment in ranges(network)
        ],
        "congestion": _formula(worst_case(platform)),
        "operations": [_operation(platform, name, args) for name in names],
    }


def _name(word: str) -> str:
    """Return the name of an operation: `MPI_Allreduce` is `allreduce`, `p2p` is `message`."""
    name = word.lower().removeprefix("mpi_")
    return "message" if name in ("p2p", "send") else name


def _operation(platform: Platform, name: str, args: argparse.Namespace) -> dict[str, Any]:
    from scalatrace.predict.models import algorithms_of, levels, times

    algorithms = algorithms_of(name)
    every = args.algorithm == "all"
    values = []
    for nranks in args.ranks:
        for nbytes in [0] if name == "barrier" else args.bytes:
            bounds = {"queue": args.queue, "strided": args.strided}
            entry = {
                algorithm: times(platform, name, nbytes, nranks, algorithm, **bounds)
                for algorithm in algorithms
            }
            wanted = None if every else args.algorithm
            chosen = times(platform, name, nbytes, nranks, wanted, **bounds).algorithm
            # the upper bound, since receivers share their links; of equal ones the algorithm that is used
            by_name = {chosen: entry[chosen], **entry}
            fastest = min(by_name, key=lambda algorithm: by_name[algorithm].upper_ns)
            for algorithm in algorithms if every else (chosen,):
                values.append(
                    {
                        "nbytes": nbytes, "nranks": nranks,
                        "algorithm": algorithm, "chosen": algorithm == chosen,
                        "exact_ns": entry[algorithm].exact_ns, "upper_ns": entry[algorithm].upper_ns,
                        "fastest": fastest, "fastest_ns": entry[fastest].upper_ns,
                    }
                )  # fmt: skip
    used = list(dict.fromkeys(value["algorithm"] for value in values))
    models = [levels(platform, name, algorithm, args.queue, args.strided) for algorithm in used]
    return {
        "operation": name,
        "models": [
            {
                "algorithm": model.algorithm,
                "asymptotic": _formula(model.asymptotic),
                "dominant": _dominant(model.dominant),
                "lower": _formula(model.lower),
                "upper": _formula(model.upper),
                "exact": _formula(model.exact),
            }
            for model in models
        ],
        "times": values,
    }


def _dominant(terms: Dominant) -> dict[str, str]:
    return {"text": terms.text(), "latex": terms.latex()}


def _formula(formula: Any) -> dict[str, str]:
    from scalatrace.predict.models.symbols import as_latex, as_sympy, as_text

    return {"text": as_text(formula), "sympy": str(as_sympy(formula)), "latex": as_latex(formula)}


def _program(platform: Platform, args: argparse.Namespace) -> dict[str, Any]:
    from scalatrace.extrap.grid.target import check_dimensions, target_grid
    from scalatrace.predict.models.congestion import worst_case
    from scalatrace.predict.models.program import program_time
    from scalatrace.trace.io.reader import load_symbolic
    from scalatrace.trace.symbolic.grid import Grid

    model = load_symbolic(args.trace)
    seen = [Grid(dims, model.column_major) for dims, _ in model.seen]
    dims: Sequence[tuple[int, ...]] = [tuple(parse_dims("--dims", text)) for text in args.dims or ()]
    grids = [target_grid(seen, prod(sides), sides) for sides in dims] or [
        target_grid(seen, nranks) for nranks in args.ranks
    ]
    inputs = parse_params(args.param)
    if unknown := sorted(set(inputs) - set(model.inputs)):
        names_of_model = ", ".join(model.inputs) or "none"
        raise UsageError(
            f"--param {unknown[0]}: the formulas have no such parameter; they have {names_of_model}"
        )
    for grid in grids:
        check_dimensions(grid, len(model.sizes))
    results = [program_time(model, platform, grid, inputs, args.queue, args.strided) for grid in grids]
    names = SiteNames.of(model, args.trace, args.names)
    return {
        "platform": platform.name,
        "trace": args.trace,
        "congestion": _formula(worst_case(platform)),
        "grids": names.facts([_grid(result) for result in results]),
    }


def _grid(result: ProgramTime) -> dict[str, Any]:
    return {
        "grid": str(result.grid),
        "nranks": result.grid.nprocs,
        "place": list(result.place),
        "time_ns": result.value_ns,
        "upper_ns": result.upper_ns,
        "formula": _formula(result.formula),
        "upper": _formula(result.upper),
        "growth": None if result.growth is None else _formula(result.growth),
        "dominant": None if result.dominant is None else _dominant(result.dominant),
        "terms": [
            {
                "op": term.op,
                "site": term.stack[0] if term.stack else "",
                "calls": _formula(term.calls),
                "each": _formula(term.each_ns),
                "time_ns": term.value_ns,
                "upper_ns": term.upper_ns,
            }
            for term in result.terms
        ],
        "left_out": list(result.left_out),
    }
