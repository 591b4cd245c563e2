"""What is known of a call of a probabilistic trace before it is due: it is drawn while the rank computes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from scalatrace.ops import Category, operation
from scalatrace.replay.common.options import Compute, Options
from scalatrace.replay.common.whatif import WhatIf
from scalatrace.replay.probabilistic.sampled_calls import Drawn, Lottery
from scalatrace.replay.timing.delays import Delays
from scalatrace.replay.timing.wait_share import waiting_part, waits
from scalatrace.trace.query.load import COMM
from scalatrace.trace.query.requests import ENDING, STARTING

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.trace.query.walk import Call

OF_REQUESTS = ENDING | {"Request_free", "Cancel", "Request_get_status"}
"""Their requests tell whether they are about receives."""


@dataclass(slots=True)
class Plan:
    """One call.

    Attributes:
        call: as the trace has it.
        in_mpi_ns: how long the program was in it.
        receives: whether it only receives; None when its requests tell.
        drawn: with drawn parameters, if it has any.
        issued: what is handed to MPI in its place: what blocks has become its nonblocking form.
    """

    call: Call
    in_mpi_ns: int
    receives: bool | None
    drawn: Any = None
    issued: Any = None


class _Kind(NamedTuple):
    """What calls of one operation have in common."""

    receives: bool | None
    waits: bool
    issued: Callable[[Call, Any], Any]


class Planner:
    """Plans the calls of one rank, in the order of its walk."""

    def __init__(self, trace: Trace, rank: int, options: Options, whatif: WhatIf) -> None:
        self._lottery = Lottery(trace, rank, options.seed)
        self._whatif = whatif
        self._in_mpi = Delays(trace, rank, options, WhatIf(), COMM)
        self._waiting_part = 1.0 if options.compute is Compute.NONE else waiting_part(trace, rank)
        self._kinds: dict[str, _Kind] = {}

    def plan(self, call: Call) -> Plan:
        """Return what is to be done."""
        ns, op = self._in_mpi.before(call), call.op
        kind = self._kinds.get(op)
        if kind is None:
            kind = self._kinds[op] = _Kind(receives(call), waits(op), issued(op))
        if kind.waits:
            ns = round(ns * self._waiting_part)
        plan = Plan(call, ns, kind.receives)
        if not plan.receives and op not in ENDING and op not in STARTING:
            plan.drawn = self._whatif.view(self._lottery.call(call))
            plan.issued = kind.issued(call, plan.drawn)
        return plan


def receives(call: Call) -> bool | None:
    """Whether a call only receives; None when its requests tell."""
    if call.op in OF_REQUESTS:
        return None
    category = operation(call.op).category
    makes_receive = category is Category.PERSISTENT and "source" in call
    return category in (Category.RECV, Category.PROBE) or makes_receive or call.op == "Parrived"


def issued(op: str) -> Callable[[Call, Any], Any]:
    """Return what turns a call of an operation, and its drawn form, into what is handed to MPI."""
    row = operation(op)
    if row.category is Category.SENDRECV:
        return _sent_of_both
    if row.category is Category.SEND:
        name = (op if row.makes_request else "I" + op.lower()).replace("Irsend", "Isend")
        return lambda _, drawn: Drawn(drawn, {}, name)
    if row.category in (Category.COLLECTIVE, Category.NEIGHBOUR) and not row.makes_request:
        nonblocking = "I" + op.lower()
        return lambda _, drawn: Drawn(drawn, {}, nonblocking)
    return lambda _, drawn: drawn


def _sent_of_both(call: Call, drawn: Any) -> Any:
    """Return the sending half of a Sendrecv."""
    count, datatype = ("count", "datatype") if "count" in call else ("sendcount", "sendtype")
    message = {"dest": drawn["dest"], "tag": call["sendtag"]}
    return Drawn(call, message | {"count": drawn[count], "datatype": call[datatype]}, "Isend")
