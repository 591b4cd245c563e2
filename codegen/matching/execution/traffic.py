"""All messages of a trace counted, without an order: who can have sent what a receive takes.

Costs nodes times ranks, plus the calls of places whose peers or tags vary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from scalatrace.codegen.matching.execution.match_actions import (
    ActionKind,
    Channel,
    MatchAction,
    MatchActions,
    MatchedReceive,
)
from scalatrace.codegen.matching.execution.quota import Kind
from scalatrace.codegen.matching.execution.scopes import Scopes
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import executions_of
from scalatrace.trace.query.requests import started
from scalatrace.trace.query.walk import distinct_calls
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG

__all__ = ["Box", "Spare", "Traffic", "Way"]

Box = tuple[Channel, int]
"""Channel and receiver: where messages and receives meet."""

Way = tuple[Channel, int, int]
"""Channel, sender and receiver, both as world ranks."""


class Traffic:
    """What is sent, by channel, receiver, sender and tag."""

    def __init__(self, trace: Trace, scopes: Scopes) -> None:
        self.trace = trace
        self._sent: dict[tuple[Channel, int], dict[int, Counter[int]]] = {}
        for rank, action, n in iterate_performed(MatchActions(trace, scopes)):
            if action.send is not None:
                senders = self._sent.setdefault((action.send.channel, action.send.dest), {})
                senders.setdefault(rank, Counter())[action.send.tag] += n

    def certain_match(self, receive: MatchedReceive, rank: int) -> tuple[int, int] | None:
        """The one sender and tag that a receive can ever get; None when there are several, or none."""
        senders = self._sent.get((receive.channel, rank), {})
        possible = (
            senders.items()
            if receive.source == ANY_SOURCE
            else [(receive.source, senders.get(receive.source, Counter()))]
        )
        result = [(source, tag) for source, tags in possible for tag in tags if receive.tag in (ANY_TAG, tag)]
        return result[0] if len(result) == 1 else None

    def spare(self, actions: MatchActions) -> Spare:
        """What is left for receives from any source when all others have theirs."""
        spare = Spare()
        for (channel, dest), senders in self._sent.items():
            for source, tags in senders.items():
                for tag, n in tags.items():
                    spare.add((channel, source, dest), tag, n)
        for rank, action, n in iterate_performed(actions):
            receive = action.receive
            if receive is not None and receive.takes and receive.source != ANY_SOURCE:
                spare.add((receive.channel, receive.source, rank), receive.tag, -n)
        return spare

    def demand(self, actions: MatchActions) -> list[tuple[Box, Mapping[Kind, int], Mapping[Kind, int]]]:
        """Messages and receives by kind, of the ranks and channels where some receives are open."""
        wanted: dict[Box, Counter[Kind]] = {}
        for rank, action, n in iterate_performed(actions):
            receive = action.receive
            if receive is not None and receive.takes:
                wanted.setdefault((receive.channel, rank), Counter())[receive.source, receive.tag] += n
        return [
            (box, self._kinds(box), kinds)
            for box, kinds in wanted.items()
            if any(ANY_SOURCE in kind or ANY_TAG in kind for kind in kinds)
        ]

    def _kinds(self, box: Box) -> dict[Kind, int]:
        senders = self._sent.get(box, {})
        return {(source, tag): n for source, tags in senders.items() for tag, n in tags.items()}


class Spare:
    """Messages of each way that no receive with a certain sender needs."""

    def __init__(self) -> None:
        self._of_tag: Counter[tuple[Way, int]] = Counter()
        self._of_way: Counter[Way] = Counter()

    def add(self, way: Way, tag: int, n: int) -> None:
        """More messages, or with a negative number fewer; ANY_TAG: nobody knows of which tag."""
        self._of_way[way] += n
        if tag != ANY_TAG:
            self._of_tag[way, tag] += n

    def left(self, way: Way) -> int:
        """How many messages of any tag there are to spare."""
        return self._of_way[way]

    def of(self, way: Way, tag: int) -> int:
        """How many messages of a tag there are to spare."""
        return min(self._of_way[way], self._of_tag[way, tag])


def iterate_performed(actions: MatchActions) -> Iterator[tuple[int, MatchAction, int]]:
    """(rank, act, how often) of all that sends or receives; persistent calls count when they are started."""
    trace = actions.trace
    for rank in trace.ranks:
        for event, times in executions_of(trace, rank):
            for call, n in distinct_calls(trace, event, rank, times):
                action = actions.of(call)
                if action.kind is not ActionKind.PREPARE and (action.send or action.receive):
                    yield rank, action, n
        for _, call, n in started(trace, rank):
            yield rank, actions.of(call), n
