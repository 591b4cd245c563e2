"""Communication that textbooks describe: each pattern from a few sizes to others, call by call."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from scalatrace.extrap.errors import ExtrapolationError, InputError, UndeterminedError
from scalatrace.extrap.extrapolate import extrapolate
from scalatrace.extrap.grid.target import target_grid
from scalatrace.trace.query.diff import diff
from scalatrace.trace.symbolic.grid import Grid
from support.calls import IssuedCall, call
from support.grids import Body, Rank, halo, trace_of

LINES = [(3,), (4,), (5,), (6,), (7,), (9,)]
SQUARES = [(3, 3), (4, 4), (5, 5), (6, 6)]
POWERS = [(4,), (8,), (16,), (32,)]


def _send(site: int, dest: int, tag: int = 0) -> IssuedCall:
    return call("Send", site, count=4, dest=dest, tag=tag, comm="world")


def _recv(site: int, source: int, tag: int = 0) -> IssuedCall:
    return call("Recv", site, count=4, source=source, tag=tag, comm="world")


def prefix_sums(rank: Rank) -> list[IssuedCall]:
    """Each rank adds what the ranks before it have, at distances that double (Hillis and Steele)."""
    r, size, made, distance = rank.number, rank.dims[0], [], 1
    while distance < size:
        if r + distance < size:
            made.append(_send(1, r + distance))
        if r >= distance:
            made.append(_recv(2, r - distance))
        distance *= 2
    return made * 3


def up_and_down(rank: Rank) -> list[IssuedCall]:
    """Partial sums up a tree, and down again (Blelloch)."""
    r, size, made, distance = rank.number, rank.dims[0], [], 1
    while distance < size:
        if (r + 1) % (2 * distance) == 0:
            made.append(_recv(1, r - distance))
        elif (r + 1) % (2 * distance) == distance and r + distance < size:
            made.append(_send(2, r + distance))
        distance *= 2
    while (distance := distance // 2) >= 1:
        if (r + 1) % (2 * distance) == 0:
            made += [_send(3, r - distance), _recv(4, r - distance)]
        elif (r + 1) % (2 * distance) == distance:
            made += [_send(5, r + distance), _recv(6, r + distance)]
    return made


def coarser_grids(rank: Rank) -> list[IssuedCall]:
    """Neighbours on grids of every other rank of the grid before."""
    r, size, made, distance = rank.number, rank.dims[0], [], 1
    while distance < size:
        if r % distance == 0:
            made += [_send(1, r + distance)] if r + distance < size else []
            made += [_recv(2, r - distance), _send(3, r - distance)] if r >= distance else []
            made += [_recv(4, r + distance)] if r + distance < size else []
        distance *= 2
    return made * 3


def wide_halo(rank: Rank) -> list[IssuedCall]:
    """Two neighbours on each side."""
    peers = [p for d in (-2, -1, 1, 2) if 0 <= (p := rank.number + d) < rank.dims[0]]
    return [*(_send(1, peer) for peer in peers), *(_recv(2, peer) for peer in peers)] * 3


def opposite(rank: Rank) -> list[IssuedCall]:
    """The rank at the same distance from the other end; the one in the middle has none."""
    peer = rank.dims[0] - 1 - rank.number
    return ([_send(1, peer), _recv(2, peer)] if peer != rank.number else []) * 3


def complete_tree(rank: Rank) -> list[IssuedCall]:
    """From four children each to the parent."""
    children = [c for c in range(4 * rank.number + 1, 4 * rank.number + 5) if c < rank.dims[0]]
    parent = [_send(2, (rank.number - 1) // 4)] if rank.number else []
    return [*(_recv(1, child) for child in children), *parent] * 3


def to_the_last_third(rank: Rank) -> list[IssuedCall]:
    """Rank 0 receives from the last third of the ranks."""
    first = 2 * rank.dims[0] // 3
    if rank.number >= first:
        return [_send(1, 0)] * 3
    return [_recv(2, r) for r in range(first, rank.dims[0])] * 3 if rank.number == 0 else []


def from_the_diagonal(rank: Rank) -> list[IssuedCall]:
    """The diagonal sends to all others of its row."""
    x, y = rank.place
    if x != y:
        return [_recv(2, x * rank.dims[1] + x)] * 3
    return [_send(1, x * rank.dims[1] + j) for j in range(rank.dims[1]) if j != y] * 3


def columns_in_turn(rank: Rank) -> list[IssuedCall]:
    """In each step, the rank of the diagonal sends to all others of its column, with the step as tag."""
    (side, _), (x, y), made = rank.dims, rank.place, []
    for step in range(2 * side):
        if y == step % side and x == y:
            made += [_send(1, i * side + y, step) for i in range(side) if i != x]
        elif y == step % side:
            made.append(_recv(2, step % side * side + y, step))
    return made


def skewed(rank: Rank) -> list[IssuedCall]:
    """Blocks are moved by the number of the row, and then step by step (Cannon)."""
    (side, _), (x, y) = rank.dims, rank.place
    made = [_send(1, x * side + (y - x) % side), _recv(2, x * side + (y + x) % side)]
    return made + [_send(3, x * side + (y - 1) % side), _recv(4, x * side + (y + 1) % side)] * side


def put_on_a_torus(rank: Rank) -> list[IssuedCall]:
    """One-sided communication with four neighbours, from one line of the program."""
    made = [call("Win_fence", 1, win=0, comm="world")]
    for step in ((0, 1), (1, 0), (0, -1), (-1, 0)):
        peer = rank.neighbour(step, wrap=True)
        made.append(call("Put", 2, origin_count=5, target_rank=peer, target_count=5, win=0, comm="world"))
    return made * 4


def collected(rank: Rank) -> list[IssuedCall]:
    """Rank 0 posts a receive from each rank, and waits for all of them."""
    size = rank.dims[0]
    if rank.number:
        return [_send(3, 0)] * 3
    posted = [call("Irecv", 1, count=4, source=r, tag=0, comm="world") for r in range(1, size)]
    return [*posted, call("Waitall", 2, requests=tuple(range(size - 2, -1, -1)))] * 3


def swept(rank: Rank) -> list[IssuedCall]:
    """Sweeps from each of the four corners, in blocks of planes, from one line of the program."""
    made = []
    for i, j in ((1, 1), (1, -1), (-1, 1), (-1, -1)) * 3:
        for _ in range(8):
            before = (rank.neighbour((-i, 0), wrap=False), rank.neighbour((0, -j), wrap=False))
            after = (rank.neighbour((i, 0), wrap=False), rank.neighbour((0, j), wrap=False))
            made += [_recv(1 + k, peer) for k, peer in enumerate(before) if peer is not None]
            made += [_send(3 + k, peer) for k, peer in enumerate(after) if peer is not None]
    return made


def ring(rank: Rank) -> list[IssuedCall]:
    """From each rank to the next one."""
    size = rank.dims[0]
    return [_send(1, (rank.number + 1) % size), _recv(2, (rank.number - 1) % size)] * 3


@pytest.mark.parametrize(
    ("body", "sizes", "target"),
    [
        (swept, [(2, 2), (3, 3), (4, 4)], (5, 5)),
        (swept, [(2, 2), (3, 3), (4, 4)], (12, 12)),
        (ring, LINES[1:4], (64,)),
        (prefix_sums, LINES, (16,)),
        (prefix_sums, LINES, (23,)),
        (up_and_down, POWERS, (64,)),
        (coarser_grids, POWERS[:3], (64,)),
        (wide_halo, LINES, (23,)),
        (opposite, LINES, (16,)),
        (opposite, LINES, (23,)),
        (complete_tree, [(4,), (5,), (8,), (9,), (13,), (16,)], (21,)),
        (to_the_last_third, [(4,), (5,), (6,), (9,), (12,)], (20,)),
        (from_the_diagonal, SQUARES, (8, 8)),
        (columns_in_turn, SQUARES, (8, 8)),
        (skewed, SQUARES, (8, 8)),
        (collected, LINES, (23,)),
    ],
)
def test_pattern(body: Body, sizes: Sequence[tuple[int, ...]], target: tuple[int, ...]) -> None:
    real = trace_of(body, target)
    made = extrapolate([trace_of(body, dims) for dims in sizes], real.nprocs, target, dims_of=sizes)
    assert diff(made.trace, real, ["times"]) == []


def test_grids_with_a_side_that_never_grows() -> None:
    grids = [Grid(dims) for dims in ((2, 5, 5), (2, 6, 6), (2, 7, 7))]
    assert target_grid(grids, 128).dims == (2, 8, 8)
    assert target_grid([Grid((3, n)) for n in (2, 5, 7)], 33).dims == (3, 11)
    with pytest.raises(InputError, match="follow two rules, which give 3x4x6 and 2x6x6 for 72 ranks"):
        target_grid([Grid((2, n, n)) for n in (2, 3, 4)], 72)


def test_one_sided_communication_shows_the_grid() -> None:
    made = extrapolate([trace_of(put_on_a_torus, dims) for dims in SQUARES[:3]], 36)
    assert made.grid.dims == (6, 6)
    assert diff(made.trace, trace_of(put_on_a_torus, (6, 6)), ["times"]) == []


def test_messages_show_the_grid_beside_one_sided_calls() -> None:
    """Every rank counts at the last one: the neighbours are those of the messages."""

    def body(rank: Rank) -> list[IssuedCall]:
        last = rank.dims[0] * rank.dims[1] - 1
        counted = call("Fetch_and_op", 90, target_rank=last, target_disp=0, win=0, comm="world")
        return [*halo(False)(rank), counted]

    planes = [(3, 3), (4, 4), (5, 4), (5, 5)]
    made = extrapolate([trace_of(body, dims) for dims in planes], 36)
    assert made.grid.dims == (6, 6)
    assert diff(made.trace, trace_of(body, (6, 6)), ["times"]) == []


def test_a_logarithm_of_trips_is_not_told_from_a_side() -> None:
    """2, 3 and 4 on 4, 9 and 16 ranks: the program may count stages of its own."""

    def body(rank: Rank) -> list[IssuedCall]:
        stages = (rank.dims[0] * rank.dims[1]).bit_length() - 1
        return [*halo(False)(rank), *[call("Barrier", 90, comm="world")] * stages]

    squares = [(2, 2), (3, 3), (4, 4)]
    with pytest.raises(UndeterminedError, match=r"cannot tell X from log2\(P\)"):
        extrapolate([trace_of(body, dims) for dims in squares], 25, (5, 5), dims_of=squares)


def test_a_quarter_of_the_ranks_is_not_told_from_one() -> None:
    def body(rank: Rank) -> list[IssuedCall]:
        (size,), r = rank.dims, rank.number
        put = call("Put", 1, origin_count=5, target_rank=size - 1, target_count=5, win=0, comm="world")
        last = call("Bcast", 2, count=size - size // 4, root=0, comm="world")
        return [*([put] if r < size // 4 else []), last] * 3

    sizes = [(4,), (5,), (6,)]
    with pytest.raises(UndeterminedError):
        extrapolate([trace_of(body, dims) for dims in sizes], 13, (13,), dims_of=sizes)


def test_a_stage_that_only_some_sizes_have_is_refused() -> None:
    """The last stage is left out on 8 and 16 ranks only: three sizes do not show a rule."""

    def body(rank: Rank) -> list[IssuedCall]:
        (size,), r = rank.dims, rank.number
        stages = {4: 2, 8: 2, 16: 3}.get(size, 5)
        return [_send(1, r + (1 << k)) for k in range(stages) if r + (1 << k) < size]

    with pytest.raises(ExtrapolationError):
        extrapolate([trace_of(body, dims) for dims in POWERS[:3]], 64, (64,), dims_of=POWERS[:3])
