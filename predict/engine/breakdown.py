"""Simulated times by operation, call site or rank, and the parts of the longest path."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from scalatrace.predict.engine.simulate import Simulation
from scalatrace.trace.model.callsite import callers, short_frame
from scalatrace.trace.model.trace import Trace

__all__ = ["by_rank", "event_times", "path_parts", "rows"]

PARTS = ("compute_ns", "transfer_ns", "waiting_ns")
EVENT_TIMES = (*PARTS, "path_compute_ns")


def rows(simulation: Simulation, trace: Trace, by: str) -> list[dict[str, Any]]:
    """Return calls and times of all ranks by operation ("operation") or by operation and call site ("site").

    Rows have `calls`, `compute_ns` (before the calls), `transfer_ns`, `waiting_ns`, and what the longest path
    has of them: `path_ns`, of which `path_compute_ns` is computation; None if it was not followed. Those
    with most MPI time come first.
    """
    sums: dict[tuple[str, ...], list[float]] = {}
    for number, key in _keys(simulation, trace, by):
        row = sums.setdefault(key, [0.0] * 6)
        row[0] += int(simulation.calls[number])
        for part in range(3):
            row[1 + part] += int(simulation.by_node[number, part]) / 1000
        if simulation.path_by_node is not None:
            row[4] += int(simulation.path_by_node[number].sum()) / 1000
            row[5] += int(simulation.path_by_node[number, 0]) / 1000
    names = ("operation", "site")
    result = [
        {
            **dict(zip(names, key, strict=False)),
            "calls": int(values[0]),
            **dict(zip(PARTS, values[1:4], strict=True)),
            "path_ns": None if simulation.path_by_node is None else values[4],
            "path_compute_ns": None if simulation.path_by_node is None else values[5],
        }
        for key, values in sums.items()
    ]
    return sorted(result, key=lambda row: (-(row["transfer_ns"] + row["waiting_ns"]), row["operation"]))


def _keys(simulation: Simulation, trace: Trace, by: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    for number, node in enumerate(simulation.program.nodes):
        if node.event is None or not simulation.calls[number]:
            continue
        name = trace.ops[node.event.op].name
        stack = trace.stack(node.event.signature)
        site = next(iter(callers(stack)), "")
        yield number, (name, short_frame(site) if site else "") if by == "site" else (name,)


def event_times(simulation: Simulation) -> dict[int, dict[str, float]]:
    """Return id of an event node -> PARTS of all ranks, and `path_compute_ns` of the longest path."""
    path = simulation.path_by_node
    result: dict[int, dict[str, float]] = {}
    for number, node in enumerate(simulation.program.nodes):
        if node.event is None:
            continue
        times = result.setdefault(id(node.event), dict.fromkeys(EVENT_TIMES, 0.0))
        parts = (*simulation.by_node[number], 0 if path is None else path[number, 0])
        for name, picoseconds in zip(EVENT_TIMES, parts, strict=True):
            times[name] += int(picoseconds) / 1000
    return result


def by_rank(simulation: Simulation) -> list[dict[str, Any]]:
    """Return end and times of each rank."""
    table = np.column_stack((simulation.clocks[:, 0], simulation.by_rank)) / 1000
    return [
        dict(zip(("rank", "end_ns", *PARTS), (rank, *values), strict=True))
        for rank, values in enumerate(table.tolist())
    ]


def path_parts(simulation: Simulation) -> dict[str, float]:
    """Return the parts of the longest path (ns), and the number of latencies on it."""
    total, compute, latency, transfer, messages = (int(part) for part in simulation.path)
    return {
        "compute_ns": compute / 1000,
        "latency_ns": latency / 1000,
        "bytes_ns": transfer / 1000,
        "overhead_ns": (total - compute - latency - transfer) / 1000,
        "messages": messages,
    }
