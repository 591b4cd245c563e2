"""Models of collective operations: formulas against rounds, rounds against a clock over explicit messages."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from scalatrace.errors import UsageError
from scalatrace.predict.lowering.schedules import schedule
from scalatrace.predict.models import MESSAGE, OPERATIONS, algorithms_of, levels, times
from scalatrace.predict.models.collectives import COSTS, Cost, time_ns
from scalatrace.predict.models.messages import exchange_gap_ns, gap_ns, receive_gap_ns
from scalatrace.predict.models.symbols import (  # fmt: skip
    ALPHA,
    BETA,
    CONGESTION,
    GAMMA,
    LOG,
    MATCH,
    PHI,
    QUEUE,
    RHO,
    STRIDED,
    TAU,
    P,
    S,
    as_latex,
    as_sympy,
)
from scalatrace.predict.platform import Network, NetworkTopology, Platform, Segment, read_platform
from scalatrace.predict.platform.algorithms import algorithm_table
from support.loggp_clock import finish_ns

SMALL = Segment(0, 1000.0, 0.1, 40.0, 200.0, 300.0, 0.01, 0.02)
LARGE = Segment(5000, 3000.0, 0.08, 60.0, 250.0, 350.0, 0.02, 0.01)
TWO_RANGES = Platform(network=Network((SMALL, LARGE)), reduce_per_byte_ns=0.05)
ONE_RANGE = Platform(network=Network((SMALL,)), reduce_per_byte_ns=0.05)
EVERY = [(operation, algorithm) for operation in COSTS for algorithm in COSTS[operation]]

Range = tuple[float, float]
ROUNDS_BETWEEN: dict[tuple[str, str], Range] = {
    ("barrier", "recursive_doubling"): (1, 1.5), ("bcast", "scatter_allgather"): (1, 1.34),
    ("allreduce", "recursive_doubling"): (1, 1.5), ("gather", "binomial"): (1, 2),
    ("scatter", "binomial"): (1, 2), ("allgather", "gather_bcast"): (1, 1.5),
    ("reduce_scatter", "recursive_halving"): (0.83, 1.5), ("bcast", "scatter_doubling"): (1, 1.34),
    ("reduce_scatter", "recursive_doubling"): (1, 1.5),
}  # fmt: skip
"""Algorithms whose rounds are exact for powers of two only: their share of the longest path between these."""

FORMULAS_BETWEEN: dict[tuple[str, str], Range] = {
    ("barrier", "recursive_doubling"): (0.75, 1), ("barrier", "tree"): (1, 2), ("bcast", "binomial"): (1, 2),
    ("bcast", "scatter_allgather"): (1, 1.34), ("reduce", "binomial"): (1, 2),
    ("reduce", "rabenseifner"): (0.44, 1), ("allreduce", "recursive_doubling"): (0.75, 1),
    ("allreduce", "rabenseifner"): (0.44, 1), ("allreduce", "reduce_bcast"): (1, 2),
    ("gather", "binomial"): (1, 2), ("scatter", "binomial"): (1, 2), ("allgather", "gather_bcast"): (1, 2),
    ("allgather", "neighbor_exchange"): (0.5, 1), ("alltoall", "bruck"): (1, 1.5),
    ("reduce_scatter", "recursive_halving"): (0.4, 1), ("bcast", "scatter_doubling"): (0.17, 1.34),
    ("reduce_scatter", "recursive_doubling"): (0.75, 1), ("reduce_scatter", "reduce_scatterv"): (1, 2),
}  # fmt: skip
"""The same of formulas."""

TREES: dict[tuple[str, str], Range] = {
    ("bcast", "binary"): (0.9, 2), ("bcast", "split_binary"): (0.9, 1.2), ("bcast", "knomial"): (0.5, 2),
    ("reduce", "binary"): (0.9, 2),
}  # fmt: skip
"""Algorithms whose models are exact for some numbers of ranks only: their share of the longest path."""

BOUND = ("alltoall", "linear")
"""Its model may have one latency and transfer too much, where the processor is the slower part."""


def test_all_algorithms_of_platforms_have_models() -> None:
    assert {name: set(costs) for name, costs in COSTS.items()} == {
        name: set(algorithms) for name, algorithms in algorithm_table().items()
    }


@pytest.mark.parametrize(("operation", "algorithm"), EVERY)
@pytest.mark.parametrize("nranks", [4, 64])
def test_formulas_are_the_sums_of_the_rounds(operation: str, algorithm: str, nranks: int) -> None:
    network = ONE_RANGE.network
    formula = as_sympy(COSTS[operation][algorithm].formula)
    for nbytes in (0, 8, 100_000):
        values = {ALPHA: 1500, BETA: 0.13, GAMMA: 0.05}
        sized = formula.subs({P: nranks, S: nbytes})
        for gap, time in ((TAU, gap_ns), (RHO, receive_gap_ns), (PHI, exchange_gap_ns)):
            sized = sized.replace(gap, lambda size, time=time: time(network, float(size)))
        assert float(sized.subs(values)) == pytest.approx(
            time_ns(ONE_RANGE, operation, algorithm, nbytes, nranks), rel=1e-9
        )


def longest_paths(operation: str, algorithm: str, nranks: int, nbytes: int) -> list[int]:
    """Return the largest numbers of messages, of bytes, and of reduced bytes on a path of messages."""
    steps = [schedule(algorithm, operation, rank, nranks, nbytes) for rank in range(nranks)]
    ranks = np.repeat(np.arange(nranks), [len(own) for own in steps])
    table = np.concatenate(steps)
    clocks = np.zeros((nranks, 3), dtype=np.int64)
    for number in range(table["round"].max() + 1):
        receives = (table["round"] == number) & (table["from"] >= 0)
        received, at = table[receives], ranks[receives]
        bytes_, zero = received["received"], np.zeros(len(received), dtype=np.int64)
        before = clocks.copy()
        np.maximum.at(clocks, at, before[received["from"]] + np.stack([zero + 1, bytes_, zero], axis=1))
        np.add.at(clocks[:, 2], at, bytes_ * received["reduces"])
    return [int(value) for value in clocks.max(axis=0)]


def sums_of_rounds(cost: Cost, nranks: int, nbytes: int) -> list[float]:
    """Return the messages, bytes and reduced bytes of a model's rounds; gaps are no messages."""
    rounds = list(cost.rounds(float(nbytes), nranks))
    return [
        sum(each.times for each in rounds if not each.is_gap),
        sum(each.times * each.nbytes for each in rounds if not each.is_gap),
        sum(each.times * each.reduced for each in rounds),
    ]


def coefficients(cost: Cost, nranks: int, nbytes: int) -> list[float]:
    """Return the messages, bytes and reduced bytes of a model's formula."""
    formula = cost.formula
    for gap in (TAU, RHO, PHI):
        formula = formula.replace(gap, lambda size: 0)
    formula = sympy.expand(formula.subs({LOG: (nranks - 1).bit_length(), P: nranks, S: nbytes}))
    return [float(formula.coeff(symbol)) for symbol in (ALPHA, BETA, GAMMA)]


@pytest.mark.parametrize("key", EVERY, ids="-".join)
def test_models_against_schedules(key: tuple[str, str]) -> None:
    """All ranks send parts of equal size: numbers of bytes are multiples of all numbers of parts."""
    cost = COSTS[key[0]][key[1]]
    for nranks in range(2, 71):
        nbytes = 0 if key[0] == "barrier" else nranks * 128
        paths = longest_paths(*key, nranks, nbytes)
        is_power = nranks & (nranks - 1) == 0
        for values, between in (
            (sums_of_rounds(cost, nranks, nbytes), ROUNDS_BETWEEN),
            (coefficients(cost, nranks, nbytes), FORMULAS_BETWEEN),
        ):
            if key not in TREES and (is_power or key not in between):
                assert values == pytest.approx(paths)
            else:
                low, high = TREES.get(key) or between[key]
                assert all(
                    low * path <= value <= high * path for value, path in zip(values, paths, strict=True)
                )


@pytest.mark.parametrize("key", EVERY, ids="-".join)
@pytest.mark.parametrize("nranks", [2, 8, 32])
@pytest.mark.parametrize("blocks", [1, 1000])
def test_rounds_take_the_time_of_the_messages(key: tuple[str, str], nranks: int, blocks: int) -> None:
    """Messages of one operation lie in both protocol ranges."""
    nbytes = 32 * blocks
    reference = finish_ns(TWO_RANGES.network, 0.05, *key, nranks, nbytes)
    model = time_ns(TWO_RANGES, *key, nbytes, nranks)
    if key in TREES:
        assert 0.9 * reference <= model <= 1.3 * reference
    elif key == BOUND:
        slack = SMALL.latency_ns + LARGE.latency_ns + nbytes * SMALL.per_byte_ns
        assert reference * (1 - 1e-9) <= model <= reference + slack
    else:
        assert model == pytest.approx(reference, rel=1e-9)


@pytest.mark.parametrize("key", EVERY, ids="-".join)
@pytest.mark.parametrize("nranks", [3, 6, 13])
def test_other_numbers_of_ranks(key: tuple[str, str], nranks: int) -> None:
    nbytes = 160 * nranks
    reference = finish_ns(ONE_RANGE.network, 0.05, *key, nranks, nbytes)
    model = time_ns(ONE_RANGE, *key, nbytes, nranks)
    if key in ROUNDS_BETWEEN or key in TREES or key == BOUND:
        assert 0.9 * reference <= model <= 1.9 * reference
    else:
        assert model == pytest.approx(reference, rel=1e-9)


@given(st.sampled_from(EVERY), st.integers(1, 300), st.integers(0, 1 << 22))
def test_bounds_and_growth(key: tuple[str, str], nranks: int, nbytes: int) -> None:
    machine = Platform(
        network=Network((SMALL, LARGE), 1000, 500.0),
        topology=NetworkTopology("torus", (4, 4, 4)),
        reduce_per_byte_ns=0.1,
    )
    value = times(machine, key[0], nbytes, nranks, key[1], queue=3)
    assert 0 <= value.exact_ns <= value.upper_ns
    assert times(machine, key[0], nbytes + 5000, nranks, key[1]).exact_ns >= value.exact_ns


def test_one_rank_alone_takes_no_time() -> None:
    assert all(time_ns(ONE_RANGE, *key, 100, 1) == 0 for key in EVERY)


def test_the_platform_chooses_the_algorithm() -> None:
    machine = read_platform("cluster")
    assert times(machine, "allreduce", 8, 64).algorithm == "recursive_doubling"
    assert times(machine, "allreduce", 1 << 20, 64).algorithm == "rabenseifner"


def test_ranks_of_one_node_use_the_memory() -> None:
    machine = read_platform("cluster")
    inside, between = (times(machine, MESSAGE, 8, nranks).exact_ns for nranks in (48, 49))
    assert inside == pytest.approx(100 + 250 + 100 + 8 * 0.1)
    assert between == pytest.approx(200 + 1000 + 200 + 8 * 0.09)


def test_upper_bounds_have_the_delays_of_the_platform() -> None:
    machine = Platform(
        ranks_per_node=4, interface="node", topology=NetworkTopology("fat-tree", radix=8, oversubscription=2)
    )
    model = levels(machine, "bcast", "linear", queue=5, strided=True)
    expected = QUEUE * MATCH + S * (CONGESTION * BETA + 2 * STRIDED) + ALPHA + CONGESTION * (P - 2) * TAU(S)
    assert sympy.expand(model.upper - expected) == 0
    assert model.congestion == 8
    assert model.lower == model.exact


@pytest.mark.parametrize(
    ("topology", "factor"),
    [
        (NetworkTopology("fat-tree", topo_parameters="2;8,4;1,2;1,2"), 2),
        (NetworkTopology("dragonfly", topo_parameters="2,4;1,1;4,1;2"), 2),
        (NetworkTopology("mesh", (4, 4)), 2 * sympy.sqrt(P)),
        (NetworkTopology("cluster"), 1),
    ],
)
def test_the_worst_mapping_on_topologies(topology: NetworkTopology, factor: sympy.Expr) -> None:
    assert sympy.simplify(levels(Platform(topology=topology), "bcast", "linear").congestion - factor) == 0


def test_bounds_have_the_links_of_the_topology() -> None:
    network = Network((Segment(0, 1000, 1.0),))
    trees = [NetworkTopology("fat-tree", radix=4, oversubscription=factor) for factor in (1, 4)]
    machines = [Platform(network=network, interface="unlimited", topology=tree) for tree in trees]
    one, four = (times(machine, "alltoall", 1000, 8, "pairwise") for machine in machines)
    assert one.exact_ns == four.exact_ns
    # In four of the seven rounds, four nodes share the link of their switch.
    assert four.upper_ns - one.upper_ns == pytest.approx(4 * 3 * 1000)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_model_has_four_levels_in_latex(operation: str) -> None:
    for algorithm in algorithms_of(operation):
        model = levels(ONE_RANGE, operation, algorithm)
        for formula in (model.asymptotic, model.lower, model.upper, model.exact):
            assert as_latex(formula)
            assert "ceil" not in as_latex(formula).replace("lceil", "").replace("rceil", "")
        assert model.dominant.latex()


def test_unknown_names() -> None:
    with pytest.raises(UsageError, match="no models of this operation"):
        times(ONE_RANGE, "alltoallv", 8, 4)
    with pytest.raises(UsageError, match="bcast has no algorithm 'ring'"):
        levels(ONE_RANGE, "bcast", "ring")
