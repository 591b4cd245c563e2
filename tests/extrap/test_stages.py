"""Trees and butterflies: loops over stages with the partner at the next power of two."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scalatrace.extrap.errors import ExtrapolationError
from scalatrace.extrap.extrapolate import extrapolate
from scalatrace.trace.query.diff import diff
from support.calls import IssuedCall, call
from support.grids import Body, Rank, halo, trace_of

LINES = [(3,), (4,), (5,), (6,), (9,)]
TYPE = "MPI_DOUBLE"


def _message(op: str, site: int, peer: int, tag: int = 0, count: int = 1) -> IssuedCall:
    name = "dest" if "end" in op else "source"
    return call(op, site, count=count, datatype=TYPE, **{name: peer}, tag=tag, comm="world")


def _stages(rank: Rank) -> range:
    return range((rank.dims[0] - 1).bit_length())


def pickled_reduce(rank: Rank) -> list[IssuedCall]:
    """As mpi4py reduces objects: length and content at one call site, a tag that counts; it goes on."""
    r, nprocs = rank.number, rank.dims[0]
    made = []
    for step in range(3):
        for k in _stages(rank):
            if r >> k & 1:
                made += [_message("Send", 10, r & ~(1 << k), step, n) for n in (1, 21)]
            elif r | 1 << k < nprocs:
                made += [_message("Recv", 10, r | 1 << k, step, n) for n in (1, 21)]
        made.append(call("Barrier", 11, comm="world"))
    return made


def first_reduce_in_a_loop(rank: Rank) -> list[IssuedCall]:
    """As mpi4py reduces objects in a time step: the first one duplicates the communicator before."""
    nprocs, made = rank.dims[0], []
    for step in range(3):
        peers = {"dest": (rank.number + 1) % nprocs, "source": (rank.number - 1) % nprocs}
        own = {"sendcount": 480, "sendtag": 7, "recvcount": 480, "recvtag": 7}
        made += [call("Sendrecv", 12, comm="world", **peers, **own)] * (nprocs - 1)
        made += [call("Comm_dup", 13, comm="world")] if step == 0 else []
        for k in _stages(rank):
            if rank.number >> k & 1:
                made += [_message("Send", 14, rank.number - (1 << k), step, n) for n in (1, 21)]
                break
            if rank.number + (1 << k) < nprocs:
                made += [_message("Recv", 15, rank.number + (1 << k), step, n) for n in (1, 21)]
    return made


def binomial_reduce(rank: Rank) -> list[IssuedCall]:
    """Each rank sends once, after it has received from its children; nothing between two trees."""
    r, nprocs = rank.number, rank.dims[0]
    made = []
    for k in _stages(rank):
        if r >> k & 1:
            made.append(_message("Send", 20, r - (1 << k)))
            break
        if r + (1 << k) < nprocs:
            made.append(_message("Recv", 21, r + (1 << k)))
    return made * 4


def binomial_bcast(rank: Rank) -> list[IssuedCall]:
    """Large distances first: from the parent, then to the children."""
    r, nprocs = rank.number, rank.dims[0]
    made = []
    for k in reversed(_stages(rank)):
        if r % (2 << k) == 1 << k:
            made.append(_message("Recv", 30, r - (1 << k), 3))
        elif r % (2 << k) == 0 and r + (1 << k) < nprocs:
            made.append(_message("Send", 31, r + (1 << k), 3))
    return [*made, call("Barrier", 32, comm="world")] * 2


def recursive_doubling(rank: Rank) -> list[IssuedCall]:
    """An exchange with the partner of each stage, if there is one."""
    made = []
    for k in _stages(rank):
        if (partner := rank.number ^ 1 << k) < rank.dims[0]:
            made.append(_message("Send", 40, partner, 5, 2))
            made.append(_message("Recv", 41, partner, 5, 2))
    return [*made, call("Barrier", 42, comm="world")] * 3


def _check(body: Body, sizes: list[tuple[int, ...]], target: int) -> None:
    made = extrapolate([trace_of(body, dims) for dims in sizes], target, (target,), dims_of=sizes)
    assert diff(made.trace, trace_of(body, (target,)), ["times"]) == []


@pytest.mark.parametrize("target", [21, *(pytest.param(n, marks=pytest.mark.slow) for n in (16, 64, 100))])
@pytest.mark.parametrize(
    "body", [pickled_reduce, first_reduce_in_a_loop, binomial_reduce, binomial_bcast, recursive_doubling]
)
def test_trees(body: Body, target: int) -> None:
    _check(body, LINES, target)


def test_tree_beside_neighbours_on_a_plane() -> None:
    """The tree is over all ranks in order, whatever their grid."""

    def body(rank: Rank) -> list[IssuedCall]:
        line = Rank(rank.number, (rank.dims[0] * rank.dims[1],), 0)
        return halo(False, 2)(rank) + pickled_reduce(line)

    planes = [(3, 3), (4, 4), (5, 5)]
    made = extrapolate([trace_of(body, dims) for dims in planes], 36, (6, 6), dims_of=planes)
    assert diff(made.trace, trace_of(body, (6, 6)), ["times"]) == []


@pytest.mark.parametrize("body", [pickled_reduce, recursive_doubling])
def test_powers_of_two_do_not_show_other_sizes(body: Callable[[Rank], list[IssuedCall]]) -> None:
    """All partners of the last stage are there on 4, 8 and 16 ranks, but not on 24."""
    powers = [(4,), (8,), (16,)]
    _check(body, powers, 32)
    with pytest.raises(ExtrapolationError, match=r"cannot tell|names dest|would have the peer"):
        extrapolate([trace_of(body, dims) for dims in powers], 24, (24,), dims_of=powers)


@pytest.mark.slow
def test_trees_in_rows() -> None:
    """Each row has a tree of its own, over its 3 to 5 ranks."""

    def body(rank: Rank) -> list[IssuedCall]:
        y, side = rank.place[1], rank.dims[1]
        made = []
        for step in range(8):
            made.append(call("Barrier", 51, comm="world"))
            for k in range((side - 1).bit_length()):
                if y >> k & 1:
                    made += [
                        call("Send", 50, count=n, dest=y - (1 << k), tag=step, comm="row") for n in (1, 5)
                    ]
                    break
                if y + (1 << k) < side:
                    made += [
                        call("Recv", 50, count=n, source=y + (1 << k), tag=step, comm="row") for n in (1, 5)
                    ]
        return made

    planes = [(4, 3), (4, 4), (5, 4), (5, 5), (6, 5)]
    made = extrapolate([trace_of(body, dims, groups=True) for dims in planes], 36, (6, 6), dims_of=planes)
    assert diff(made.trace, trace_of(body, (6, 6), groups=True), ["times"]) == []
