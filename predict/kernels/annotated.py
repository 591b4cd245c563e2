"""Measured calls of kernels, from the trace of a program that marks them (docs/guide/calibrate.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod

from scalatrace.predict.kernels.fitting import KernelCall, fit_kernel
from scalatrace.predict.kernels.model import KernelModels
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.histogram import Histogram

__all__ = ["BEGINS", "ENDS", "annotated_calls", "fit_traces", "parse_kernel"]

BEGINS, ENDS = 1001, 1002
"""Levels of Pcontrol events."""
SHOWN_CALLS = 200
"""About so many calls of one kernel at one place are returned; at least one for each bin of times."""

CallPlace = tuple[str, int, int]
"""Text of a kernel, node of the event that ends it, and its predecessor."""


def parse_kernel(text: str) -> tuple[str, list[str]]:
    """Return the name and the parameters of a kernel that is marked as `dgemm(m,n,k)`."""
    name, _, parameters = text.partition("(")
    return name, [parameter.strip() for parameter in parameters.rstrip(")").split(",") if parameter.strip()]


def annotated_calls(trace: Trace) -> dict[str, list[KernelCall]]:
    """Return the calls of each kernel.

    A trace holds a histogram of the times of each place, not one time per call. Where the sizes of a place
    vary, the largest product of sizes gets the largest time, and so on. Kernels that make MPI calls are left
    out.
    """
    sizes: dict[CallPlace, list[dict[str, int]]] = {}
    times: dict[CallPlace, Histogram] = {}
    for rank in trace.ranks:
        for place, params, histogram in _of_rank(trace, rank):
            sizes.setdefault(place, []).append(params)
            times[place] = histogram
    result: dict[str, list[KernelCall]] = {}
    for place, params_of_calls in sizes.items():
        result.setdefault(parse_kernel(place[0])[0], []).extend(_pair_by_rank(params_of_calls, times[place]))
    return result


def fit_traces(traces: Iterable[Trace]) -> KernelModels:
    """Fit the models of each kernel to its calls in some traces. Raises UsageError as `fit_kernel`."""
    calls: dict[str, list[KernelCall]] = {}
    for trace in traces:
        for name, kernel_calls in annotated_calls(trace).items():
            calls.setdefault(name, []).extend(kernel_calls)
    return KernelModels(model for name in sorted(calls) for model in fit_kernel(name, calls[name]))


def _of_rank(trace: Trace, rank: int) -> Iterator[tuple[CallPlace, dict[str, int], Histogram]]:
    begun: tuple[str, dict[str, int]] | None = None
    for call in trace.walk(rank):
        level = call.get("level") if call.op == "Pcontrol" else None
        if level == ENDS and begun is not None and (histogram := call.stat("compute_ns")) is not None:
            yield (begun[0], id(call.node), call.pred), begun[1], histogram
        begun = None
        if level == BEGINS:
            text = str(call.get("kernel"))
            begun = (
                text,
                {name: int(call.get(f"size{i}") or 0) for i, name in enumerate(parse_kernel(text)[1])},
            )


def _pair_by_rank(params: Sequence[dict[str, int]], histogram: Histogram) -> Iterator[KernelCall]:
    """Pair sizes and times by rank, in about SHOWN_CALLS calls that stand for all."""
    ordered = sorted(params, key=lambda element: prod(element.values()))
    bins = sorted(histogram.drawn_bins, key=lambda element: element.mean)
    total, before = sum(histogram_bin.count for histogram_bin in bins), 0
    for histogram_bin in bins:
        shown = max(1, min(histogram_bin.count, round(SHOWN_CALLS * histogram_bin.count / total)))
        for i, ns in enumerate(histogram_bin.slices(shown)):
            at = (before + (i + 0.5) / shown * histogram_bin.count) / total
            yield KernelCall(ordered[int(at * len(ordered))], ns, count=histogram_bin.count / shown)
        before += histogram_bin.count
