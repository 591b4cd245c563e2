"""Collective calls of one rank: kept where the target knows them, else expanded to messages.

A nonblocking collective stands where it is completed, or before the next collective of its communicator: this
order is the same on all ranks, independent of the order in which they complete requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

from scalatrace.operations import Category, blocking_name, operation, sent_bytes
from scalatrace.predict.lowering.actions import (
    CollectiveAction,
    Computation,
    LoweredAction,
    LoweringTarget,
    RecvMessage,
    SendMessage,
)
from scalatrace.predict.lowering.messages import LoweredMessages
from scalatrace.predict.lowering.report import Account, Outcome
from scalatrace.predict.lowering.requests import PendingCollective, RequestNumbers
from scalatrace.predict.lowering.schedules import RoundShape, schedule, used_algorithm
from scalatrace.predict.platform import Platform
from scalatrace.trace.exchange.blocks import collective_blocks
from scalatrace.trace.exchange.neighbours import Neighbours, neighbour_bytes
from scalatrace.trace.model.call import Call
from scalatrace.trace.model.tables import Communicator

__all__ = ["LoweredCollectives"]


def _shape_of(call: Call) -> RoundShape | None:
    """Return the shape of a collective call; None for other operations and for intercommunicators."""
    base, row, comm = blocking_name(call.op), operation(call.op), call.comm
    if not row.collective or comm.remote is not None or comm.rank < 0:
        return None
    root = max(call.get("root", 0), 0)
    is_list = base in ("Gatherv", "Scatterv")  # members know only their own size
    name = base.lower() if is_list else row.collective
    blocks = collective_blocks(call)
    return RoundShape(name, comm.rank, comm.size, blocks.nbytes, root, blocks.sends, blocks.recvs)


Step = tuple[int, int, int, int, int, int]
"""Round, destination, source, whether what it receives is reduced, bytes sent and received."""

MemberGroup = tuple[Sequence[int], int, bool]
"""Members as ranks of the result, own position, and whether some members are left out."""


class LoweredCollectives:
    """Lowers the collective calls of one rank.

    Args:
        nranks: ranks of the result.
    """

    def __init__(
        self,
        target: LoweringTarget,
        platform: Platform,
        messages: LoweredMessages,
        account: Account,
        nranks: int,
    ) -> None:
        self._target, self._platform, self._nranks = target, platform, nranks
        self._messages, self._account = messages, account
        self._late: dict[int, list[PendingCollective]] = {}
        self._groups: dict[int, MemberGroup | None] = {}
        self.neighbours = Neighbours()

    def begin(self, call: Call) -> PendingCollective:
        """Take the start of a nonblocking collective."""
        pending = PendingCollective(call)
        self._late.setdefault(call.family, []).append(pending)
        return pending

    def complete(self, pending: PendingCollective, exchange: RequestNumbers) -> list[LoweredAction]:
        """Return the actions of a nonblocking collective and of those before it that have no place yet."""
        waiting = self._late.get(pending.call.family, [])
        if pending not in waiting:
            return []
        return self._flush(pending.call.family, waiting.index(pending) + 1, exchange)

    def blocking(self, call: Call, exchange: RequestNumbers) -> list[LoweredAction]:
        """Return the actions of a blocking collective; those that were started before it come first."""
        before = self._flush(call.family, len(self._late.get(call.family, ())), exchange)
        return [*before, *self._lower(call, exchange)]

    def barrier(self, call: Call, exchange: RequestNumbers) -> list[LoweredAction]:
        """Return a barrier in place of a call that synchronises the members of its communicator."""
        if call.comm.remote is not None or call.comm.rank < 0:
            self._account.add(call.op, Outcome.LOST, "intercommunicator")
            return []
        shape = RoundShape("barrier", call.comm.rank, call.comm.size)
        before = self._flush(call.family, len(self._late.get(call.family, ())), exchange)
        return [*before, *self._of_shape(call, shape, exchange, "a barrier, ")]

    def _flush(self, family: int, count: int, exchange: RequestNumbers) -> list[LoweredAction]:
        waiting = self._late.get(family, [])
        ready, self._late[family] = waiting[:count], waiting[count:]
        return [action for collective in ready for action in self._lower(collective.call, exchange)]

    def _lower(self, call: Call, exchange: RequestNumbers) -> list[LoweredAction]:
        if operation(call.op).category is Category.NEIGHBOUR:
            return self._neighbourhood(call, exchange)
        shape = _shape_of(call)
        if shape is None:
            self._account.add(call.op, Outcome.LOST, "intercommunicator", sent_bytes(call.op, call))
            return []
        return self._of_shape(
            call, shape, exchange, "where it completes, " if operation(call.op).nonblocking else ""
        )

    def _of_shape(
        self, call: Call, shape: RoundShape, exchange: RequestNumbers, note: str
    ) -> list[LoweredAction]:
        group = self._group(call)
        if group is None:
            return []
        members, position, partial = group
        if partial:
            shape = _restrict(shape, position, len(members), self._kept(call.comm))
            note += "among the chosen ranks, "
        nbytes = sent_bytes(call.op, call)
        if self._is_known(shape, members):
            outcome = Outcome.LOWERED if note else Outcome.KEPT
            self._account.add(call.op, outcome, f"{note}{shape.operation}", nbytes)
            everyone = len(members) == self._nranks
            root = members[shape.root] if everyone else shape.root
            return [CollectiveAction(shape._replace(root=root), None if everyone else tuple(members))]
        lists = shape.sends is not None or shape.recvs is not None or shape.operation.endswith("v")
        rule = self._platform.algorithm(shape.operation.removesuffix("v"), shape.nbytes, shape.nranks, lists)
        algorithm = used_algorithm(rule, shape)
        self._account.add(call.op, Outcome.LOWERED, f"{note}messages, {algorithm}", nbytes)
        tag = self._messages.tag(call, 0, "collective")
        rounds = groupby(schedule(algorithm, *shape).tolist(), key=itemgetter(0))
        return [
            action for _, steps in rounds for action in self._of_round(list(steps), members, tag, exchange)
        ]

    def _of_round(
        self, steps: list[Step], members: Sequence[int], tag: int, exchange: RequestNumbers
    ) -> list[LoweredAction]:
        messages: list[SendMessage | RecvMessage] = [
            RecvMessage(members[source], nbytes, tag) for _, _, source, _, _, nbytes in steps if source >= 0
        ]
        messages += [
            SendMessage(members[dest], nbytes, tag) for _, dest, _, _, nbytes, _ in steps if dest >= 0
        ]
        actions = exchange.together(messages)
        reduced_bytes = sum(received for _, _, _, reduces, _, received in steps if reduces)
        if ns := reduced_bytes * self._platform.reduce_per_byte_ns:
            actions.append(Computation(ns))
        return actions

    def _is_known(self, shape: RoundShape, members: Sequence[int]) -> bool:
        """Whether the target has this collective."""
        target = self._target
        if shape.operation not in target.collectives:
            return False
        everyone = len(members) == self._nranks
        if not everyone and not target.groups:
            return False
        if shape.sends is None and shape.recvs is None and shape.operation not in ("gatherv", "scatterv"):
            return True
        return target.several_sizes and (target.groups or all(i == rank for i, rank in enumerate(members)))

    def _group(self, call: Call) -> MemberGroup | None:
        """Return the members of a call's communicator that are in the result; None if this rank is alone."""
        if call.family not in self._groups:
            self._groups[call.family] = self._new_group(call.comm, call.rank)
        group = self._groups[call.family]
        if group is None:
            self._account.add(call.op, Outcome.KEPT, "alone in its communicator")
        return group

    def _new_group(self, comm: Communicator, rank: int) -> MemberGroup | None:
        if self._messages.complete(comm.members):
            return (comm.members, comm.rank, False) if comm.size > 1 else None
        position = self._messages.number(rank)
        members = [self._messages.number(comm.members[i]) for i in self._kept(comm)]
        present = [number for number in members if number is not None]
        return (
            (present, present.index(position), len(present) < comm.size)
            if position is not None and len(present) > 1
            else None
        )

    def _kept(self, comm: Communicator) -> list[int]:
        """Return the positions in a communicator of the members that are in the result."""
        return self._messages.positions(comm.members)

    def _neighbourhood(self, call: Call, exchange: RequestNumbers) -> list[LoweredAction]:
        lists = self.neighbours.of(call.family)
        nbytes = sent_bytes(call.op, call)
        if lists is None:
            self._account.add(call.op, Outcome.LOST, "unknown topology", nbytes)
            return []
        sources, destinations = lists
        tag = self._messages.tag(call, 0, "collective")
        sides = (("recv", sources, RecvMessage), ("send", destinations, SendMessage))
        messages: list[SendMessage | RecvMessage] = []
        for side, peers, kind in sides:
            for peer, size in zip(peers, neighbour_bytes(call, side, len(peers)), strict=True):
                number = self._messages.number(call.comm.world(peer)) if peer >= 0 else None
                if number is not None:
                    messages.append(kind(number, size, tag))
        self._account.add(call.op, Outcome.LOWERED, "messages to neighbours", nbytes)
        return exchange.together(messages)


def _restrict(shape: RoundShape, position: int, n: int, kept: list[int]) -> RoundShape:
    """Return the shape among some members; the first of them stands for a root that is not among them."""
    root = kept.index(shape.root) if shape.root in kept else 0
    sends, recvs = (sizes and tuple(sizes[i] for i in kept) for sizes in (shape.sends, shape.recvs))
    return shape._replace(rank=position, nranks=n, root=root, sends=sends, recvs=recvs)
