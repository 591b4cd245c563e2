"""Parameters that a trace stores as histograms (`Summary`), so that all calls have their mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from scalatrace.operations import operation
from scalatrace.trace.model.elastic import Summary
from scalatrace.trace.model.nodes import Event, Param, Peer
from scalatrace.trace.model.trace_tables import TraceTables

if TYPE_CHECKING:
    from scalatrace.trace.model.trace import Trace

__all__ = ["byte_parameters", "bytes_estimated", "is_summarised", "summarised", "summarised_names"]


def is_summarised(param: Param) -> bool:
    """Return whether the trace has only a histogram of the parameter."""
    return isinstance(param.value if isinstance(param, Peer) else param, Summary)


def summarised_names(trace: TraceTables, event: Event) -> Iterator[str]:
    """Yield the parameters of an event node that are summarised."""
    for (name, _), param in zip(trace.ops[event.op].params, event.params, strict=True):
        if is_summarised(param):
            yield name


def summarised(trace: Trace, chosen: Callable[[str, str], bool] = lambda op, name: True) -> tuple[str, ...]:
    """Return the summarised parameters of a trace, as `Alltoallv.sendcounts`, in order of their names.

    Args:
        chosen: called with operation and parameter; leaves out those for which it is false.
    """
    names: set[str] = set()
    for leaf in trace.leaves():
        op = trace.ops[leaf.op].name
        names.update(f"{op}.{name}" for name in summarised_names(trace, leaf) if chosen(op, name))
    return tuple(sorted(names))


@cache
def byte_parameters(op: str, name: str) -> bool:
    """Return whether the number of bytes that a call moves depends on a parameter."""
    row = operation(op)
    flows = [flow for flow in (row.sends, row.recvs) if flow]
    return any(
        name in (flow.count, flow.datatype, flow.times, "comm") or (name == "root" and flow.where != "all")
        for flow in flows
    )


def bytes_estimated(trace: TraceTables, event: Event) -> bool:
    """Return whether the bytes of a node's calls follow from means, since their sizes were not kept."""
    op = trace.ops[event.op].name
    return any(byte_parameters(op, name) for name in summarised_names(trace, event))
