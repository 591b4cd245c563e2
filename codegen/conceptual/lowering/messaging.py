"""Messages of a program as events: who sends to whom, collectives, and what is awaited."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.errors import ProgramError, SourcePlace
from scalatrace.codegen.conceptual.lowering import events as e
from scalatrace.codegen.conceptual.lowering.collecting import MAX_MESSAGE_BYTES, UNIT_BYTES, Collecting
from scalatrace.codegen.conceptual.names import source_first
from scalatrace.codegen.conceptual.values.evaluate import Env

__all__ = ["Messaging"]


def _multicasts(
    comm: e.Comm,
    targets: Mapping[int, Collection[int]],
    size: int,
    times: int,
    memory: e.MemoryEvent,
    place: SourcePlace,
) -> list[tuple[int, e.Event]]:
    """Return each rank's part of a multicast; `targets`: of each source.

    One source broadcasts. Several exchange: with MPI_Alltoall when everyone sends to everyone else, and
    with MPI_Alltoallv otherwise, so that nobody gets what is not meant for it.
    """
    if len(targets) == 1:
        root = next(iter(targets))
        return [(rank, e.Bcast(comm, root, size, "BYTES", times, memory, place=place)) for rank in comm]
    if all({*targets.get(rank, ()), rank} == set(comm) for rank in comm):
        return [(rank, e.Alltoall(comm, size, times, memory, place=place)) for rank in comm]
    events: list[tuple[int, e.Event]] = []
    for rank in comm:
        sent = tuple(size if peer in targets.get(rank, ()) else 0 for peer in comm)
        received = tuple(size if rank in targets.get(peer, ()) else 0 for peer in comm)
        events.append((rank, e.Alltoallv(comm, sent, received, times, memory, place=place)))
    return events


def _reductions(
    sources: e.Comm, receivers: e.Comm, count: int, unit: str, memory: e.MemoryEvent, place: SourcePlace
) -> list[tuple[int, e.Reduction | e.Bcast]]:
    """Return each rank's part of a reduction over the sources, whose result all receivers get.

    It is one operation when the receivers are the sources or one of them; otherwise the first source that
    receives, or the first source, reduces and then broadcasts to the receivers.
    """
    if not sources or not receivers:
        return []
    if receivers == sources:
        return [(rank, e.Reduction(sources, None, count, unit, memory, place=place)) for rank in sources]
    shared = [rank for rank in receivers if rank in sources]
    root = shared[0] if shared else sources[0]
    reduced = e.Reduction(sources, root, count, unit, memory, place=place)
    events: list[tuple[int, e.Reduction | e.Bcast]] = [(rank, reduced) for rank in sources]
    if receivers != (root,):
        comm = tuple(sorted({root, *receivers}))
        bcast = e.Bcast(comm, root, count, unit, 1, memory, place=place)
        events += [(rank, bcast) for rank in comm]
    return events


class Messaging(Collecting):
    """Lower the statements in which tasks communicate."""

    def _send(self, node: t.Send, env: Env) -> None:
        message, reception = node.message, node.reception or t.Reception()
        pairs = self.pairs(node.source, node.target, env)
        size, count = self.extent(message.size, env), self.count(message.count, env)
        tag = self.tag(message.tag, env)
        async_send = bool(node.asynchronous)
        async_receive = async_send if reception.asynchronous is None else reception.asynchronous
        self._refuse_self_send(node, pairs, async_send and (async_receive or node.unsuspecting) and count > 0)
        if not node.unsuspecting:
            memory = self.memory(reception, env, message)
            their_tag = tag if reception.tag is None else self.tag(reception.tag, env)
            self._transfers(
                False, [(b, a) for a, b in pairs], size, their_tag, count, async_receive, memory, node
            )
        self._transfers(True, pairs, size, tag, count, async_send, self.memory(message, env), node)

    def _refuse_self_send(self, node: t.Send, pairs: list[tuple[int, int]], allowed: bool) -> None:
        alone = next((a for a, b in pairs if a == b), None)
        if alone is not None and not allowed:
            reason = f"task {alone} would send to itself and wait for ever; send and receive ASYNCHRONOUSLY"
            raise ProgramError(reason, node.place)

    def _receive(self, node: t.Receive, env: Env) -> None:
        if source_first(node, env.names):
            pairs = [(b, a) for a, b in self.pairs(node.source, node.target, env)]
        else:
            pairs = self.pairs(node.target, node.source, env)
        message = node.message
        size, count = self.extent(message.size, env), self.count(message.count, env)
        tag, memory = self.tag(message.tag, env), self.memory(message, env)
        self._transfers(False, pairs, size, tag, count, bool(node.asynchronous), memory, node)

    def _transfers(
        self,
        sends: bool,
        pairs: Sequence[tuple[int, int]],
        size: int,
        tag: int,
        count: int,
        asynchronous: bool,
        memory: e.MemoryEvent,
        node: t.SyntaxNode,
    ) -> None:
        for task, peer in pairs if count else ():
            rank = self.processors[peer]
            event = e.Transfer(sends, rank, size, tag, count, asynchronous, memory, place=node.place)
            self.add(task, event)

    def _multicast(self, node: t.Multicast, env: Env) -> None:
        self.untagged(node.message, env)
        members = self.sources(node.source, env)
        targets = {task: {b for b, _ in self.sources(node.target, inner, task)} for task, inner in members}
        size, times = self.extent(node.message.size, env), self.count(node.message.count, env)
        memory = self.memory(node.message, env)
        if targets:
            comm = self.comm({*targets, *(b for receivers in targets.values() for b in receivers)})
            placed = {
                self.processors[a]: {self.processors[b] for b in receivers}
                for a, receivers in targets.items()
            }
            for rank, event in _multicasts(comm, placed, size, times, memory, node.place) if times else ():
                self.put(rank, event)

    def _reduce(self, node: t.Reduce, env: Env) -> None:
        for part in (node.values, node.to, node.result):
            self.untagged(part, env)
        count = self.count(node.values.count, env)
        for values in (node.to, node.result.values if node.result else None):
            if values is not None and self.count(values.count, env) != count:
                reason = f"{count} values are reduced to {self.count(values.count, env)}; expected as many"
                raise ProgramError(reason, values.place)
        members = self.sources(node.source, env)
        sources, targets = [task for task, _ in members], {task for task, _ in members}
        if node.target is not None:
            targets = {b for _, inner in members for b, _ in self.sources(node.target, inner)}
        comm = self.comm(sources)
        if sources and not targets & set(sources):
            # Someone must pass the result on.
            self.comm({self.processors.index(comm[0]), *targets})
        else:
            self.comm(targets)
        receivers = tuple(sorted(self.processors[task] for task in targets))
        memory = self.memory(node.values, env)
        size = count * UNIT_BYTES[node.values.unit]
        if size > MAX_MESSAGE_BYTES:
            raise ProgramError(f"{size} bytes; MPI messages have less than 2 GiB", node.values.place)
        for rank, event in _reductions(comm, receivers, count, node.values.unit, memory, node.place):
            self.put(rank, event)

    def _await(self, node: t.Await, env: Env) -> None:
        for task, _ in self.sources(node.tasks, env):
            self.add(task, e.WaitEvent(place=node.place))

    def _synchronize(self, node: t.Synchronize, env: Env) -> None:
        comm = self.comm([task for task, _ in self.sources(node.tasks, env)])
        for rank in comm:
            self.put(rank, e.Barrier(comm, place=node.place))
