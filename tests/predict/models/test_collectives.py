"""Models of collective operations: formulas against rounds, rounds against a clock over explicit messages."""

from __future__ import annotations

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from scalatrace.errors import UsageError
from scalatrace.predict.models import MESSAGE, OPERATIONS, algorithms_of, levels, times
from scalatrace.predict.models.collectives import COSTS, time_ns
from scalatrace.predict.models.messages import gap_ns
from scalatrace.predict.models.symbols import (
    ALPHA,
    BETA,
    CONGESTION,
    GAMMA,
    MATCH,
    QUEUE,
    STRIDED,
    TAU,
    P,
    S,
    as_latex,
    as_sympy,
)  # fmt: skip
from scalatrace.predict.platform import Network, Platform, Segment, Topology, read_platform
from scalatrace.predict.platform.algorithms import ALGORITHMS
from support import collective_schedules as schedules

SMALL = Segment(0, 1000.0, 0.1, 40.0, 200.0, 300.0, 0.01, 0.02)
LARGE = Segment(5000, 3000.0, 0.08, 60.0, 250.0, 350.0, 0.02, 0.01)
TWO_RANGES = Platform(network=Network((SMALL, LARGE)), reduce_per_byte_ns=0.05)
ONE_RANGE = Platform(network=Network((SMALL,)), reduce_per_byte_ns=0.05)
EVERY = [(operation, algorithm) for operation in COSTS for algorithm in COSTS[operation]]

REFERENCES = {
    ("barrier", "dissemination"): schedules.dissemination,
    ("bcast", "binomial"): schedules.binomial_bcast,
    ("bcast", "linear"): schedules.linear_bcast,
    ("bcast", "chain"): schedules.chain,
    ("reduce", "binomial"): schedules.binomial_reduce,
    ("allreduce", "recursive_doubling"): schedules.doubling,
    ("allreduce", "rabenseifner"): schedules.rabenseifner,
    ("allreduce", "ring"): schedules.ring_allreduce,
    ("scatter", "binomial"): schedules.binomial_scatter,
    ("allgather", "ring"): schedules.ring_allgather,
    ("allgather", "bruck"): schedules.bruck_allgather,
    ("alltoall", "pairwise"): schedules.pairwise,
    ("alltoall", "bruck"): schedules.bruck_alltoall,
}
ANY_RANKS = {
    key for key in REFERENCES if key[1] in ("linear", "chain", "ring", "pairwise", "bruck", "dissemination")
}


def test_all_algorithms_of_platforms_have_models() -> None:
    assert {name: tuple(costs) for name, costs in COSTS.items()} == ALGORITHMS


@pytest.mark.parametrize(("operation", "algorithm"), EVERY)
@pytest.mark.parametrize("nranks", [2, 4, 64])
def test_formulas_are_the_sums_of_the_rounds(operation: str, algorithm: str, nranks: int) -> None:
    network = ONE_RANGE.network
    formula = as_sympy(COSTS[operation][algorithm].formula)
    for nbytes in (0, 8, 100_000):
        values = {ALPHA: 1500, BETA: 0.13, GAMMA: 0.05}
        sized = formula.subs({P: nranks, S: nbytes}).replace(TAU, lambda size: gap_ns(network, float(size)))
        assert float(sized.subs(values)) == pytest.approx(
            time_ns(ONE_RANGE, operation, algorithm, nbytes, nranks), rel=1e-9
        )


@pytest.mark.parametrize("key", REFERENCES, ids="-".join)
@pytest.mark.parametrize("nranks", [2, 4, 8, 32])
@pytest.mark.parametrize("nbytes", [0, 64, 40_000])
def test_rounds_take_the_time_of_the_messages(key: tuple[str, str], nranks: int, nbytes: int) -> None:
    """40,000 bytes: rounds of one operation lie in both protocol ranges."""
    reference = schedules.finish_ns(TWO_RANGES.network, 0.05, REFERENCES[key], nranks, nbytes)
    assert time_ns(TWO_RANGES, *key, nbytes, nranks) == pytest.approx(reference, rel=1e-9)


@pytest.mark.parametrize("key", REFERENCES, ids="-".join)
@pytest.mark.parametrize("nranks", [3, 5, 6, 13, 21])
def test_other_numbers_of_ranks(key: tuple[str, str], nranks: int) -> None:
    """Exact where rounds do not depend on powers of two; else between the powers around."""
    if key == ("allreduce", "rabenseifner"):
        pytest.skip("the reference takes powers of two")
    reference = schedules.finish_ns(ONE_RANGE.network, 0.05, REFERENCES[key], nranks, 800)
    model = time_ns(ONE_RANGE, *key, 800, nranks)
    if key in ANY_RANKS:
        assert model == pytest.approx(reference, rel=1e-9)
    else:
        assert reference <= model * (1 + 1e-9)
        assert model <= reference * 2


@given(st.sampled_from(EVERY), st.integers(1, 300), st.integers(0, 1 << 22))
def test_bounds_and_growth(key: tuple[str, str], nranks: int, nbytes: int) -> None:
    machine = Platform(
        network=Network((SMALL, LARGE), 1000, 500.0),
        topology=Topology("torus", (4, 4, 4)),
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
        ranks_per_node=4, nic_shared=True, topology=Topology("fat-tree", radix=8, oversubscription=2)
    )
    model = levels(machine, "bcast", "linear", queue=5, strided=True)
    expected = QUEUE * MATCH + S * (CONGESTION * BETA + 2 * STRIDED) + ALPHA + CONGESTION * (P - 2) * TAU(S)
    assert sympy.expand(model.upper - expected) == 0
    assert model.congestion == 8
    assert model.lower == model.exact


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
