"""Calls of a probabilistic trace, sampled before they are due, while the rank computes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from scalatrace.operations import COLLECTIVES, Category, operation
from scalatrace.replay.common.options import ComputeMode, ReplayOptions
from scalatrace.replay.common.view import AnyCall
from scalatrace.replay.common.whatif import WhatIf
from scalatrace.replay.probabilistic.sampled_calls import ParameterSampler, SampledCall
from scalatrace.replay.timing.compute_times import ComputeTimes
from scalatrace.trace.query.load import COMM, COMPUTE, Loads, Means
from scalatrace.trace.query.requests import ENDING, STARTING

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.trace.model.nodes import Event
    from scalatrace.trace.query.walk import Call

__all__ = ["wait_share", "waits"]

OF_REQUESTS = ENDING | {"Request_free", "Cancel", "Request_get_status"}
"""Operations that are about receives if their requests are."""


WAITING = (Category.RECV, Category.PROBE)


@dataclass(slots=True)
class PlannedCall:
    """One call.

    Attributes:
        call: as the trace has it.
        in_mpi_ns: how long the program was in it.
        receives: whether it only receives; None when its requests decide.
        sampled: the call with sampled parameters; `call` if it has none.
        issued: the call that MPI gets: a blocking one has become its nonblocking form.
    """

    call: Call
    in_mpi_ns: int
    receives: bool | None
    sampled: AnyCall
    issued: AnyCall


class _PlannedKind(NamedTuple):
    """What calls of one operation have in common."""

    receives: bool | None
    waits: bool
    issued: Callable[[Call, AnyCall], AnyCall]


class CallPlanner:
    """Plans the calls of one rank, in the order of its walk."""

    def __init__(self, trace: Trace, rank: int, options: ReplayOptions, whatif: WhatIf) -> None:
        self._sampler = ParameterSampler(trace, rank, options.seed)
        self._whatif = whatif
        self._in_mpi = ComputeTimes(trace, rank, options, WhatIf(), COMM)
        self._wait_share = 1.0 if options.compute is ComputeMode.NONE else wait_share(trace, rank)
        self._kinds: dict[str, _PlannedKind] = {}

    def plan(self, call: Call) -> PlannedCall:
        """Return what to do for a call."""
        ns, op = self._in_mpi.before(call), call.op
        kind = self._kinds.get(op)
        if kind is None:
            kind = self._kinds[op] = _PlannedKind(receives(call), waits(op), select_conversion(op))
        if kind.waits:
            ns = round(ns * self._wait_share)
        plan = PlannedCall(call, ns, kind.receives, call, call)
        if not plan.receives and op not in ENDING and op not in STARTING:
            plan.sampled = self._whatif.view(self._sampler.call(call))
            plan.issued = kind.issued(call, plan.sampled)
        return plan


def receives(call: Call) -> bool | None:
    """Whether a call only receives; None when its requests decide."""
    if call.op in OF_REQUESTS:
        return None
    category = operation(call.op).category
    makes_receive = category is Category.PERSISTENT and "source" in call
    return category in (Category.RECV, Category.PROBE) or makes_receive or call.op == "Parrived"


def select_conversion(op: str) -> Callable[[Call, AnyCall], AnyCall]:
    """Return what turns a call of an operation, and its sampled form, into the call that MPI gets."""
    row = operation(op)
    if row.category is Category.SENDRECV:
        return _sending_half
    if row.category is Category.SEND:
        name = (op if row.makes_request else "I" + op.lower()).replace("Irsend", "Isend")
        return lambda _, sampled: SampledCall(sampled, {}, name)
    if row.category in COLLECTIVES and not row.makes_request:
        nonblocking = "I" + op.lower()
        return lambda _, sampled: SampledCall(sampled, {}, nonblocking)
    return lambda _, sampled: sampled


def _sending_half(call: Call, sampled: AnyCall) -> AnyCall:
    """Return the sending half of a Sendrecv."""
    count, datatype = ("count", "datatype") if "count" in call else ("sendcount", "sendtype")
    message = {"dest": sampled["dest"], "tag": call["sendtag"]}
    return SampledCall(call, message | {"count": sampled[count], "datatype": call[datatype]}, "Isend")


def waits(op: str) -> bool:
    """Whether a call of this operation may wait for a message."""
    return op in ENDING or operation(op).category in WAITING


def wait_share(trace: Trace, rank: int) -> float:
    """Return the factor, from 0 to 1, on the mean times of a rank's receives and completions.

    A histogram says how long ranks waited on the average. In a program whose ranks run different parts, those
    that compute longest hardly wait. But all ranks end at about the same time: a rank waits in the time that
    it neither computes nor spends in other calls.
    """

    def may_wait(event: Event) -> bool:
        return waits(trace.ops[event.op].name)

    loads, in_mpi = Loads(trace, COMPUTE), Means(trace, COMM)
    waited = in_mpi.of(rank, may_wait)
    if waited <= 0:
        return 1.0
    computed = loads.means.of(rank) * loads.over_means(rank)
    waiting = loads.means.per_rank + in_mpi.per_rank - computed - (in_mpi.of(rank) - waited)
    return min(1.0, max(0.0, waiting / waited))
