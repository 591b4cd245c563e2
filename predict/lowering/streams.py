"""Lower the calls of a rank with several threads, in an order that the trace allows.

    thread 0   Irecv             Waitall ...      the calls of a thread are lowered when they are asked for:
    thread 1           Isend                      what they name of other threads is lowered before

A request that another thread made is made first, uses of a persistent request come in their order, and so do
collective calls of threads on one communicator.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

from scalatrace.operations import is_collective, operation
from scalatrace.predict.lowering.actions import LoweredStep
from scalatrace.predict.lowering.lower import RankLowering
from scalatrace.trace.model import elastic
from scalatrace.trace.model.call import Call
from scalatrace.trace.model.tables import SharedKind
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.requests import ForeignNames, LiveRequests, ages, is_foreign, names_of
from scalatrace.trace.threads import UseOrder, uses_of_rank

__all__ = ["LoweredStreams"]

T = TypeVar("T")
S = TypeVar("S")


class _StreamRequests(LiveRequests[T], Generic[T]):
    """Live requests or messages of one thread, with the names that it gives to those of others.

    Args:
        made: those of each thread, in the order of their creation.
    """

    def __init__(self, is_persistent: Callable[[T], bool], thread: int, made: dict[int, list[T]]) -> None:
        super().__init__(is_persistent)
        self._thread, self._made = thread, made
        self._foreign = ForeignNames()
        self._named: list[T] = []

    def add(self, request: T) -> T:
        """Add the newest request."""
        self._made[self._thread].append(request)
        return super().add(request)

    def resolve(self, names: Sequence[int]) -> list[tuple[int, int] | None]:
        """Return the thread that made each request, and its number there; None: it is null or unknown."""
        result: list[tuple[int, int] | None] = []
        for name in names:
            if is_foreign(name):
                result.append(self._foreign.resolve(name))
            elif own := super().of_ages((name,)):
                numbers = (
                    i for i in range(len(self._made[self._thread]) - 1, -1, -1)
                    if self._made[self._thread][i] is own[0]
                )  # fmt: skip
                result.append((self._thread, next(numbers)))
            else:
                result.append(None)
        return result

    def name(self, named: Sequence[tuple[int, int] | None]) -> None:
        """Set what the next call names, in place of names that only its thread understands."""
        self._named = []
        for creation in named:
            if creation is not None and creation[1] < len(self._made.get(creation[0], ())):
                self._named.append(self._made[creation[0]][creation[1]])

    def of_ages(self, ages: Sequence[int]) -> list[T]:
        """Return what the call names."""
        return self._named

    def end(self, ages: Sequence[int], freed: bool) -> list[T]:
        """End what the call names; that of another thread still counts in the ages of that thread."""
        super().end([age for age in ages if not is_foreign(age)], freed)
        return self._named


class LoweredStreams(Generic[S]):
    """The calls of a rank's threads.

    Args:
        lowerings: of each thread, with live requests and messages of their own.
        finish: makes a step of a lowered call.
    """

    def __init__(
        self, trace: Trace, rank: int, lowerings: dict[int, RankLowering], finish: Callable[[LoweredStep], S],
        computed: Callable[[Call], float],
    ) -> None:  # fmt: skip
        self._lowerings, self._finish, self._computed = lowerings, finish, computed
        self._walks = {thread: trace.walk(rank, thread) for thread in lowerings}
        self._steps: dict[int, deque[S]] = {thread: deque() for thread in lowerings}
        self._busy, self._ended = set[int](), set[int]()
        self._orders = {name: UseOrder(entries) for name, entries in uses_of_rank(trace.uses, rank).items()}
        self._turns = {
            family: iter(vec)
            for family, order in trace.turns.items()
            if (vec := elastic.at(order, rank)) is not None
        }
        self._turn = {family: next(order, None) for family, order in self._turns.items()}
        requests, messages = dict[int, list[object]](), dict[int, list[object]]()
        for thread, lowering in lowerings.items():
            requests[thread], messages[thread] = [], []
            lowering.use_lists(
                _StreamRequests(lambda request: request.persistent, thread, requests),  # type: ignore[arg-type]
                _StreamRequests(lambda message: False, thread, messages),  # type: ignore[arg-type]
            )
        self._requests, self._messages = requests, messages

    def steps(self, thread: int) -> Iterator[S]:
        """Yield the steps of a thread."""
        while self._steps[thread] or self._advance(thread):
            yield self._steps[thread].popleft()

    def _advance(self, thread: int) -> bool:
        """Lower the next call of a thread; return whether there was one that does not wait for itself."""
        if thread in self._busy or thread in self._ended or thread not in self._walks:
            return False
        call = next(self._walks[thread], None)
        if call is None:
            self._ended.add(thread)
            return False
        self._busy.add(thread)
        self._steps[thread].append(self._finish(self._lower(thread, call)))
        self._busy.discard(thread)
        return True

    def _lower(self, thread: int, call: Call) -> LoweredStep:
        lowering, family = self._lowerings[thread], call.family
        takes_turn = family in self._turn and is_collective(call.op) and "comm" in call
        while takes_turn and self._turn[family] not in (thread, None):
            if not self._advance(self._turn[family]):  # type: ignore[arg-type]
                break
        in_use = self._name_requests(thread, call)
        step = LoweredStep(call, self._computed(call), lowering.actions(call))
        for order in in_use:
            order.end()
        if takes_turn:
            self._turn[family] = next(self._turns[family], None)
        return step

    def _name_requests(self, thread: int, call: Call) -> list[UseOrder]:
        """Lower what other threads do first with what a call names; return the orders of its uses."""
        requests, messages = self._lowerings[thread].lists()
        if not operation(call.op).makes_request:
            names = names_of(call)
            named = requests.resolve(names)  # type: ignore[attr-defined]
            self._await_made(named, self._requests)
            own_ages = tuple(ages(call))
            first = 0 if own_ages == tuple(names) else call["index"]
            requests.name(named[first : first + len(own_ages)])  # type: ignore[attr-defined]
        else:
            named = []
        if "message" in call:
            of_messages = messages.resolve((call["message"],))  # type: ignore[attr-defined]
            self._await_made(of_messages, self._messages)
            messages.name(of_messages)  # type: ignore[attr-defined]
        in_use = []
        for creation in named:
            order = creation and self._orders.get((SharedKind.REQUEST, *creation))
            if not order:
                continue
            while not order.is_ready(thread) and (other := order.waits_for()) is not None:
                if not self._advance(other):
                    break
            if order.is_ready(thread):
                order.begin(thread)
                in_use.append(order)
        return in_use

    def _await_made(self, named: Sequence[tuple[int, int] | None], made: dict[int, list[object]]) -> None:
        for creation in named:
            while creation is not None and len(made.get(creation[0], ())) <= creation[1]:
                if not self._advance(creation[0]):
                    break
