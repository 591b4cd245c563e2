"""Lower the calls of each rank by category, one after the other, in memory that its live requests need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from enum import Enum, auto
from functools import cache
from typing import NamedTuple, Self

from scalatrace.operations import COLLECTIVES, MESSAGES, Category, Mode, operation, sent_bytes
from scalatrace.predict.lowering.actions import (
    Computation,
    LoweredAction,
    LoweredStep,
    LoweringTarget,
    RecvMessage,
    SendMessage,
    WaitAction,
)
from scalatrace.predict.lowering.collectives import LoweredCollectives
from scalatrace.predict.lowering.messages import LoweredMessages, Tags
from scalatrace.predict.lowering.report import Account, Outcome
from scalatrace.predict.lowering.requests import LoweredRequest, RequestNumbers
from scalatrace.predict.platform import Platform
from scalatrace.trace.model.call import Call, CompiledEvent
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.load import COMPUTE, MeanTimes
from scalatrace.trace.query.requests import (
    ENDING,
    STARTED_SOURCES,
    STARTED_TAGS,
    STARTING,
    LiveRequests,
    ages,
)
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG

__all__ = ["TraceLowering"]

_MESSAGES = MESSAGES | {Category.PERSISTENT}
_REASONS = {
    Category.ONE_SIDED: "one-sided communication",
    Category.WINDOW: "synchronisation of a window",
    Category.IO: "file access",
    Category.FILE: "file access",
    Category.PROBE: "its receive waits instead",
}


_MAX_TEMPLATES = 1 << 14
"""Different calls of a rank whose messages are kept."""


class _CallTemplate(NamedTuple):
    """Messages of a call, peers that are not in the result, and the entry of the account."""

    messages: tuple[SendMessage | RecvMessage, ...]
    outside: int
    outcome: Outcome
    treatment: str
    nbytes: int


class CallRole(Enum):
    """How a call is lowered."""

    MESSAGE = auto()
    COMPLETION = auto()
    START = auto()
    READY = auto()
    FREE = auto()
    CANCEL = auto()
    PROBE = auto()
    COLLECTIVE = auto()
    OTHER = auto()


@cache
def _role(op: str) -> CallRole:
    row = operation(op)
    base, category = row.base, row.category
    if base in ENDING:
        return CallRole.COMPLETION
    if base in STARTING:
        return CallRole.START
    if base.startswith("Pready"):
        return CallRole.READY
    if base in ("Request_free", "Cancel"):
        return CallRole.FREE if base == "Request_free" else CallRole.CANCEL
    if row.is_matched_probe:
        return CallRole.PROBE
    if category in _MESSAGES:
        return CallRole.MESSAGE
    return CallRole.COLLECTIVE if category in COLLECTIVES else CallRole.OTHER


class RankLowering:
    """The state of one rank: live requests, probed messages, communicators.

    Args:
        beside: the state of another thread of the rank, with which it shares communicators.
    """

    def __init__(
        self,
        target: LoweringTarget,
        platform: Platform,
        messages: LoweredMessages,
        account: Account,
        nranks: int,
        beside: RankLowering | None = None,
    ) -> None:
        self._messages, self._account = messages, account
        if beside is None:
            self._collectives = LoweredCollectives(target, platform, messages, account, nranks)
            self._exchange = RequestNumbers()
        else:
            self._collectives, self._exchange = beside._collectives, beside._exchange
        self._requests: LiveRequests[LoweredRequest] = LiveRequests(lambda request: request.persistent)
        self._templates: dict[tuple[CompiledEvent, tuple[int, ...]], _CallTemplate] = {}
        self._probed: LiveRequests[RecvMessage | None] = LiveRequests(lambda message: False)

    def use_lists(
        self, requests: LiveRequests[LoweredRequest], probed: LiveRequests[RecvMessage | None]
    ) -> None:
        """Keep requests and probed messages in lists that other threads can read."""
        self._requests, self._probed = requests, probed

    def lists(self) -> tuple[LiveRequests[LoweredRequest], LiveRequests[RecvMessage | None]]:
        """Return live requests and probed messages."""
        return self._requests, self._probed

    def actions(self, call: Call) -> list[LoweredAction]:
        """Return the actions of the rank's next call."""
        match _role(call.op):
            case CallRole.MESSAGE:
                return self._message(call)
            case CallRole.COMPLETION:
                return self._complete(call)
            case CallRole.START:
                return self._start_all(call)
            case CallRole.READY:
                return self._mark_ready(call)
            case CallRole.FREE | CallRole.CANCEL as role:
                return self._end(call, role is CallRole.CANCEL)
            case CallRole.PROBE:
                return self._probe(call)
            case CallRole.COLLECTIVE:
                return self._collective(call)
        return self._lower_other(call)

    def _message(self, call: Call) -> list[LoweredAction]:
        row = operation(call.op)
        template = self._template(call)
        for _ in range(template.outside):
            self._account.add(call.op, Outcome.LOST, "a peer that is not in the result")
        messages = self._lower_probed_receive(call) if "message" in call.place.names else template.messages
        if messages or not template.outside:
            self._account.add(call.op, template.outcome, template.treatment, template.nbytes)
        if row.flow_later:
            partitions = call.get("partitions", 0) if row.sends is not None else 0
            self._requests.add(LoweredRequest(True, tuple(messages), partitions=partitions, made_by=call))
            return []
        if not row.makes_request:
            return self._exchange.together(messages)
        started = [self._exchange.start(message) for message in messages]
        self._requests.add(
            LoweredRequest(False, active=[sent.request for sent in started if sent.request is not None])
        )
        return list(started)

    def _template(self, call: Call) -> _CallTemplate:
        """Return the messages of a call, without requests; cached by event node and values."""
        key = call.place, call.values
        template = self._templates.get(key)
        if template is None:
            if len(self._templates) >= _MAX_TEMPLATES:
                self._templates.clear()
            template = self._templates[key] = self._new_template(call)
        return template

    def _new_template(self, call: Call) -> _CallTemplate:
        row = operation(call.op)
        later = row.flow_later and self._messages.is_open(call)
        messages, outside = ([], 0) if "message" in call or later else self._messages.of(call)
        treatment = "" if row.mode is Mode.STANDARD else "as a standard send"
        if "partitions" in call:
            treatment = "partitions as one message"
        outcome = Outcome.LOWERED if treatment else Outcome.KEPT
        nbytes = sent_bytes(call.op, call, row.flow_later)
        return _CallTemplate(tuple(messages), outside, outcome, treatment, nbytes)

    def _lower_probed_receive(self, call: Call) -> list[SendMessage | RecvMessage]:
        """Return the receive of a message that was probed."""
        size = call["count"] * getattr(call["datatype"], "size", 0)
        return [
            message._replace(nbytes=max(size, 0))
            for message in self._probed.end((call["message"],), freed=True)
            if message is not None
        ]

    def _probe(self, call: Call) -> list[LoweredAction]:
        self._account.add(call.op, Outcome.LOST, "its receive waits instead")
        if call.raw("source") >= 0 or self._messages.peer(call, "source") is not None:
            messages, _ = self._messages.of(call)
            self._probed.add(
                next((message for message in messages if isinstance(message, RecvMessage)), None)
            )
        return []

    def _start_all(self, call: Call) -> list[LoweredAction]:
        """Start requests; a receive has the sender that this start names, if it does."""
        requests = self._requests.of_ages(ages(call))
        unnamed = ((ANY_SOURCE, ANY_TAG),) * len(requests)
        named = (
            zip(call[STARTED_SOURCES], call[STARTED_TAGS], strict=True)
            if STARTED_SOURCES in call
            else unnamed
        )
        self._account.add(call.op, Outcome.KEPT)
        actions: list[LoweredAction] = []
        for request, (source, tag) in zip(requests, named, strict=True):
            made_by = request.made_by
            if made_by is not None and (source != ANY_SOURCE or self._messages.is_open(made_by)):
                request.messages = self._messages.received(made_by, source, tag)
            actions += self._start(request)
        return actions

    def _start(self, request: LoweredRequest) -> list[LoweredAction]:
        if request.collective is not None:
            request.waiting.append(self._collectives.begin(request.collective))
        request.ready = 0
        if request.partitions:
            return []
        started = [self._exchange.start(message) for message in request.messages]
        request.active += [action.request for action in started if action.request is not None]
        return list(started)

    def _mark_ready(self, call: Call) -> list[LoweredAction]:
        """Send a partitioned message when its last partition is ready."""
        if "partition_low" in call:
            marked = call["partition_high"] - call["partition_low"] + 1
        else:
            marked = len(call["array_of_partitions"]) if "array_of_partitions" in call else 1
        self._account.add(call.op, Outcome.KEPT)
        result: list[LoweredAction] = []
        for request in self._requests.of_ages((call["request"],)):
            before, request.ready = request.ready, request.ready + marked
            if before < request.partitions <= request.ready:
                started = [self._exchange.start(message) for message in request.messages]
                request.active += [action.request for action in started if action.request is not None]
                result += started
        return result

    def _complete(self, call: Call) -> list[LoweredAction]:
        actions: list[LoweredAction] = []
        awaited: list[int] = []
        for request in self._requests.end(ages(call), freed=False):
            for pending in request.waiting:
                actions += self._collectives.complete(pending, self._exchange)
            request.waiting = []
            awaited += request.active
            request.active = []
        self._account.add(call.op, Outcome.KEPT)
        return [*actions, WaitAction(tuple(awaited))] if awaited else actions

    def _end(self, call: Call, cancels: bool) -> list[LoweredAction]:
        """Free requests, or leave what is cancelled without a wait."""
        if not cancels:
            self._requests.end(ages(call), freed=True)
            self._account.add(call.op, Outcome.KEPT, "no communication")
            return []
        for request in self._requests.of_ages(ages(call)):
            request.active = []
        self._account.add(call.op, Outcome.LOST, "nothing waits for what is cancelled")
        return []

    def _collective(self, call: Call) -> list[LoweredAction]:
        row = operation(call.op)
        if row.flow_later:
            self._requests.add(LoweredRequest(True, collective=call))
        elif row.makes_request:
            self._requests.add(LoweredRequest(False, waiting=[self._collectives.begin(call)]))
        else:
            return self._collectives.blocking(call, self._exchange)
        return []

    def _lower_other(self, call: Call) -> list[LoweredAction]:
        row = operation(call.op)
        self._collectives.neighbours.follow(call)
        if row.makes_request:
            self._requests.add(LoweredRequest(False))
        if row.synchronises:
            return self._collectives.barrier(call, self._exchange)
        if reason := _REASONS.get(row.category):
            self._account.add(call.op, Outcome.LOST, reason, sent_bytes(call.op, call))
        else:
            self._account.add(call.op, Outcome.KEPT, "no communication")
        return []


class TraceLowering:
    """A trace that is lowered for a target.

    Args:
        platform: algorithms of collectives that become messages, and factors on computation.
        ranks: the ranks of the result, which numbers them from 0; None: all. Messages to others are lost.

    Attributes:
        account: what became of the calls of the ranks that were lowered so far.
    """

    def __init__(
        self,
        trace: Trace,
        target: LoweringTarget | None = None,
        platform: Platform | None = None,
        ranks: Iterable[int] | None = None,
    ) -> None:
        self.trace = trace
        self.target = target or LoweringTarget()
        self.platform = (platform or Platform()).placed(trace.nprocs, trace.meta)
        chosen = None if ranks is None else sorted(set(ranks))
        for rank in chosen or ():
            trace.walk(rank)  # raises for a rank that is not in the trace
        if chosen is None and len(trace.ranks) != trace.nprocs:
            chosen = list(trace.ranks)
        self.ranks: list[int] | range = range(trace.nprocs) if chosen is None else chosen
        numbers = None if chosen is None else {rank: i for i, rank in enumerate(chosen)}
        self.account = Account()
        self._messages = LoweredMessages(Tags(), numbers)
        self._times = MeanTimes(self.trace, COMPUTE, self.platform.compute_scale)

    def beside(self) -> Self:
        """Return the same lowering with an account of its own, to go through the ranks once more."""
        result = copy(self)
        result.account = Account()
        return result

    def steps(self, rank: int) -> Iterator[LoweredStep]:
        """Yield the calls of a world rank with their actions.

        Raises:
            UsageError: a receive names no source or tag, or sizes or peers were not recorded.
        """
        computed, lowered = self.computed(rank), self.rank_lowering()
        for call in self.trace.walk(rank):
            yield LoweredStep(call, computed(call), lowered.actions(call))

    def computed(self, rank: int) -> Callable[[Call], float]:
        """Return a function that gives the computation before a call of a rank, ns."""
        return self._times.of_rank(rank)

    def rank_lowering(self, beside: RankLowering | None = None) -> RankLowering:
        """Return what lowers the calls of a rank, or of another thread of it."""
        return RankLowering(self.target, self.platform, self._messages, self.account, len(self.ranks), beside)

    def actions(self, rank: int) -> Iterator[LoweredAction]:
        """Yield the actions of a world rank; computations that follow each other are one."""
        ns = 0.0
        for step in self.steps(rank):
            ns += step.compute_ns
            for action in step.actions:
                if isinstance(action, Computation):
                    ns += action.ns
                    continue
                if ns > 0:
                    yield Computation(ns)
                    ns = 0.0
                yield action
        if ns > 0:
            yield Computation(ns)
