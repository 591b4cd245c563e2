"""Size of the calls of an event node: bytes of a message, or of a rank in a collective call."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from scalatrace.operations import COLLECTIVES, operation
from scalatrace.report.costs.rows import CostRow
from scalatrace.trace.exchange.messages import Messages
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.summaries import byte_parameters
from scalatrace.trace.values.vec import Vec

__all__ = ["CallSize", "call_size"]


@dataclass(frozen=True, slots=True)
class CallSize:
    """Bytes of a call.

    Attributes:
        nbytes: of a message; or of a rank in a collective call, with what it keeps for itself.
        per: "message" or "rank".
        is_mean: sizes may differ, and this is their mean.
        is_room: size of the receive buffer, which a message may not fill.
    """

    nbytes: float
    per: str
    is_mean: bool
    is_room: bool


def call_size(trace: Trace, event: Event, row: CostRow, messages: Iterable[Messages] = ()) -> CallSize | None:
    """Return the size of an event node's calls; None: it moves nothing, or the bytes are not known.

    In a broadcast, the root has the bytes that it sends, and the other ranks those that they receive: each
    rank has the buffer once. In other collectives, a rank has what it contributes; in a scatter, its part.

    Args:
        row: calls and bytes of the node.
        messages: those that it sends.
    """
    op = operation(trace.ops[event.op].name)
    per = "rank" if op.category in COLLECTIVES else "message"
    is_mean = _may_vary(trace, event)
    sent = [(len(flow.senders) * flow.count, flow.nbytes) for flow in messages]
    if count := sum(n for n, _ in sent):  # without calls to MPI_PROC_NULL
        differ = len({nbytes for _, nbytes in sent}) > 1
        mean = float(sum(n * size for n, size in sent) / count)
        return CallSize(mean, per, is_mean or differ, False)
    if op.flow_later:
        return None
    if not row.calls or not (op.sends or op.recvs):
        return None
    if op.sends is None:
        return None if row.received is None else CallSize(row.received / row.calls, per, is_mean, True)
    nbytes = row.sent
    if op.sends.where == "root" and op.recvs is not None:
        is_once = op.recvs.where == "others"  # each rank sends or receives the same buffer
        nbytes = row.received if not is_once or row.sent is None else row.sent + (row.received or 0)
    return None if nbytes is None else CallSize(nbytes / row.calls, per, is_mean, False)


def _may_vary(trace: Trace, event: Event) -> bool:
    """Return whether calls of a node may have different sizes: a parameter is no constant, or is an array."""
    op, schema = operation(trace.ops[event.op].name), trace.ops[event.op].params
    if any(flow is not None and flow.is_listed for flow in (op.sends, op.recvs)):
        return True
    return any(
        not isinstance(param, Vec) or param.constant is None
        for (name, _), param in zip(schema, event.params, strict=True)
        if name != "root" and byte_parameters(op.name, name)
    )
