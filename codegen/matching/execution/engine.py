"""The trace executed without time: every rank runs until it waits, and who waits for whom is known at any
time.

What a call waits for (dissertation §4.4.4): a receive for its message, a synchronous send for its receive, a
collective for its communicator, a completion for its requests. Where `synchronous` is set all sends wait,
which is the worst that MPI allows and what Algorithm 3 assumes; else only Ssend and its kin do.

Receives from any source are decided when no rank can go on otherwise, so when most messages are there to
choose from; a policy (`choices.py`) says which is best. That ranks run in some order does therefore not
matter: with the senders decided a trace has one outcome whatever the order, so an execution that ends shows
that all do.

A poll that succeeded in the recorded run waits for what it found, as long as other ranks can go on: so the
execution follows the order of the run. But it blocks nobody. Where no rank can go on, `polls_wait` false lets
the ranks that poll continue, as the program does when a poll fails.

Costs one step per call. In a steady loop (`script.py`) ranks wait for each other at the edge of each
iteration; when an iteration leaves everything as it found it, all further ones would be like it and are not
executed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from scalatrace.codegen.matching.execution.actor import Actor, MatchRequest
from scalatrace.codegen.matching.execution.choices import SenderCandidate, SenderPolicy, hinted_sender
from scalatrace.codegen.matching.execution.collective_state import CollectivePart
from scalatrace.codegen.matching.execution.mailbox import (
    MailItem,
    Match,
    MatchMailbox,
    PostedReceive,
    Sent,
    Slot,
    Starts,
)
from scalatrace.codegen.matching.execution.match_actions import (
    ActionKind,
    CollectiveCall,
    MatchAction,
    MatchActions,
    MatchedReceive,
    MatchedSend,
)
from scalatrace.codegen.matching.execution.quota import Quota
from scalatrace.codegen.matching.execution.script import LoopEdge, Script
from scalatrace.codegen.matching.execution.state import ExecutionState
from scalatrace.codegen.matching.execution.steady import Edges
from scalatrace.codegen.matching.execution.traffic import Box, Spare
from scalatrace.trace.model.nodes import Event

__all__ = ["Decision", "Engine"]


@dataclass(frozen=True, slots=True)
class Decision:
    """A receive from any source and the sender it was given."""

    post: PostedReceive
    source: int


class Engine(ExecutionState):
    """One execution. `steps` counts calls that were executed, `decisions` are those that had a choice."""

    def __init__(
        self,
        script: Script,
        actions: MatchActions,
        spare: Spare,
        quotas: dict[Box, Quota],
        policy: SenderPolicy,
        synchronous: bool,
        recorded: frozenset[int],
        polls_wait: bool = True,
        keeps_senders: bool = False,
    ) -> None:
        """Prepare an execution.

        Args:
            recorded: ids of the event nodes whose matches are wanted.
            polls_wait: whether a poll (Test, Iprobe) waits like a Wait or Probe where nothing else can go on.
            keeps_senders: whether all starts of a persistent receive get messages of one sender.
        """
        super().__init__(script, quotas, synchronous)
        self.actions, self.policy, self.spare, self.recorded = actions, policy, spare, recorded
        self.polls_wait, self.keeps_senders = polls_wait, keeps_senders
        self.steps = 0
        self.decisions: deque[Decision] = deque(maxlen=64)
        self._undecided: dict[tuple[object, int], MatchMailbox] = {}
        self._chosen: dict[tuple[int, int, int], int] = {}

    # -- the loop ------------------------------------------------------------------------------------------

    def run(self) -> bool:
        """Execute as far as possible; whether all ranks came to their ends. Raises MismatchError."""
        edges = Edges(self)
        while True:
            while self.ready:
                self._advance(self.ready.popleft())
            if not (
                self._decide(forced=False)
                or edges.release()
                or self._decide(forced=True)
                or (not self.polls_wait and self._leave_polls())
            ):
                return all(actor.ended for actor in self.actors.values())

    def _advance(self, actor: Actor) -> None:
        while (thing := actor.next()) is not None:
            if isinstance(thing, LoopEdge):
                actor.edge = thing
                return
            self.steps += 1
            actor.when = thing[0]
            action = actor.action = self.actions.of(thing[1])
            if action.kind is not ActionKind.NONE and actor.wait_for(self._perform(actor, action)):
                return
        actor.ended, actor.action = True, None

    def _complete(self, item: MailItem) -> None:
        item.done = True
        waiter, item.waiter = item.waiter, None
        if isinstance(waiter, Actor):
            waiter.pending -= 1
            if waiter.pending == 0:
                self.ready.append(waiter)

    def _leave_polls(self) -> bool:
        """Let ranks go on that only poll; whether there were any. What they polled for is completed later."""
        polling = [actor for actor in self.actors.values() if actor.pending and actor.polls]
        for actor in polling:
            for item in actor.items:
                if isinstance(item, PostedReceive) and not item.done and not item.receive.takes:
                    self._mailbox(item.receive.channel, item.rank).posts.remove(item)  # a probe found nothing
            actor.stop_waiting()
            self.ready.append(actor)
        return bool(polling)

    # -- calls ---------------------------------------------------------------------------------------------

    def _perform(self, actor: Actor, action: MatchAction) -> list[MailItem]:
        """Do what a call does; what it waits for."""
        if action.kind is ActionKind.COMMUNICATE:
            return self._begin(actor, action, self._slot(actor, action))
        if action.kind is ActionKind.REQUEST:
            items = self._begin(actor, action, self._slot(actor, action))
            actor.requests.add(MatchRequest(action, items))
            if self.actions.blocking and action.collective is not None:
                return items
        elif action.kind is ActionKind.PREPARE:
            actor.requests.add(self._prepared(actor, action))
        elif action.kind is ActionKind.START:
            self._start(actor, action)
        elif action.kind is ActionKind.COMPLETE:
            return [
                item for request in actor.requests.end(action.ages, freed=False) for item in request.items
            ]
        elif action.kind is ActionKind.FREE:
            actor.requests.end(action.ages, freed=True)
        elif action.kind is ActionKind.CANCEL:
            for request in actor.requests.at(action.ages):
                self._cancel(request)
        return []

    def _slot(self, actor: Actor, action: MatchAction) -> Slot:
        slot = Slot(action.named)
        if id(action.event) in self.recorded:
            actor.found.setdefault(id(action.event), []).append(slot)
        return slot

    def _prepared(self, actor: Actor, action: MatchAction) -> MatchRequest:
        request = MatchRequest(action, [], self._slot(actor, action))
        if action.collective is not None:
            stream = (*action.collective.stream, "made")
            request.stream = (*stream, self.collectives.next_key(actor.rank, stream)[1])
        return request

    def _start(self, actor: Actor, action: MatchAction) -> None:
        """Start persistent requests; each start has a sender of its own where the call does not name one."""
        slots: list[Slot | None] = []
        for request in actor.requests.at(action.ages):
            receive = request.action.receive
            is_named = receive is None or receive.is_named
            slots.append(None if is_named else Slot(request.action.named, request.slot))
            if request.action.persistent:
                request.items = self._begin(actor, request.action, slots[-1] or request.slot, request)
        if id(action.event) in self.recorded:
            actor.found.setdefault(id(action.event), []).append(Starts(tuple(slots)))

    def _begin(
        self, actor: Actor, action: MatchAction, slot: Slot, request: MatchRequest | None = None
    ) -> list[MailItem]:
        items: list[MailItem] = []
        if action.collective is not None:
            items.append(self._join_collective(actor, action.collective, action.event, request))
        if action.receive is not None:
            items.append(self._receive(actor, action.receive, slot))
        if action.send is not None:
            items.append(self._send(actor, action.send, action.event))
        return items

    def _join_collective(
        self, actor: Actor, collective: CollectiveCall, event: Event, request: MatchRequest | None
    ) -> MailItem:
        stream = collective.stream if request is None else request.stream
        part = CollectivePart(actor.rank, collective, self.collectives.next_key(actor.rank, stream), event)
        for done in self.collectives.enter(part):
            self._complete(done)
        return part

    def _send(self, actor: Actor, send: MatchedSend, event: Event) -> MailItem:
        waits = self.synchronous if send.synchronous is None else send.synchronous
        sent = Sent(actor.rank, send, event, actor.when, done=not waits)
        box = self._mailbox(send.channel, send.dest)
        self._settle(box, box.deliver(sent))
        return sent

    def _receive(self, actor: Actor, receive: MatchedReceive, slot: Slot) -> MailItem:
        post = PostedReceive(actor.rank, receive, slot)
        if self.keeps_senders and slot.request is not None:
            post.keep(slot.request)
        box = self._mailbox(receive.channel, actor.rank)
        self._settle(box, box.post(post))
        return post

    def _cancel(self, request: MatchRequest) -> None:
        """A receive that got nothing so far gets nothing any more; sends are not taken back."""
        for item in request.items:
            if isinstance(item, PostedReceive) and not item.done:
                box = self._mailbox(item.receive.channel, item.rank)
                box.posts.remove(item)
                item.slot.cancel()
                self._complete(item)
                self._settle(box, box.settle())

    def _mailbox(self, channel: object, dest: int) -> MatchMailbox:
        key = (channel, dest)
        if key not in self.mailboxes:
            self.mailboxes[key] = MatchMailbox(channel, dest)  # type: ignore[arg-type]
        return self.mailboxes[key]

    # -- messages ------------------------------------------------------------------------------------------

    def _settle(self, box: MatchMailbox, matches: Iterator[Match]) -> None:
        for sent, post in matches:
            post.slot.fill(sent.source, sent.send.tag)
            if post.receive.takes:
                self._take(box, sent, post)
                self._complete(sent)
                self.actors[box.dest].probed = None
            else:
                self.actors[box.dest].probed = sent.source
            self._complete(post)
        if box.posts and box.unread:
            self._undecided[box.channel, box.dest] = box

    def _take(self, box: MatchMailbox, sent: Sent, post: PostedReceive) -> None:
        key = (box.channel, box.dest)
        if key in self.quotas:
            kinds = (post.receive.source, post.receive.tag), (sent.source, sent.send.tag)
            self.quotas[key].take(*kinds)
            self.taken.append((key, *kinds))

    def _decide(self, forced: bool) -> bool:
        """Decide senders of open receives; return whether any was. `forced`: decide exactly one receive."""
        anything = False
        for key, box in tuple(self._undecided.items()):
            for post in tuple(box.posts):
                if post.is_open and not post.done and self._decide_one(box, post, forced):
                    anything = True
                    if forced:
                        return True
            if not (box.posts and box.unread):
                del self._undecided[key]
        return anything

    def _decide_one(self, box: MatchMailbox, post: PostedReceive, forced: bool) -> bool:
        first = {sent.source: sent for sent in box.candidates(post)}
        if not first:
            return False
        hint = self._hint(box, post, first)
        if hint is not None and hint not in first and not forced:
            return False
        options = [self._candidate(box, post, sent, hint) for sent in first.values()]
        best = self.policy.choose(options, forced)
        if best is None:
            return False
        if len(options) > 1:
            self.decisions.append(Decision(post, best.source))
        sent = first[best.source]
        if post.receive.takes:
            way = (box.channel, best.source, box.dest)
            self.spare.add(way, sent.send.tag, -1)
            place = (post.rank, id(post.receive.event), best.source)
            self._chosen[place] = self._chosen.get(place, 0) + 1
        self._settle(box, box.decide(post, sent))
        return True

    def _hint(self, box: MatchMailbox, post: PostedReceive, sources: Collection[int]) -> int | None:
        """Whose message it was by what the rank does next: one that is there, or will be sent."""
        later = (rank for rank in self.actors if self.spare.left((box.channel, rank, box.dest)) > 0)
        if len(senders := {*sources, *later}) < 2:
            return None
        return hinted_sender(self.actors[post.rank], post, self.actions, senders)

    def _candidate(
        self, box: MatchMailbox, post: PostedReceive, sent: Sent, hint: int | None
    ) -> SenderCandidate:
        source, tag = sent.source, sent.send.tag
        quota = self.quotas.get((box.channel, box.dest))
        probes = not post.receive.takes  # takes nothing from anybody
        return SenderCandidate(
            source=source,
            spare=self.spare.of((box.channel, source, box.dest), tag),
            allowed=probes
            or not quota
            or quota.allows((post.receive.source, post.receive.tag), (source, tag)),
            hinted=source == hint,
            chosen=self._chosen.get((post.rank, id(post.receive.event), source), 0),
            when=sent.when,
            distance=(source - box.dest) % self.script.trace.nprocs,
        )
