"""Parameters of collectives of which only bytes are known, and the communicators of groups of ranks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from scalatrace.operations import operation
from scalatrace.trace.model.tables import Datatype, Kind

__all__ = ["BYTE", "collective_params", "split_families"]

BYTE = Datatype("MPI_BYTE", 1, 1)


def collective_params(
    op: str, sent: int, received: int, nranks: int, root: int | None
) -> list[tuple[str, Kind, Any]]:
    """Return the parameters of a collective without its communicator, in MPI_BYTE.

    Args:
        op: a blocking collective with one size.
        sent, received: bytes of the caller, of all blocks together.
        root: None where it is not known.
    """
    row = operation(op)
    params: list[tuple[str, Kind, Any]] = []
    rooted = [("root", Kind.INT, root)] if row.is_rooted and root is not None else []
    operator = [] if op == "Bcast" else [("op", Kind.STRING, "MPI_SUM")]
    if op == "Barrier":
        return params
    if row.block is not None and row.block.count == "count":
        return [("count", Kind.INT, max(sent, received)), ("datatype", Kind.TYPE, BYTE), *operator, *rooted]
    if op == "Reduce_scatter_block":
        return [("recvcount", Kind.INT, received), ("datatype", Kind.TYPE, BYTE), *operator]
    all_sent = op == "Alltoall"
    all_received = op in ("Alltoall", "Allgather")
    out = sent // nranks if all_sent or op == "Scatter" else sent
    into = received // nranks if all_received or op == "Gather" else received
    block = max(out, into)
    return [
        ("sendcount", Kind.INT, block), ("sendtype", Kind.TYPE, BYTE),
        ("recvcount", Kind.INT, block), ("recvtype", Kind.TYPE, BYTE), *rooted,
    ]  # fmt: skip


def split_families(groups: Iterable[Sequence[int]]) -> list[int]:
    """Return the number of the family of each group: those of equal size without a common rank share one.

    MPI_Comm_split makes such groups by one call; ranks merge best where they name one family.
    """
    numbers: list[int] = []
    families: list[tuple[int, set[int]]] = []
    for members in groups:
        fitting = (
            number
            for number, (size, ranks) in enumerate(families)
            if size == len(members) and ranks.isdisjoint(members)
        )
        number = next(fitting, len(families))
        if number == len(families):
            families.append((len(members), set()))
        families[number][1].update(members)
        numbers.append(number)
    return numbers
