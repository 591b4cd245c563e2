"""What a run does not use of its platform, and why: for one line beside its results."""

from __future__ import annotations

from collections.abc import Iterator

from scalatrace.operations import operation
from scalatrace.predict.platform.model import Platform
from scalatrace.trace.model.trace import Trace

__all__ = ["list_unused", "unused_note"]

MAX_NAMED = 3
"""Operations that are named; further ones are counted."""


def unused_note(platform: Platform, trace: Trace, largest_bytes: int, shared: bool = True) -> str:
    """Return a note on unused keys and on messages larger than the measured ones; "" without either."""
    parts = "; ".join(f"{key} ({reason})" for key, reason in list_unused(platform, trace, shared))
    beyond = _beyond(platform, largest_bytes)
    return "; ".join(filter(None, (f"not used: {parts}" if parts else "", beyond)))


def list_unused(platform: Platform, trace: Trace, shared: bool = True) -> Iterator[tuple[str, str]]:
    """Yield the keys that a platform sets and a run of a trace on it does not use, with the reason.

    Args:
        shared: whether messages share links.
    """
    nprocs = trace.nprocs
    if platform.topology.kind != "full" and not shared:
        yield "topology", "--network none: messages share no links"
    if platform.memory is not None:
        nnodes = platform.count_nodes(nprocs)
        if nnodes == 1:
            yield "network", "all ranks are on one node"
        if nnodes == nprocs > 1:
            yield "memory", "no two ranks share a node"
    called = {operation(op.name).collective for op in trace.ops}
    uncalled = [name for name in platform.collectives if name not in called]
    if uncalled:
        more = f" and {len(uncalled) - MAX_NAMED} more" if len(uncalled) > MAX_NAMED else ""
        names = ", ".join(f"collectives.{name}" for name in uncalled[:MAX_NAMED])
        yield names + more, "the run has no such calls"


def _beyond(platform: Platform, largest_bytes: int) -> str:
    """Return what is said of messages that are larger than the measured ones."""
    measured = platform.measured_up_to_bytes
    if not measured or largest_bytes <= measured:
        return ""
    return (
        f"messages have up to {largest_bytes:,} bytes, the platform was measured up to {measured:,}: "
        "larger ones take the time per byte of the last segment"
    )
