"""Make a benchmark of a trace: a program that makes the same calls and waits in place of computing.
It needs nothing of scalatrace to run; C wants mpicc, Python mpi4py, coNCePTuaL its compiler."""

from __future__ import annotations

import argparse
import sys
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from scalatrace.cli.named import SiteNames
from scalatrace.cli.output import (
    add_at,
    add_by_messages,
    add_factors,
    add_json,
    add_names,
    add_trace,
    print_json,
    rules_of,
)
from scalatrace.cli.progress import stage
from scalatrace.cli.sizes import TargetSizes, add_sizes, read_any
from scalatrace.errors import UsageError
from scalatrace.escapes import LINES, clean
from scalatrace.files import write_file

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.codegen.generate import Benchmark, GenerateOptions
    from scalatrace.codegen.program.tree import Duration
    from scalatrace.trace.model.symbolic import StatRule, SymbolicTrace

EXAMPLE = (
    "scalatrace generate app.st --to c -o bench.c && mpicc -O2 bench.c -o bench && mpiexec -n 16 ./bench\n"
    "  scalatrace generate app.st --to python -o bench.py --compute-scale 0.5 --bytes-scale 4\n"
    "  scalatrace generate app.st --to c -o bench.c --at solver.py:120-180 compute=0.1 --at Bcast bytes=4\n"
    "  scalatrace generate app.st --to conceptual --obfuscate -o bench.ncptl\n"
    "  scalatrace generate app.stx --to c -o bench.c && mpiexec -n 64 ./bench --x 8 --y 8\n"
    "  scalatrace generate app.stx -P 64 --to python --times drawn -o bench.py"
)

MAX_CHECKED_EVENTS = 2_000_000
"""Traces up to this size are searched for deadlocks: that takes some 15 us an event."""

MAX_CONCEPTUAL_LINES = 1000
"""Lines of coNCePTuaL that other compilers are known to take."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_trace(parser)
    parser.add_argument(
        "--to", required=True, metavar="LANGUAGE", help="c, python, conceptual, or one installed"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="where to write it (default: standard output)")
    parser.add_argument(
        "--times",
        choices=("mean", "drawn"),
        default="mean",
        help="of the computation: each context's mean, or drawn (default: mean)",
    )
    add_factors(parser)
    add_at(parser)
    add_by_messages(parser)
    parser.add_argument(
        "--absolute-ranks",
        action="store_true",
        help="no communicators of the application: messages in MPI_COMM_WORLD (coNCePTuaL: always so)",
    )
    parser.add_argument(
        "--obfuscate", action="store_true", help="no names, paths, call sites or tags of the application"
    )
    parser.add_argument(
        "--skip-unsupported", action="store_true", help="leave out operations that the language does not have"
    )
    parser.add_argument(
        "--timing-model",
        metavar="NAME",
        help="of formulas: how times follow the number of ranks (see instantiate)",
    )
    add_sizes(parser)
    add_names(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Load, generate, write; nothing is written when anything is wrong."""
    from scalatrace.codegen.emit.interface import EmitOptions
    from scalatrace.codegen.generate import GenerateOptions

    if args.json and not args.output:
        raise UsageError("--json writes to standard output: give the file of the benchmark with -o FILE")
    emit = EmitOptions(drawn=args.times == "drawn")
    options = GenerateOptions(
        emit,
        args.compute_scale,
        args.bytes_scale,
        args.collectives == "p2p",
        args.skip_unsupported,
        args.obfuscate,
        args.absolute_ranks,
        rules_of(args),
    )
    benchmark, danger, nprocs = _make_benchmark(args, options)
    if danger:
        print(f"warning: {clean(danger, keep=LINES)}", file=sys.stderr)
    if args.to == "conceptual" and benchmark.lines > MAX_CONCEPTUAL_LINES:
        limit = f"other compilers of the language are known to take {MAX_CONCEPTUAL_LINES}"
        print(f"warning: the program has {benchmark.lines} lines; {limit}", file=sys.stderr)
    if not args.output:
        print(benchmark.text, end="")
        return 0
    write_file(args.output, benchmark.text.encode())
    facts = {
        "file": args.output,
        "language": benchmark.language,
        "lines": benchmark.lines,
        "calls": benchmark.calls,
        "skipped": benchmark.skipped,
        "danger": danger,
    }
    if args.json:
        print_json(facts)
    else:
        left_out = ", ".join(f"{n} MPI_{op}" for op, n in benchmark.skipped.items())
        more = f"; left out: {left_out}" if left_out else ""
        print(f"{args.output}: {benchmark.lines:,} lines{more}{_next(args, nprocs)}")
    return 0


RUNS = {
    "c": "mpicc -O2 {file} -o {program} && mpiexec -n {ranks} {call}",
    "python": "mpiexec -n {ranks} python {file}",
    "conceptual": "mpiexec -n {ranks} scalatrace ncptl run {file}",
}
"""How a benchmark is run, by language."""


def _next(args: argparse.Namespace, nprocs: int | None) -> str:
    """Return how to run the written file; "" for languages of plug-ins. Formulas hold for any P ranks."""
    if args.to not in RUNS:
        return ""
    path = Path(args.output)
    program = path.with_suffix("") if path.suffix else path.with_name(f"{path.name}.out")
    call = program if program.is_absolute() else f"./{program}"
    command = RUNS[args.to].format(file=path, program=program, call=call, ranks=nprocs or "P")
    return f". Next: {command}"


def _make_benchmark(
    args: argparse.Namespace, options: GenerateOptions
) -> tuple[Benchmark, str | None, int | None]:
    """The benchmark of a trace, or of formulas; the danger of a deadlock, and the ranks, of a trace."""
    from scalatrace.codegen.generate import generate
    from scalatrace.trace.model.symbolic import SymbolicTrace

    names_s = 0 if args.obfuscate and not args.at else args.names
    trace = read_any(args.trace, args)
    names = SiteNames.of(trace, args.trace, names_s)
    if isinstance(trace, SymbolicTrace):
        return _generate_scalable(trace, args.to, options, args.timing_model, names), None, None
    if TargetSizes.of(args) is None and (args.timing_model or args.plugin):
        raise UsageError(
            f"{args.trace} is a trace: --timing-model and --plugin need formulas (.stx); leave them out"
        )
    trace = names.trace(trace)
    stage("generating")
    benchmark = generate(trace, args.to, options)
    stage("looking for deadlocks")
    return benchmark, _danger(trace), trace.nprocs


def _danger(trace: Trace) -> str | None:
    """How the application's ranks could have come to wait for each other; None when that is not known."""
    from scalatrace.codegen.matching import check_deadlock

    if trace.nevents() > MAX_CHECKED_EVENTS:
        return None
    try:
        result = check_deadlock(trace)
    except UsageError:  # peers or tags were not recorded
        return None
    return str(result) if result else None


def _generate_scalable(
    model: SymbolicTrace,
    language: str,
    options: GenerateOptions,
    timing: str | None,
    names: SiteNames,
) -> Benchmark:
    """Return the benchmark of a symbolic trace, whose calls have to match at sizes larger than the traces.

    Args:
        names: source lines of native call sites.

    Raises:
        ScalatraceError: they do not, or something has no equivalent in the language.
    """
    from scalatrace.codegen.emit import emitter
    from scalatrace.codegen.generate import generate_scalable
    from scalatrace.codegen.program.tree import Duration
    from scalatrace.extrap.matching import check_model
    from scalatrace.extrap.timing.time_formulas import time_formulas
    from scalatrace.formula import FUNCTIONS

    check_model(model)
    if emitter(language).matched:
        model = _match_receives(model)
    model = names.trace(model)
    formula_of = time_formulas(model, timing)

    def times(stat: StatRule) -> Duration | None:
        result = formula_of(stat)
        return None if result is None else Duration(result.histogram.mean, result.histogram, result.terms)

    return generate_scalable(model, language, times, FUNCTIONS, options)


def _match_receives(model: SymbolicTrace) -> SymbolicTrace:
    """Return the model with a sender for every receive, fitted again to traces of the sizes that were seen.

    Wildcards are resolved in traces (Algorithm 3), so the formulas become traces, and these formulas again.
    """
    from scalatrace.codegen.matching import align_collectives, resolve_wildcards
    from scalatrace.extrap.extrapolate import model_of, of_model
    from scalatrace.formula import Special
    from scalatrace.trace.model.symbolic import events
    from scalatrace.trace.model.trace import PARAMETER

    fields = (param.field for rule in events(model.nodes) for param in rule.params)
    if not any(Special("ANY_SOURCE") in (part.formulas or ()) for field in fields for part in field.parts):
        return model
    traces = []
    for dims, inputs in model.seen:
        trace = resolve_wildcards(align_collectives(of_model(model, prod(dims), dims, inputs).trace))
        trace.meta.update({PARAMETER + name: str(value) for name, value in inputs.items()})
        traces.append(trace)
    grids = None if model.column_major else [dims for dims, _ in model.seen]
    return model_of(traces, grids)[1]
