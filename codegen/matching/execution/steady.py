"""Loops in which nothing new happens: their iterations are counted, not executed."""

from __future__ import annotations

from collections import Counter, defaultdict

from scalatrace.codegen.matching.execution.actor import Actor
from scalatrace.codegen.matching.execution.mailbox import Repeated
from scalatrace.codegen.matching.execution.quota import Kind
from scalatrace.codegen.matching.execution.script import LoopEdge
from scalatrace.codegen.matching.execution.state import ExecutionState
from scalatrace.codegen.matching.execution.traffic import Box

__all__ = ["Edges"]


class Edges:
    """Where ranks wait for each other: between the iterations of steady loops."""

    def __init__(self, execution: ExecutionState) -> None:
        self._execution = execution
        self._edge: LoopEdge | None = None
        self._state: object = None
        self._marks: dict[tuple[int, int], int] = {}

    def release(self) -> bool:
        """When all else has come to a stand: let ranks go on that wait at an edge; whether there were any."""
        actors = self._execution.actors.values()
        standing = [actor for actor in actors if actor.edge is not None]
        if not standing:
            return False
        edge = min((actor.edge for actor in standing if actor.edge), key=lambda e: (e.loop, e.iteration))
        # Ranks at later edges stay. When somebody waits for a rank at an edge, not all are there.
        first = [actor for actor in standing if actor.edge == edge]
        if len(first) == len(self._execution.actors):
            self._compare(edge)
        else:
            self._edge = None
        for actor in first:
            self._execution.resume(actor)
        return True

    def _compare(self, edge: LoopEdge) -> None:
        """All ranks are here: if all is as it was an iteration ago, it will be so after each that follows."""
        state, before = _state(self._execution), self._edge
        if (
            before is not None
            and before.loop == edge.loop
            and before.iteration == edge.iteration - 1
            and edge.iteration < edge.iterations
            and state is not None
            and state == self._state
        ):
            self._leave_out(edge, edge.iterations - edge.iteration)
        self._edge, self._state = edge, state
        self._marks = {
            (actor.rank, event): len(slots)
            for actor in self._execution.actors.values()
            for event, slots in actor.found.items()
        }
        self._execution.taken.clear()

    def _leave_out(self, edge: LoopEdge, iterations: int) -> None:
        quotas, used = self._execution.quotas, defaultdict[Box, Counter[tuple[Kind, Kind]]](Counter)
        for box, receive, message in self._execution.taken:
            used[box][receive, message] += 1
        later = {box: quotas[box].later(kinds, iterations) for box, kinds in used.items()}
        if any(quotas[box].whole and not quota.whole for box, quota in later.items()):
            return  # somebody else needs these messages: not every iteration can be like this one
        quotas.update(later)
        for actor in self._execution.actors.values():
            for event, slots in actor.found.items():
                if new_slots := tuple(slots[self._marks.get((actor.rank, event), 0) :]):
                    slots.append(Repeated(new_slots, iterations))
        self._execution.script.skip(edge, edge.iterations)


def _state(execution: ExecutionState) -> object:
    """What the further course depends on; None while a receive is undecided."""
    boxes = []
    for key, box in execution.mailboxes.items():
        if any(post.is_open for post in box.posts):
            return None
        if box.posts or box.unread:
            unread = tuple(
                (src, tuple((m.send, m.done) for m in box.unread[src])) for src in sorted(box.unread)
            )
            boxes.append((repr(key), unread, tuple((p.receive, p.source, p.tag) for p in box.posts)))
    live = tuple(_requests(actor) for actor in execution.actors.values())
    return sorted(boxes, key=lambda box: box[0]), live, execution.collectives.state()


def _requests(actor: Actor) -> tuple[object, ...]:
    return tuple(
        (
            id(request.action),
            request.slot.source if request.action.persistent else None,
            tuple(item.done for item in request.items),
        )
        for request in actor.requests.live
    )
