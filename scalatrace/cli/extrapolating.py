"""What the commands of extrapolation share: sizes and parameters as words, and what they tell."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from scalatrace.cli.output import natural
from scalatrace.errors import UsageError

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.extrap.grid.model import Model
    from scalatrace.trace.symbolic.grid import Grid


@dataclass(frozen=True)
class Times:
    """How times are to go on, and whether the models are to be shown."""

    model: str | None
    run_noise: float
    told: bool

    @classmethod
    def of(cls, args: argparse.Namespace) -> Times:
        """From the options of `add_timing`. Raises UsageError."""
        if not 0 <= args.run_noise < 1:
            raise UsageError(f"--run-noise is a part of the time, from 0 to below 1, not {args.run_noise}")
        return cls(args.timing_model, args.run_noise, args.timing_report)


def add_target(parser: argparse.ArgumentParser) -> None:
    """Let the command be told the size of the result, and how its times go on."""
    parser.add_argument("-P", "--ranks", type=natural, metavar="N", help="ranks of the result")
    parser.add_argument(
        "--dims", metavar="XxYxZ", help="the result's grid (else made as those of the traces)"
    )
    parser.add_argument(
        "--param", action="append", default=[], metavar="N=V", help="a parameter of the program in the result"
    )
    parser.add_argument(
        "--plugin", action="append", default=[], metavar="FILE", help="Python file with formulas of its own"
    )
    add_timing(parser)


def add_timing(parser: argparse.ArgumentParser) -> None:
    """Let the command be told how times go on."""
    parser.add_argument(
        "--timing-model",
        metavar="NAME",
        help="how times follow the number of ranks: normal-form (the best of many forms; the default), "
        "dissertation, constant, linear, inverse, inverse+constant",
    )
    parser.add_argument(
        "--timing-report", action="store_true", help="for each call the model of its times, fit and interval"
    )
    parser.add_argument(
        "--run-noise",
        type=float,
        default=0.0,
        metavar="F",
        help="how much whole runs differ in time (0.05: 5 %%): small differences are then no trend",
    )


def timing_facts(model: Model, nprocs: int, times: Times) -> list[dict[str, Any]]:
    """Return how the times of each call site go on, as plain data."""
    from scalatrace.extrap.timing.report import timing_rows

    return [asdict(row) for row in timing_rows(model, nprocs, times.model, times.run_noise)]


def parse_dims(text: str) -> tuple[int, ...]:
    """Return `(8, 4)` for `8x4`. Raises UsageError."""
    try:
        dims = tuple(int(word) for word in text.lower().split("x"))
    except ValueError:
        dims = ()
    if not dims or min(dims) < 1:
        raise UsageError(f"{text!r} is no grid: 8x4, 4x4x2")
    return dims


def parse_params(pairs: Sequence[str]) -> dict[str, int]:
    """Return `{"n": 4096}` for `["n=4096"]`. Raises UsageError."""
    from scalatrace.extrap.extrapolate import parse_input
    from scalatrace.record.launch import parse_meta

    return {name: parse_input(name, text) for name, text in parse_meta(pairs).items()}


def note_inputs(traces: Sequence[Trace], pairs: Sequence[str]) -> None:
    """Give the traces parameters that were not noted when they were recorded. Raises UsageError."""
    from scalatrace.extrap.extrapolate import PARAMETER, parse_input
    from scalatrace.record.launch import parse_meta

    for name, text in parse_meta(pairs).items():
        values = text.split(",")
        if len(values) == 1:
            values *= len(traces)
        if len(values) != len(traces):
            raise UsageError(f"--inputs {name}={text} has {len(values)} values for {len(traces)} traces")
        for trace, value in zip(traces, values, strict=True):
            trace.meta[PARAMETER + name] = str(parse_input(name, value))


def extrapolated(
    traces: Sequence[Trace],
    nprocs: int | None,
    dims: tuple[int, ...] | None,
    params: Mapping[str, int],
    dims_of: Sequence[tuple[int, ...]] | None,
    output: str,
    times: Times,
) -> dict[str, Any]:
    """Make the result, write it, and return what there is to tell."""
    from scalatrace.extrap.extrapolate import model_of
    from scalatrace.extrap.workers import available

    _, model, evidence = model_of(traces, dims_of, available())
    size = nprocs or prod(dims or ())
    return {"evidence": evidence, **formulas(model), **instantiated(model, size, dims, params, output, times)}


def instantiated(
    model: Model,
    nprocs: int,
    dims: tuple[int, ...] | None,
    params: Mapping[str, int],
    output: str,
    times: Times,
) -> dict[str, Any]:
    """Evaluate formulas, write the trace, and return what there is to tell."""
    from scalatrace.extrap.extrapolate import of_model
    from scalatrace.extrap.workers import available

    found = of_model(model, nprocs, dims, params, times.model, times.run_noise, available())
    return {
        **saved(found.trace, found.grid, output),
        "untried": untried(model, params),
        **({"timing": timing_facts(model, nprocs, times)} if times.told else {}),
    }


def saved(trace: Trace, grid: Grid, output: str) -> dict[str, Any]:
    """Write a result and return how large it is, as plain data."""
    import scalatrace

    nbytes = scalatrace.save(trace, output)
    return {
        "grid": str(grid),
        "ranks": trace.nprocs,
        "events": trace.counted(),
        "nodes": trace.nnodes,
        "bytes": nbytes,
        "output": output,
    }


def symbolic(
    traces: Sequence[Trace], dims_of: Sequence[tuple[int, ...]] | None, output: str
) -> dict[str, Any]:
    """Write the formulas and return what there is to tell."""
    from scalatrace.extrap.extrapolate import model_of
    from scalatrace.extrap.stx import save
    from scalatrace.extrap.workers import available

    _, model, evidence = model_of(traces, dims_of, available())
    nbytes = save(model, output)
    return {"evidence": evidence, **formulas(model), "bytes": nbytes, "output": output}


def formulas(model: Model) -> dict[str, Any]:
    """Count the formulas."""
    from scalatrace.extrap.grid.model import fields_of
    from scalatrace.formula import Const

    found = list(fields_of(model.nodes))
    values = (formula for field in found for part in field.parts for formula in part.formulas or ())
    count = sum(not isinstance(formula, Const) for formula in values)
    return {"formulas": count}


def untried(model: Model, params: Mapping[str, int]) -> list[str]:
    """Return parameters that are another here than the one they were in all traces."""
    seen = {name: {inputs[name] for _, inputs in model.seen} for name in params}
    return [name for name, values in seen.items() if values != {params[name]} and len(values) == 1]


def tell(facts: Mapping[str, Any]) -> None:
    """Print how the grid was found, what was written, and how times go on if that was asked for."""
    from scalatrace.report.style import console

    screen = console()
    if "evidence" in facts:
        screen.print(f"grid: {facts['evidence']}", highlight=False, markup=False)
    for name in facts.get("untried", ()):
        text = f"warning: {name} was the same in all traces: what follows from it is a guess"
        screen.print(text, highlight=False, markup=False)
    if "ranks" in facts:
        events = "uncounted" if facts["events"] is None else f"{facts['events']:,}"
        screen.print(
            f"{facts['output']}: {facts['ranks']:,} ranks ({facts['grid']}), {events} events, "
            f"{facts['nodes']} nodes, {facts['bytes']:,} bytes",
            highlight=False,
            markup=False,
        )
        if "timing" in facts:
            tell_timing(facts["timing"])
    else:
        screen.print(f"{facts['output']}: formulas, {facts['bytes']:,} bytes", highlight=False, markup=False)


def tell_timing(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a line per call site and kind of time."""
    from scalatrace.report.style import clean, console, duration, table

    shown = table(
        "call", "time", "model", "fit", "there", "95 % interval", "slowest rank", right=("fit", "there")
    )
    for row in rows:
        interval = f"{duration(row['low'])} .. {duration(row['high'])}"
        most = (
            f"{duration(row['slowest'])} ({duration(row['slowest_low'])} .. {duration(row['slowest_high'])})"
        )
        site = clean(row["site"].rpartition("/")[2])
        what = "before" if row["stat"] == "compute_ns" else "inside"
        told = (f"{row['op']}  {site}", what, row["formula"], f"{row['fit']:.1%}")
        shown.add_row(*told, duration(row["prediction"]), interval, most)
    console().print(shown)


def tell_check(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a line per trace that was left out."""
    from scalatrace.report.style import console, table

    shown = table("left out", "events", "differing ranks", "first difference", right=("events",))
    for row in rows:
        shown.add_row(
            row["left_out"], f"{row['events']:,}", str(row["ranks_differing"]), row["first"] or "none"
        )
    console().print(shown)
