"""Lower the calls of one rank by category, and follow its requests."""

from __future__ import annotations

from scalatrace.operations import Category, operation, sent_bytes
from scalatrace.predict.lowering.actions import Action, Recv, Send, Target, Wait
from scalatrace.predict.lowering.collectives import Collectives
from scalatrace.predict.lowering.exchange import Exchange
from scalatrace.predict.lowering.messages import Messages
from scalatrace.predict.lowering.pending import Pending
from scalatrace.predict.lowering.report import Account, Outcome
from scalatrace.predict.platform import Platform
from scalatrace.trace.model.call import Call
from scalatrace.trace.query.requests import ENDING, STARTING, LiveRequests, ages

__all__ = ["RankLowering"]

_MESSAGES = (Category.SEND, Category.RECV, Category.SENDRECV, Category.PERSISTENT)
_COLLECTIVE = (Category.COLLECTIVE, Category.NEIGHBOUR)
_SYNCHRONISING = frozenset({
    "Comm_dup", "Comm_dup_with_info", "Comm_split", "Comm_split_type", "Comm_create", "Cart_create",
    "Cart_sub", "Graph_create", "Dist_graph_create", "Dist_graph_create_adjacent", "Win_create",
    "Win_allocate", "Win_allocate_shared", "Win_fence", "Win_free",
})  # fmt: skip
"""Calls in which all members of a communicator exchange a few bytes."""

_REASONS = {
    Category.ONE_SIDED: "one-sided communication",
    Category.WINDOW: "synchronisation of a window",
    Category.IO: "file access",
    Category.FILE: "file access",
    Category.PROBE: "its receive waits instead",
}


class RankLowering:
    """The state of one rank: live requests, probed messages, communicators."""

    def __init__(
        self, target: Target, platform: Platform, messages: Messages, account: Account, nranks: int
    ) -> None:
        self._messages, self._account = messages, account
        self._collectives = Collectives(target, platform, messages, account, nranks)
        self._exchange = Exchange()
        self._requests: LiveRequests[Pending] = LiveRequests(lambda request: request.persistent)
        self._probed: LiveRequests[Recv | None] = LiveRequests(lambda message: False)

    def actions(self, call: Call) -> list[Action]:
        """Return the actions of the rank's next call."""
        base, row = call.op.removesuffix("_c"), operation(call.op)
        if base in ENDING:
            return self._complete(call)
        if base in STARTING:
            return [action for request in self._requests.at(ages(call)) for action in self._start(request)]
        if base.startswith("Pready"):
            return self._mark_ready(call)
        if base in ("Request_free", "Cancel"):
            return self._end(call, base == "Cancel")
        if base in ("Mprobe", "Improbe"):
            return self._probe(call)
        if row.category in _MESSAGES:
            return self._message(call)
        if row.category in _COLLECTIVE:
            return self._collective(call)
        return self._other(call)

    def _message(self, call: Call) -> list[Action]:
        row = operation(call.op)
        if "message" in call:
            messages, outside = self._received(call), 0
        else:
            messages, outside = self._messages.of(call)
        for _ in range(outside):
            self._account.add(call.op, Outcome.LOST, "a peer that is not in the result")
        if messages or not outside:
            kind = call.op.lower().removeprefix("i").removesuffix("_init").removesuffix("_c")
            special = kind in ("ssend", "bsend", "rsend")
            treatment = (
                "as a standard send"
                if special
                else "partitions as one message"
                if "partitions" in call
                else ""
            )
            outcome = Outcome.LOWERED if treatment else Outcome.KEPT
            self._account.add(call.op, outcome, treatment, sent_bytes(call.op, call, row.flow_later))
        if row.flow_later:
            partitions = call.get("partitions", 0) if row.sends is not None else 0
            self._requests.add(Pending(True, tuple(messages), partitions=partitions))
            return []
        if not row.makes_request:
            return self._exchange.together(messages)
        started = [self._exchange.start(message) for message in messages]
        self._requests.add(
            Pending(False, active=[each.request for each in started if each.request is not None])
        )
        return list(started)

    def _received(self, call: Call) -> list[Send | Recv]:
        """Return the receive of a message that was probed."""
        size = call["count"] * getattr(call["datatype"], "size", 0)
        return [
            message._replace(nbytes=max(size, 0))
            for message in self._probed.end((call["message"],), freed=True)
            if message is not None
        ]

    def _probe(self, call: Call) -> list[Action]:
        self._account.add(call.op, Outcome.LOST, "its receive waits instead")
        if call.raw("source") >= 0 or self._messages.peer(call, "source") is not None:
            found, _ = self._messages.of(call)
            self._probed.add(next((each for each in found if isinstance(each, Recv)), None))
        return []

    def _start(self, request: Pending) -> list[Action]:
        if request.collective is not None:
            request.waiting.append(self._collectives.begin(request.collective))
        request.ready = 0
        if request.partitions:
            return []
        started = [self._exchange.start(message) for message in request.messages]
        request.active += [each.request for each in started if each.request is not None]
        return list(started)

    def _mark_ready(self, call: Call) -> list[Action]:
        """Send a partitioned message when its last partition is ready."""
        if "partition_low" in call:
            marked = call["partition_high"] - call["partition_low"] + 1
        else:
            marked = len(call["array_of_partitions"]) if "array_of_partitions" in call else 1
        result: list[Action] = []
        for request in self._requests.at((call["request"],)):
            before, request.ready = request.ready, request.ready + marked
            if before < request.partitions <= request.ready:
                started = [self._exchange.start(message) for message in request.messages]
                request.active += [each.request for each in started if each.request is not None]
                result += started
        return result

    def _complete(self, call: Call) -> list[Action]:
        actions: list[Action] = []
        awaited: list[int] = []
        for request in self._requests.end(ages(call), freed=False):
            for pending in request.waiting:
                actions += self._collectives.complete(pending, self._exchange)
            request.waiting = []
            awaited += request.active
            request.active = []
        self._account.add(call.op, Outcome.KEPT)
        return [*actions, Wait(tuple(awaited))] if awaited else actions

    def _end(self, call: Call, cancels: bool) -> list[Action]:
        """Free requests, or leave what is cancelled without a wait."""
        if not cancels:
            self._requests.end(ages(call), freed=True)
            return []
        for request in self._requests.at(ages(call)):
            request.active = []
        self._account.add(call.op, Outcome.LOST, "nothing waits for what is cancelled")
        return []

    def _collective(self, call: Call) -> list[Action]:
        row = operation(call.op)
        if row.flow_later or call.op.removesuffix("_c").endswith("_init"):
            self._requests.add(Pending(True, collective=call))
        elif row.makes_request:
            self._requests.add(Pending(False, waiting=[self._collectives.begin(call)]))
        else:
            return self._collectives.blocking(call, self._exchange)
        return []

    def _other(self, call: Call) -> list[Action]:
        row = operation(call.op)
        self._collectives.neighbours.follow(call)
        if row.makes_request:
            self._requests.add(Pending(False))
        if call.op in _SYNCHRONISING:
            return self._collectives.barrier(call, self._exchange)
        if reason := _REASONS.get(row.category):
            self._account.add(call.op, Outcome.LOST, reason, sent_bytes(call.op, call))
        else:
            self._account.add(call.op, Outcome.KEPT, "no communication")
        return []
