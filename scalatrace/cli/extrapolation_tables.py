"""Tables of `extrapolate` and `instantiate` for --csv."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scalatrace.cli.tables import Table, print_csv

RESULT = Table(
    "result, without the options below",
    {
        "output": "file",
        "ranks": "ranks of the trace; empty for formulas",
        "grid": "of the ranks",
        "events": "calls of all ranks; empty: not counted",
        "nodes": "of the trace",
        "bytes": "of the file",
    },
)
TIMING = Table(
    "call site and time, with --timing-report",
    {
        "op": "operation",
        "site": "innermost frame",
        "stat": "compute_ns: before the call, comm_ns: in it",
        "formula": "timing model, p ranks",
        "fit": "deviation of the model from the traces",
        "ranks": "number of ranks that the prediction is of",
        "prediction": "mean on so many ranks, ns",
        "low": "95 % interval, ns",
        "high": "95 % interval, ns",
        "slowest": "expected maximum over the ranks, ns",
        "slowest_low": "95 % interval, ns",
        "slowest_high": "95 % interval, ns",
    },
)
CHECKS = Table(
    "trace, with --check",
    {
        "left_out": "the trace that the others predict",
        "events": "calls of all ranks",
        "ranks_differing": "ranks with another call than predicted",
        "first": "first difference",
    },
)
LOSSES = Table(
    "dropped call, with --lossy",
    {
        "ranks": "ranks of the trace",
        "grid": "of the ranks",
        "op": "operation",
        "site": "innermost frame",
        "dropped": "calls of all ranks",
        "share": "of all calls of the trace",
        "reason": "",
    },
)
SUGGESTIONS = Table("size to record, with --suggest", {"ranks": "number of ranks", "grid": "of the ranks"})


def print_result(facts: Mapping[str, Any]) -> None:
    """Print the timing models of a result as CSV if they are reported, else the result."""
    if "timing" in facts:
        print_csv(TIMING, facts["timing"])
    else:
        print_csv(RESULT, [facts])


def loss_rows(facts: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the dropped calls of all traces."""
    for loss in facts["losses"]:
        for call in loss["calls"]:
            yield {"ranks": loss["ranks"], "grid": loss["grid"], **call}
