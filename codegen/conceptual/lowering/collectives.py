"""Which MPI operations multicasts and reductions are."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from scalatrace.codegen.conceptual.errors import SourcePlace
from scalatrace.codegen.conceptual.lowering import events as e

__all__ = ["multicasts", "reductions"]


def multicasts(
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
    result: list[tuple[int, e.Event]] = []
    for rank in comm:
        sent = tuple(size if other in targets.get(rank, ()) else 0 for other in comm)
        received = tuple(size if rank in targets.get(other, ()) else 0 for other in comm)
        result.append((rank, e.Alltoallv(comm, sent, received, times, memory, place=place)))
    return result


def reductions(
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
    result: list[tuple[int, e.Reduction | e.Bcast]] = [(rank, reduced) for rank in sources]
    if receivers != (root,):
        comm = tuple(sorted({root, *receivers}))
        bcast = e.Bcast(comm, root, count, unit, 1, memory, place=place)
        result += [(rank, bcast) for rank in comm]
    return result
