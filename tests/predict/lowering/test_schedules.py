"""Schedules deliver what their operation must deliver, message by message."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalatrace.predict.lowering.schedules import RoundShape, schedule, used_algorithm
from scalatrace.predict.platform.algorithms import algorithm_table
from support.rounds import Round, list_rounds

CASES = [(operation, name) for operation, names in algorithm_table().items() for name in names]
sizes = st.integers(1, 21)
few = settings(max_examples=15, deadline=None)


def exchanged(rounds: list[list[Round]]) -> Counter[tuple[int, int]]:
    """Run all ranks until each has ended; bytes from rank to rank. Fails where they wait for ever."""
    under_way: dict[tuple[int, int], deque[int]] = defaultdict(deque)
    at, sent, moved = [0] * len(rounds), [-1] * len(rounds), Counter[tuple[int, int]]()
    progress = True
    while progress:
        progress = False
        for rank, own in enumerate(rounds):
            while at[rank] < len(own):
                this = own[at[rank]]
                if sent[rank] < at[rank]:
                    sent[rank] = at[rank]
                    for peer, nbytes in this.sends:
                        assert peer != rank
                        under_way[rank, peer].append(nbytes)
                        moved[rank, peer] += nbytes
                needed = Counter(peer for peer, _ in this.recvs)
                if any(len(under_way[peer, rank]) < n for peer, n in needed.items()):
                    break
                for peer, nbytes in this.recvs:
                    assert under_way[peer, rank].popleft() == nbytes
                at[rank], progress = at[rank] + 1, True
    assert at == [len(own) for own in rounds], "ranks wait for each other"
    assert not any(under_way.values()), "messages that nobody receives"
    return moved


def all_rounds(operation: str, algorithm: str, n: int, nbytes: int, root: int) -> list[list[Round]]:
    return [list_rounds(algorithm, RoundShape(operation, rank, n, nbytes, root)) for rank in range(n)]


@pytest.mark.parametrize(("operation", "algorithm"), CASES)
@few
@given(n=sizes, nbytes=st.sampled_from([0, 1, 8, 1000, 4099]), data=st.data())
def test_messages_match(operation: str, algorithm: str, n: int, nbytes: int, data: st.DataObject) -> None:
    root = data.draw(st.integers(0, n - 1))
    rounds = all_rounds(operation, algorithm, n, nbytes, root)
    moved = exchanged(rounds)
    if operation in ("bcast", "scatter") and n > 1:
        into = Counter[int]()
        for (_, dest), size in moved.items():
            into[dest] += size
        assert all(into[rank] >= nbytes - nbytes // n - 1 for rank in range(n) if rank != root)
    if operation == "alltoall" and algorithm != "bruck" and nbytes:
        assert moved == {(i, j): nbytes for i in range(n) for j in range(n) if i != j}
    if operation == "allgather" and algorithm != "gather_bcast":
        assert sum(moved.values()) == n * (n - 1) * nbytes


def depth(rounds: list[list[Round]], start: set[int]) -> dict[int, set[int]]:
    """Ranks whose data each rank has in the end, if all ranks of `start` have their own at first."""
    known = {rank: {rank} if rank in start else set() for rank in range(len(rounds))}
    under_way: dict[tuple[int, int], deque[set[int]]] = defaultdict(deque)
    at, sent = [0] * len(rounds), [-1] * len(rounds)
    progress = True
    while progress:
        progress = False
        for rank, own in enumerate(rounds):
            while at[rank] < len(own):
                this = own[at[rank]]
                if sent[rank] < at[rank]:
                    sent[rank] = at[rank]
                    for peer, _ in this.sends:
                        under_way[rank, peer].append(set(known[rank]))
                if any(not under_way[peer, rank] for peer, _ in this.recvs):
                    break
                for peer, _ in this.recvs:
                    known[rank] |= under_way[peer, rank].popleft()
                at[rank], progress = at[rank] + 1, True
    return known


@pytest.mark.parametrize(("operation", "algorithm"), CASES)
@few
@given(n=sizes, data=st.data())
def test_data_arrive(operation: str, algorithm: str, n: int, data: st.DataObject) -> None:
    """A rank's result depends on the ranks that MPI names."""
    root = data.draw(st.integers(0, n - 1))
    known = depth(all_rounds(operation, algorithm, n, 64, root), set(range(n)))
    everyone = set(range(n))
    for rank in range(n):
        if operation in ("barrier", "allreduce", "allgather", "alltoall", "reduce_scatter"):
            assert known[rank] == everyone
        elif operation in ("bcast", "scatter"):
            assert root in known[rank]
        elif operation == "scan":
            assert known[rank] >= set(range(rank + 1))
    if operation in ("reduce", "gather"):
        assert known[root] == everyone


def _blocks(rng: st.DataObject, n: int) -> list[int]:
    return rng.draw(st.lists(st.integers(0, 50), min_size=n, max_size=n))


@few
@given(n=st.integers(1, 13), data=st.data())
def test_several_sizes(n: int, data: st.DataObject) -> None:
    table = [_blocks(data, n) for _ in range(n)]
    column = [tuple(table[i][j] for i in range(n)) for j in range(n)]
    shapes = [RoundShape("alltoall", rank, n, 0, 0, tuple(table[rank]), column[rank]) for rank in range(n)]
    for algorithm in ("pairwise", "linear", "bruck"):
        moved = exchanged([list_rounds(algorithm, shape) for shape in shapes])
        wanted = {(i, j): table[i][j] for i in range(n) for j in range(n) if i != j and table[i][j]}
        assert {pair: size for pair, size in moved.items() if size} == wanted
    blocks, root = tuple(table[0]), data.draw(st.integers(0, n - 1))
    for algorithm in algorithm_table()["allgather"]:
        exchanged(
            [list_rounds(algorithm, RoundShape("allgather", r, n, 0, 0, None, blocks)) for r in range(n)]
        )
    for algorithm in algorithm_table()["reduce_scatter"]:
        shapes = [RoundShape("reduce_scatter", rank, n, 0, 0, None, blocks) for rank in range(n)]
        exchanged([list_rounds(algorithm, shape) for shape in shapes])

    def rooted(operation: str) -> Iterator[list[Round]]:
        for rank in range(n):
            known = blocks if rank == root else None
            sends, recvs = (known, None) if operation == "scatterv" else (None, known)
            yield list_rounds("binomial", RoundShape(operation, rank, n, blocks[rank], root, sends, recvs))

    others = sum(size for rank, size in enumerate(blocks) if rank != root)
    assert sum(exchanged(list(rooted("gatherv"))).values()) == others
    assert sum(exchanged(list(rooted("scatterv"))).values()) == others


@pytest.mark.parametrize("algorithm", [name for operation, name in CASES if operation == "allgather"])
@pytest.mark.parametrize("n", range(2, 21))
def test_ranks_send_the_blocks_that_they_have(algorithm: str, n: int) -> None:
    """Block i has 2^i bytes, so sizes tell blocks."""
    sizes = tuple(1 << i for i in range(n))
    shapes = [RoundShape("allgather", rank, n, 0, 0, None, sizes) for rank in range(n)]
    steps = [schedule(algorithm, *shape).tolist() for shape in shapes]
    known = list(sizes)
    for number in range(1 + max(own[-1][0] for own in steps)):
        before = tuple(known)
        for rank, own in enumerate(steps):
            for _, to, source, _, sent, received in (step for step in own if step[0] == number):
                if to >= 0:
                    assert sent & before[rank] == sent
                if source >= 0:
                    assert algorithm == "gather_bcast" or known[rank] & received == 0
                    known[rank] |= received
    assert known == [2**n - 1] * n


@pytest.mark.parametrize("n", range(2, 15, 2))
def test_neighbor_exchange_of_even_numbers_of_ranks(n: int) -> None:
    """One block, then two in each round, to and from a neighbor."""
    for rank in range(n):
        steps = schedule("neighbor_exchange", "allgather", rank, n, 1)
        assert steps["sent"].tolist() == [1] + [2] * (n // 2 - 1)
        assert steps["received"].tolist() == steps["sent"].tolist()
        assert steps["to"].tolist() == steps["from"].tolist()
        assert set(steps["to"]) <= {(rank + 1) % n, (rank - 1) % n}


def sparbit_of_the_authors(n: int) -> list[tuple[int, int]]:
    """Return distance and blocks of each round, with the excluded blocks as Loch and Koslovski count them."""
    distance, blocks, rounds = 1 << (n - 1).bit_length() - 1, 1, []
    trailing = (n & -n).bit_length() - 1
    excluding = (~(n >> trailing) | 1) << trailing
    while distance:
        excluded = int(distance & excluding == distance)
        rounds.append((distance, blocks - excluded))
        distance, blocks = distance // 2, 2 * blocks - excluded
    return rounds


@pytest.mark.parametrize("n", [*range(2, 20), 63, 64, 65, 1000, 1536])
def test_sparbit_sends_to_far_ranks_first(n: int) -> None:
    steps = schedule("sparbit", "allgather", n // 3, n, 10)
    rounds = [((to - n // 3) % n, sent // 10) for _, to, _, _, sent, _ in steps.tolist()]
    assert rounds == sparbit_of_the_authors(n)


@pytest.mark.parametrize(
    ("algorithm", "shape", "used"),
    [
        ("neighbor_exchange", RoundShape("allgather", 2, 7, 99), "ring"),
        ("neighbor_exchange", RoundShape("allgather", 2, 6, 99), "neighbor_exchange"),
        ("recursive_doubling", RoundShape("allgather", 2, 6, 99), "bruck"),
        ("bruck", RoundShape("alltoall", 2, 3, 9, 0, (9, 0, 8), (7, 0, 9)), "pairwise"),
        ("binomial", RoundShape("gatherv", 2, 6, 99), "linear"),
        ("binomial", RoundShape("gather", 2, 6, 99), "binomial"),
    ],
)
def test_calls_without_the_condition_of_an_algorithm(algorithm: str, shape: RoundShape, used: str) -> None:
    assert used_algorithm(algorithm, shape) == used
    assert list_rounds(algorithm, shape) == list_rounds(used, shape)


def test_every_condition_has_another_algorithm() -> None:
    for algorithms in algorithm_table().values():
        for row in algorithms.values():
            assert bool(row.condition) == bool(row.otherwise)
            assert not row.otherwise or row.otherwise in algorithms


def test_costs_of_the_papers() -> None:
    """Rounds and bytes per rank of Thakur, Rabenseifner and Gropp (2005), for a power of two."""
    n, nbytes = 16, 1600

    def cost(operation: str, algorithm: str) -> tuple[int, int]:
        own = schedule(algorithm, operation, 3, n, nbytes)
        return len(own), int(own["sent"].sum())

    assert cost("allreduce", "recursive_doubling") == (4, 4 * nbytes)
    assert cost("allreduce", "rabenseifner") == (8, 2 * nbytes * 15 // 16)
    assert cost("allreduce", "ring") == (30, 2 * nbytes * 15 // 16)
    assert cost("allgather", "ring") == (15, 15 * nbytes)
    assert cost("allgather", "bruck") == (4, 15 * nbytes)
    assert cost("allgather", "neighbor_exchange") == (8, 15 * nbytes)
    assert cost("allgather", "sparbit") == (4, 15 * nbytes)
    assert cost("alltoall", "bruck") == (4, 4 * 8 * nbytes)
    assert cost("alltoall", "pairwise") == (15, 15 * nbytes)
    assert cost("reduce_scatter", "recursive_halving") == (4, 15 * nbytes)
    assert cost("barrier", "dissemination") == (4, 0)
