"""Programs on groups of consecutive ranks with leaders, and on trees with k children of each rank."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import prod
from pathlib import Path

import pytest

from scalatrace import Trace, extrap
from scalatrace.extrap.checking import leave_one_out
from scalatrace.extrap.errors import InputError, UndeterminedError
from scalatrace.extrap.extrapolate import model_of, of_model
from scalatrace.extrap.grid.groups import borders, group_size
from scalatrace.extrap.grid.observed import Observed
from scalatrace.trace.io.reader import load_symbolic
from scalatrace.trace.io.writer import save
from scalatrace.trace.query.diff import diff
from support.calls import IssuedCall, call, record
from support.grids import Body, Rank, trace_of

GROUP = 4


def _send(site: int, dest: int) -> IssuedCall:
    return call("Send", site, count=8, dest=dest, tag=0, comm="world")


def _recv(site: int, source: int) -> IssuedCall:
    return call("Recv", site, count=8, source=source, tag=0, comm="world")


def reduce_by_leaders(rank: Rank) -> list[IssuedCall]:
    """Leaders collect from their groups, rank 0 from the leaders; the result goes the other way."""
    size, own = prod(rank.dims), rank.number
    leader = own - own % GROUP
    if own != leader:
        return [_send(1, leader), _recv(2, leader)]
    members = range(own + 1, min(own + GROUP, size))
    made = [_recv(3, member) for member in members]
    others = range(GROUP, size, GROUP)
    if own:
        made += [_send(4, 0), _recv(7, 0)]
    else:
        made += [*(_recv(5, other) for other in others), *(_send(8, other) for other in others)]
    return [*made, *(_send(6, member) for member in members)]


def ring_of_leaders(rank: Rank) -> list[IssuedCall]:
    """Leaders send around a ring of leaders; all meet in a barrier."""
    leaders = -(-prod(rank.dims) // GROUP)
    made = []
    if rank.number % GROUP == 0:
        there, back = ((rank.number // GROUP + step) % leaders * GROUP for step in (1, -1))
        own = {"sendcount": 3, "sendtag": 0, "recvcount": 3, "recvtag": 0}
        made.append(call("Sendrecv", 1, dest=there, source=back, comm="world", **own))
    return [*made, call("Barrier", 2, comm="world")] * 4


def tree(arity: int) -> Body:
    """Sums from the leaves of a complete tree to rank 0, and the result back."""

    def body(rank: Rank) -> list[IssuedCall]:
        own = rank.number
        children = [c for c in range(arity * own + 1, arity * own + arity + 1) if c < prod(rank.dims)]
        parent = (own - 1) // arity
        up = [_recv(1, child) for child in children] + ([_send(2, parent)] if own else [])
        return up + ([_recv(3, parent)] if own else []) + [_send(4, child) for child in children]

    return body


@pytest.mark.parametrize(
    ("body", "sizes", "targets"),
    [
        (reduce_by_leaders, (8, 12, 16, 20), (24, 40)),
        (reduce_by_leaders, (8, 9, 10, 12, 16, 20), (18, 27, 64)),
        (ring_of_leaders, (8, 12, 16, 20), (24, 40)),
        (ring_of_leaders, (8, 9, 12, 14, 18, 20), (24, 27)),
        (tree(2), (4, 5, 6, 8, 9, 12), (15, 16, 64)),
        (tree(3), (5, 6, 8, 9, 12, 16), (20, 40)),
    ],
)
def test_results_are_the_recorded_traces(body: Body, sizes: Sequence[int], targets: Sequence[int]) -> None:
    given = [trace_of(body, (size,)) for size in sizes]
    for nprocs in targets:
        made = extrap.extrapolate(given, nprocs)
        assert diff(made.trace, trace_of(body, (nprocs,)), ["times"]) == []


def split_in_blocks(nprocs: int) -> Trace:
    """Collectives in blocks of GROUP ranks, of which the last may be smaller, and among their first ranks."""
    groups = [list(range(at, min(at + GROUP, nprocs))) for at in range(0, nprocs, GROUP)]
    leaders = [group[0] for group in groups]
    reduce = call("Reduce", 1, count=8, root=0, comm="node")
    bcast = call("Bcast", 3, count=8, root=0, comm="node")
    among = call("Allreduce", 2, count=8, comm="leaders")
    ranks = [[reduce, *([among] if rank in leaders else []), bcast] * 3 for rank in range(nprocs)]
    return record(ranks, {"node": groups, "leaders": [leaders]})


def round_robin(nprocs: int) -> Trace:
    """Collectives among the ranks of one colour, of three."""
    groups = [list(range(colour, nprocs, 3)) for colour in range(3)]
    return record([[call("Bcast", 1, count=8, root=0, comm="colour")]] * nprocs, {"colour": groups})


@pytest.mark.parametrize(
    ("made", "sizes", "targets"),
    [
        (split_in_blocks, (4, 6, 8, 9, 12), (16, 18, 27)),
        (split_in_blocks, (8, 12, 16, 20), (24,)),
        (round_robin, (4, 5, 6, 8, 9), (12, 13, 14, 40)),
        (round_robin, (4, 5, 6, 7, 8), (12, 13, 14, 40)),
        (round_robin, (6, 9, 10), (13, 14)),
    ],
)
def test_communicators_of_blocks(
    made: Callable[[int], Trace], sizes: Sequence[int], targets: Sequence[int], tmp_path: Path
) -> None:
    given = [made(size) for size in sizes]
    for nprocs in targets:
        _, model, _ = model_of(given, target=(nprocs, None, {}))
        save(model, tmp_path / "model.stx")
        result = of_model(load_symbolic(tmp_path / "model.stx"), nprocs).trace
        assert diff(result, made(nprocs), ["times"]) == []


def first_third(nprocs: int) -> Trace:
    """Barriers of the first third of the ranks, and of the others."""
    first = nprocs // 3
    parts = {"part": [list(range(first)), list(range(first, nprocs))]}
    return record([[call("Barrier", 1 + (rank < first), comm="part")] * 4 for rank in range(nprocs)], parts)


def test_communicators_of_unequal_parts() -> None:
    given = [first_third(nprocs) for nprocs in (6, 8, 9, 11, 12)]
    made = extrap.extrapolate(given, 16)
    assert diff(made.trace, first_third(16), ["times"]) == []


def cartesian(rank: Rank) -> list[IssuedCall]:
    """Each direction has a call site of its own, and two of three sides never grow."""
    calls = [call("Cart_create", 9, comm="world", dims=rank.dims)]
    for axis in range(3):
        for site, distance in ((20 + 2 * axis, 1), (21 + 2 * axis, -1)):
            step = tuple(distance * (axis == other) for other in range(3))
            peer = rank.neighbour(step, wrap=axis == 0)
            if peer is not None:
                calls.append(call("Isend", site, count=8, dest=peer, tag=axis, comm="world"))
    return calls


def test_cartesian_grids_are_no_groups() -> None:
    made = extrap.extrapolate([trace_of(cartesian, (x, 2, 2)) for x in (3, 4, 5, 6)], 32, (8, 2, 2))
    assert made.grid.dims == (8, 2, 2)
    assert diff(made.trace, trace_of(cartesian, (8, 2, 2)), ["times"]) == []


def leader_alone(rank: Rank) -> list[IssuedCall]:
    """As `reduce_by_leaders`, in a loop; on some sizes the last leader has no group."""
    return reduce_by_leaders(rank) * 5


def test_leaders_without_a_group() -> None:
    """4 - 24//P is (P+3)//4 - 1 up to 16 ranks; but the call sites show groups of four ranks."""
    given = [trace_of(leader_alone, (size,)) for size in (7, 9, 10, 12, 13, 16)]
    for nprocs in (17, 21, 40):
        made = extrap.extrapolate(given, nprocs)
        assert diff(made.trace, trace_of(leader_alone, (nprocs,)), ["times"]) == []


def two_parts(nprocs: int) -> Trace:
    """The first half sends to the second in each step; a rank of the larger half has nobody to hear from."""
    half = nprocs // 2
    parts = [list(range(half)), list(range(half, nprocs))]
    ranks = []
    for rank in range(nprocs):
        first = rank < half
        step = [call("Barrier", 1 if first else 2, comm="half")]
        if first:
            step.append(call("Send", 3, count=6, dest=rank + half, tag=0, comm="world"))
        elif rank - half < half:
            step.append(call("Recv", 4, count=6, source=rank - half, tag=0, comm="world"))
        ranks.append(step * 4)
    return record(ranks, {"half": parts})


def servers(nprocs: int) -> Trace:
    """The last two ranks receive from all others in turn."""
    last = nprocs - 2
    clients = [[call("Send", 1, count=6, dest=last + rank % 2, tag=0, comm="world")] for rank in range(last)]
    heard = [
        [call("Recv", 2, count=6, source=rank, tag=0, comm="world") for rank in range(k, last, 2)]
        for k in (0, 1)
    ]
    return record([*clients, *heard])


def three_components(nprocs: int) -> Trace:
    """A chain of a quarter of the ranks, one of another quarter, and one of the rest."""
    ends = [0, nprocs // 4, nprocs // 2, nprocs]
    ranks = []
    for part, (first, end) in enumerate(pairwise(ends)):
        for rank in range(first, end):
            step = [call("Barrier", 10 * part, comm="part")]
            if rank > first:
                step.append(call("Recv", 1 + 10 * part, count=6, source=rank - 1, tag=0, comm="world"))
            if rank < end - 1:
                step.append(call("Send", 2 + 10 * part, count=6, dest=rank + 1, tag=0, comm="world"))
            ranks.append(step * 4)
    return record(ranks, {"part": [list(range(*part)) for part in pairwise(ends)]})


def trees_in_halves(nprocs: int) -> Trace:
    """A binomial tree in each half, from one line of the program, and messages between the halves."""
    half, ranks = nprocs // 2, []
    for rank in range(nprocs):
        own, size = (rank, half) if rank < half else (rank - half, nprocs - half)
        made = []
        for step in range(6):
            for k in range((size - 1).bit_length()):
                if own >> k & 1:
                    made.append(call("Send", 5, count=2, dest=own - (1 << k), tag=step, comm="half"))
                    break
                if own + (1 << k) < size:
                    made.append(call("Recv", 5, count=2, source=own + (1 << k), tag=step, comm="half"))
            if rank < half:
                made.append(call("Send", 3, count=6, dest=rank + half, tag=1, comm="world"))
            elif rank < 2 * half:
                made.append(call("Recv", 4, count=6, source=rank - half, tag=1, comm="world"))
        ranks.append(made)
    return record(ranks, {"half": [list(range(half)), list(range(half, nprocs))]})


def coupled_chains(nprocs: int) -> Trace:
    """Two chains from one line of the program, of half of the ranks each, which exchange their results."""
    half, ranks = nprocs // 2, []
    for rank in range(nprocs):
        first, end = (0, half) if rank < half else (half, nprocs)
        step = []
        if rank > first:
            step.append(call("Recv", 1, count=6, source=rank - 1, tag=0, comm="world"))
        if rank < end - 1:
            step.append(call("Send", 2, count=6, dest=rank + 1, tag=0, comm="world"))
        if rank < half:
            step.append(call("Send", 3, count=6, dest=rank + half, tag=1, comm="world"))
        elif rank < 2 * half:
            step.append(call("Recv", 4, count=6, source=rank - half, tag=1, comm="world"))
        ranks.append(step * 3)
    return record(ranks)


@pytest.mark.parametrize(
    ("made", "sizes", "targets"),
    [
        (two_parts, (6, 8, 9, 12), (16, 21)),
        (servers, (6, 7, 8, 9, 12), (16, 21)),
        (coupled_chains, (6, 8, 9, 11, 12), (16, 21)),
        (three_components, (8, 11, 12, 14, 16), (24, 29)),
        (trees_in_halves, (6, 8, 9, 11, 12), (21,)),
    ],
)
def test_parts_of_all_ranks(
    made: Callable[[int], Trace], sizes: Sequence[int], targets: Sequence[int]
) -> None:
    given = [made(size) for size in sizes]
    for nprocs in targets:
        assert diff(extrap.extrapolate(given, nprocs).trace, made(nprocs), ["times"]) == []


def test_borders() -> None:
    def found(made: Callable[[int], Trace], *sizes: int) -> tuple[tuple[str, ...], ...]:
        return borders([Observed(made(size)).sites for size in sizes])

    assert found(two_parts, 6, 9, 12) == (("P//2",),)
    assert found(two_parts, 6, 8, 12) == (("P//2", "(P+1)//2"),)
    assert found(servers, 6, 9, 12) == (("P-2",),)
    assert {"P//2", "2", "P-2"} <= {*found(servers, 4)[0]}
    assert found(round_robin, 6, 9) == ()
    assert found(three_components, 8, 11, 12) == (("P//4",), ("P//2",))


def test_evidence_names_groups() -> None:
    given = [trace_of(reduce_by_leaders, (size,)) for size in (8, 12, 16, 20)]
    assert extrap.extrapolate(given, 24).evidence == "a line of ranks in groups of 4"


def test_each_trace_is_predicted_from_the_others() -> None:
    """The grids of all traces are found first; groups must be found on these, too."""
    given = [trace_of(ring_of_leaders, (size,)) for size in (8, 9, 10, 12, 16, 20)]
    predictions = leave_one_out(given)
    assert [one.first for one in predictions] == [""] * len(given)


def test_two_groups_on_one_size_are_none() -> None:
    """One trace alone with several groups shows no period."""
    assert group_size([Observed(trace_of(reduce_by_leaders, (size,))).sites for size in (4, 8)]) == 0
    assert group_size([Observed(trace_of(reduce_by_leaders, (size,))).sites for size in (8, 12)]) == GROUP


def test_one_side_that_grows_is_followed() -> None:
    """Grids of four columns, however many ranks there are."""

    def body(rank: Rank) -> list[IssuedCall]:
        return [call("Send", 1, count=1, dest=p, tag=0, comm="world") for p in rank_neighbours(rank)]

    grids = [(2, 4), (3, 4), (5, 4)]
    made = extrap.extrapolate([trace_of(body, dims) for dims in grids], 28, dims_of=grids)
    assert made.grid.dims == (7, 4)
    assert diff(made.trace, trace_of(body, (7, 4)), ["times"]) == []


def rank_neighbours(rank: Rank) -> list[int]:
    """The next ranks in the column and in the row, around the ends."""
    found = (rank.neighbour(step, True) for step in ((1, 0), (0, 1)))
    return [peer for peer in found if peer is not None]


def thirds(nprocs: int) -> Trace:
    """The first third sends to the second, which has a barrier of its own, as the last one has."""
    third, ranks = nprocs // 3, []
    parts = [list(range(third)), list(range(third, 2 * third)), list(range(2 * third, nprocs))]
    for rank in range(nprocs):
        step = [call("Barrier", 9 if rank < third else 7 + (rank < 2 * third), comm="part")]
        if rank < third:
            step.append(call("Send", 1, count=6, dest=rank + third, tag=0, comm="world"))
        elif rank < 2 * third:
            step.append(call("Recv", 2, count=6, source=rank - third, tag=0, comm="world"))
        ranks.append(step * 3)
    return record(ranks, {"part": parts})


def test_borders_that_differ_at_the_target_are_refused() -> None:
    """A half, rounded down or up: on even sizes only, the traces do not show which."""
    given = [coupled_chains(nprocs) for nprocs in (6, 8, 10, 12)]
    assert diff(extrap.extrapolate(given, 20).trace, coupled_chains(20), ["times"]) == []
    with pytest.raises(InputError, match="even in all traces and odd"):
        extrap.extrapolate(given, 21, (21,), dims_of=[(6,), (8,), (10,), (12,)])
    quarters = [(8,), (12,), (16,), (20,)]
    given = [three_components(nprocs) for (nprocs,) in quarters]
    with pytest.raises(UndeterminedError, match=r"cannot tell .*P//4.* from .*P\+3"):
        extrap.extrapolate(given, 22, (22,), dims_of=quarters)
    lines = [(6,), (9,), (12,), (15,)]
    given = [thirds(nprocs) for (nprocs,) in lines]
    assert diff(extrap.extrapolate(given, 24, (24,), dims_of=lines).trace, thirds(24), ["times"]) == []
    with pytest.raises(UndeterminedError, match="cannot tell"):
        extrap.extrapolate(given, 20, (20,), dims_of=lines)
