"""Experiments for Extra-P: metrics by call path, of several traces, as its JSON.

The parameter `p` is the number of ranks; those of `scalatrace record --param` follow. A value is the mean of
the ranks; traces with equal parameters are repetitions.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from scalatrace.errors import UsageError
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.model.trace import PARAMETER, Trace
from scalatrace.trace.query.load import COMM, COMPUTE
from scalatrace.trace.query.traffic import traffic

__all__ = ["experiment", "experiment_json"]

MetricValues = dict[tuple[str, str], float]
"""Value by call path and metric."""


def experiment_json(traces: Sequence[Trace]) -> str:
    """Return an experiment as text. Raises UsageError as `experiment`."""
    return json.dumps(experiment(traces), indent=1) + "\n"


def experiment(traces: Sequence[Trace]) -> dict[str, Any]:
    """Return an experiment as plain data.

    Raises:
        UsageError: a trace lacks a parameter that another has, or it is no number.
    """
    names = ["p", *_parameters(traces)]
    points: dict[tuple[str, str], dict[tuple[float, ...], list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for trace in traces:
        point = _point(trace, names)
        for key, value in _values(trace).items():
            points[key][point].append(value)
    measurements: dict[str, dict[str, Any]] = defaultdict(dict)
    for (path, metric), values in sorted(points.items()):
        listed = [{"point": list(point), "values": measured} for point, measured in sorted(values.items())]
        measurements[path][metric] = listed
    return {"parameters": names, "measurements": dict(measurements)}


def _parameters(traces: Sequence[Trace]) -> list[str]:
    names = {name.removeprefix(PARAMETER) for t in traces for name in t.meta if name.startswith(PARAMETER)}
    return sorted(names)


def _point(trace: Trace, names: Sequence[str]) -> tuple[float, ...]:
    values = [float(trace.nprocs)]
    for name in names[1:]:
        text = trace.meta.get(PARAMETER + name)
        if text is None:
            raise UsageError(
                f"a trace of {trace.nprocs} ranks has no parameter {name}; record it with --param"
            )
        try:
            values.append(float(text))
        except ValueError:
            raise UsageError(f"parameter {name} is {text!r}; Extra-P needs a number") from None
    return tuple(values)


def _values(trace: Trace) -> MetricValues:
    """Return the mean of the ranks for each call path and metric."""
    totals: Counter[tuple[str, str]] = Counter()
    for event, calls, sent, _ in traffic(trace):
        path = _path(trace, event)
        totals[path, "visits"] += calls
        totals[path, "bytes"] += sent
    result = {key: float(total) for key, total in totals.items()}
    for metric, stat in (("time", COMM), ("computation", COMPUTE)):
        for event in trace.leaves():
            key = _path(trace, event), metric
            result[key] = result.get(key, 0.0) + _seconds(trace, event, stat)
    return {key: total / len(trace.ranks) for key, total in result.items()}


def _seconds(trace: Trace, event: Event, stat: str) -> float:
    """Return the time of all calls of a node, on all ranks."""
    index = trace.stat_index.get(stat)
    if index is None:
        return 0.0
    total = sum(histogram.total for _, histogram in event.histograms_by_pred(index))
    return total * trace.stats[index].resolution * 1e-9


def _path(trace: Trace, event: Event) -> str:
    """Return the frames from the outside in, and the call."""
    frames = [frame.replace("->", "→") for frame in reversed(trace.stack(event.signature))]
    return "->".join([*frames, f"MPI_{trace.ops[event.op].name}"])
