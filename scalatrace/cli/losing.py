"""What `extrapolate --lossy` does and tells: the result, and which calls were dropped for it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from scalatrace.cli.extrapolating import Times, saved, timing_facts
from scalatrace.errors import UsageError

if TYPE_CHECKING:
    from scalatrace import Trace


def add_lossy(parser: argparse.ArgumentParser) -> None:
    """Let the command drop what follows no rule."""
    parser.add_argument(
        "--lossy",
        action="store_true",
        help="drop the calls that follow no rule, and those they leave without partner; says which",
    )
    parser.add_argument(
        "--max-dropped",
        type=float,
        default=0.1,
        metavar="F",
        help="with --lossy: fail when more than this part of a trace's calls is dropped (default 0.1)",
    )
    parser.add_argument(
        "--snippets", metavar="FILE", help="with --lossy: sequences of calls that stay; others go"
    )


def extrapolated_lossily(
    traces: Sequence[Trace],
    nprocs: int | None,
    dims: tuple[int, ...] | None,
    params: Mapping[str, int],
    dims_of: Sequence[tuple[int, ...]] | None,
    output: str,
    times: Times,
    snippets: str | None,
    max_dropped: float,
) -> dict[str, Any]:
    """Make the result, write it, and return what there is to tell."""
    from scalatrace.extrap import extrapolate_lossy
    from scalatrace.extrap.lossy.snippets.parse import load

    size = nprocs or prod(dims or ())
    rules = None if snippets is None else load(snippets)
    found = extrapolate_lossy(
        traces, size, dims, params, dims_of, times.model, times.run_noise, rules, max_dropped
    )
    return {
        "evidence": found.evidence,
        **saved(found.trace, found.grid, output),
        "losses": [one.plain() for one in found.losses],
        "alone": found.alone,
        "checked": found.checked,
        **({"timing": timing_facts(found.model, size, times)} if times.told else {}),
    }


def symbolic_lossily(
    traces: Sequence[Trace],
    dims_of: Sequence[tuple[int, ...]] | None,
    output: str,
    snippets: str | None,
    max_dropped: float,
) -> dict[str, Any]:
    """Write the formulas and return what there is to tell."""
    from scalatrace.extrap import lossy_model_of
    from scalatrace.extrap.lossy.snippets.parse import load
    from scalatrace.extrap.stx import save

    rules = None if snippets is None else load(snippets)
    model, evidence, losses = lossy_model_of(traces, dims_of, rules, max_dropped)
    nbytes = save(model, output)
    return {
        "evidence": evidence,
        "bytes": nbytes,
        "output": output,
        "losses": [one.plain() for one in losses],
    }


def check_options(args: argparse.Namespace) -> None:
    """Whether the options go together. Raises UsageError."""
    if args.snippets is not None and not args.lossy:
        raise UsageError("--snippets says what --lossy keeps: give both")
    if not 0 <= args.max_dropped <= 1:
        raise UsageError(f"--max-dropped is a part of the calls, from 0 to 1, not {args.max_dropped}")
    if args.lossy and args.check:
        raise UsageError("--check compares exact predictions: it goes without --lossy")


def tell_losses(facts: Mapping[str, Any]) -> None:
    """Print what was dropped of each trace, by call site and reason."""
    from scalatrace.report.style import clean, console, table

    screen = console()
    for one in facts["losses"]:
        screen.print(
            f"{one['ranks']} ranks ({one['grid']}): {one['dropped']:,} of {one['events']:,} events dropped "
            f"({one['share']:.2%})"
        )
        if not one["calls"]:
            continue
        shown = table("call", "dropped", "of all", "ranks", "why", right=("dropped", "of all", "ranks"))
        for row in one["calls"]:
            name = f"{row['op']}  {clean(row['site'].rpartition('/')[2])}"
            numbers = f"{row['dropped']:,}", f"{row['share']:.2%}", str(len(row["by_rank"]))
            shown.add_row(name, *numbers, row["reason"])
        screen.print(shown)
    if facts.get("alone"):
        screen.print(f"The result does not replay: {clean(facts['alone'])}")
    elif not facts.get("checked", True):
        screen.print("The result is too large to see whether every call finds its partner")
