"""Where the buffers of calls lie: the parameter `memory` of traces from machines with GPUs."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from scalatrace.trace.model.elastic import vecs
from scalatrace.trace.model.nodes import Event, Peer

if TYPE_CHECKING:
    from scalatrace.trace.model.trace import Trace

__all__ = ["HOST", "MEMORY", "MEMORY_KINDS", "memory_of", "uses_devices"]

MEMORY = "memory"
"""The parameter: `host`, `device`, `managed`, or several joined by `+`, one for each buffer of the call."""

HOST = "host"

MEMORY_KINDS = frozenset({HOST, "device", "managed"})

MAX_READ_VALUES = 1 << 12
"""Values of a parameter of a group of ranks that are read."""


def memory_of(trace: Trace, event: Event) -> tuple[str, ...]:
    """Return the different values of the parameter in the calls of an event node, sorted; () without it."""
    at = trace.ops[event.op].index(MEMORY)
    if at is None:
        return ()
    param = event.params[at]
    vectors = vecs(param.value if isinstance(param, Peer) else param)
    indices = {value for vec in vectors for value in islice(vec, MAX_READ_VALUES) if value >= 0}
    return tuple(sorted(trace.string(index) for index in indices))


def uses_devices(trace: Trace) -> bool:
    """Return whether some call has a buffer outside of the host's memory."""
    return any(set(memory_of(trace, leaf)) - {HOST} for leaf in trace.leaves())
