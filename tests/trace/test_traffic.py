"""Bytes of nodes counted for all ranks at once, against those of each rank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from scalatrace import Trace
from scalatrace.errors import FormatError
from scalatrace.trace.query.traffic import traffic, traffic_of
from support.builder import DOUBLE, Builder

EQUAL, UNEQUAL = (4, 4, 4), (6, 4, 2)
MIXED = [0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11]
"""Ranks in the order of the members of their communicators."""


def collectives(sizes: Sequence[int]) -> Trace:
    b = Builder(12)
    comm = b.family("split", sizes, MIXED)
    both = {
        "sendcount": 3,
        "sendtype": DOUBLE,
        "recvcount": 3,
        "recvtype": DOUBLE,
        "comm": comm,
        "in_place": 0,
    }
    return b.of(
        b.loop(
            5,
            b.event("Gather", **both, root=1),
            b.event("Alltoall", **both),
            b.event("Allreduce", count=2, datatype=DOUBLE, op="MPI_SUM", comm=comm, in_place=0),
        )
    )


@pytest.mark.parametrize("sizes", [EQUAL, UNEQUAL])
def test_bytes_in_communicators_are_those_of_each_rank(sizes: Sequence[int]) -> None:
    trace = collectives(sizes)
    together, by_rank = Counter[str](), Counter[str]()
    for event, *numbers in traffic(trace):
        name = trace.ops[event.op].name
        together.update(
            {f"{name} {what}": n for what, n in zip(["ncalls", "sent", "received"], numbers, strict=True)}
        )
    names = [trace.ops[event.op].name for event in trace.nodes[0].nodes]  # type: ignore[union-attr]
    for rank in trace.ranks:
        for name, (ncalls, sent, received, _) in zip(names, traffic_of(trace, rank), strict=True):
            by_rank.update({f"{name} ncalls": ncalls, f"{name} sent": sent, f"{name} received": received})
    assert together == by_rank
    assert together["Gather received"] == 5 * sum(sizes) * 3 * 8  # at the roots


def test_communicators_of_one_size_are_counted_at_once() -> None:
    """A set of ranks for the roots and one for the others, and one set for all."""
    nodes = Counter(collectives(EQUAL).ops[event.op].name for event, *_ in traffic(collectives(EQUAL)))
    assert nodes == {"Gather": 2, "Alltoall": 1, "Allreduce": 1}


def test_a_communicator_that_is_not_there_is_an_error() -> None:
    trace = collectives(EQUAL)
    del trace.comms[3:]
    with pytest.raises(FormatError, match="no communicator"):
        list(traffic(trace))
