"""The worked example: every number of Hoefler, Gropp, Thakur and Träff (2010) on Blue Gene/P."""

from __future__ import annotations

from itertools import product

import pytest
import sympy

from scalatrace.predict.models import MESSAGE, bluegene, levels, times
from scalatrace.predict.models.congestion import alltoall_congestion, alltoall_links
from scalatrace.predict.models.symbols import P, S
from scalatrace.predict.platform import Platform, read_platform


@pytest.fixture(scope="module")
def machine() -> Platform:
    return read_platform("bluegene-p")


@pytest.mark.parametrize(
    ("nbytes", "us"),
    [
        (0, 4.5), (1, 4.50267), (256, 4.5 + 0.68352), (257, 5.7 + 0.68619), (1024, 5.7 + 2.73408),
        (1025, 9.8 + 2.73675), (1_000_000, 9.8 + 2670),
    ],
)  # fmt: skip
def test_message_in_three_ranges(machine: Platform, nbytes: int, us: float) -> None:
    assert float(bluegene.message().subs(S, nbytes)) == pytest.approx(1000 * us, rel=1e-12)
    assert times(machine, MESSAGE, nbytes, 2).exact_ns == pytest.approx(1000 * us, rel=1e-12)


def test_matching_queue(machine: Platform) -> None:
    """100 ns per request; 13 requests: 1.3 us."""
    assert machine.matching.per_entry_ns == bluegene.MATCH_NS_PER_REQUEST == 100
    empty, full = (times(machine, MESSAGE, 0, 2, queue=entries).upper_ns for entries in (0, 13))
    assert full - empty == pytest.approx(1300)


@pytest.mark.parametrize(("nranks", "factor"), [(8, 3), (64, 6), (4096, 24), (32768, 48)])
def test_bounds_with_congestion(machine: Platform, nranks: int, factor: int) -> None:
    """9.8 us + 2.67 ns/B S <= T < 9.8 us + 2.67 ns/B S 3/2 P^(1/3)."""
    low, high = (float(bound.subs({S: 10**6, P: nranks})) for bound in bluegene.bounded_message())
    assert (low, high) == pytest.approx((9800 + 2.67e6, 9800 + 2.67e6 * factor))
    value = times(machine, MESSAGE, 10**6, nranks)
    assert (value.exact_ns, value.upper_ns) == pytest.approx((low, high))


def test_small_collectives_in_the_tree() -> None:
    """13 us + 0.31 us log2(P); a sum has 0.37 us per stage."""
    assert float(bluegene.small_bcast().subs(P, 1024)) == pytest.approx(16_100)
    assert float(bluegene.small_bcast().subs(P, 65536)) == pytest.approx(17_960)
    sums = bluegene.small_allreduce(13_000)
    assert float(sums.subs(P, 2048) - sums.subs(P, 1024)) == pytest.approx(370)


def test_large_bcast() -> None:
    """Six links: 0.445 ns per byte."""
    value = float(bluegene.bcast().subs({P: 1024, S: 10**6}))
    assert value == pytest.approx(16_100 + 445_000)


def test_small_alltoall() -> None:
    assert float(bluegene.small_alltoall(5000, 250).subs(P, 513)) == pytest.approx(5000 + 250 * 512)


@pytest.mark.parametrize("k", [1, 3, 5, 7, 9])
def test_links_of_an_alltoall(k: int) -> None:
    """The printed sum is its closed form, and bounds the true number of hops."""
    d = (k - 1) // 2
    printed = k**3 * 8 * sum(x + y + z for x, y, z in product(range(d + 1), repeat=3))
    assert alltoall_links(k) == printed
    hops = k**3 * sum(sum(min(x, k - x) for x in place) for place in product(range(k), repeat=3))
    assert hops <= printed
    assert printed / (6 * k**3) <= float(alltoall_congestion().subs(P, k**3))


def test_large_alltoall() -> None:
    """P = 4096: C(P) = 16 * 9^3; P = 8: 2 * 2^3."""
    assert float(alltoall_congestion().subs(P, 4096)) == pytest.approx(16 * 9**3)
    assert float(alltoall_congestion().subs(P, 8)) == pytest.approx(16)
    value = float(bluegene.alltoall(100).subs({P: 4096, S: 1024}))
    assert value == pytest.approx(4095 * 100 + 1024 * 2.67 * 16 * 729)
    one = float(bluegene.alltoall(100, 1.0).subs({P: 1, S: 1024}))
    assert one == pytest.approx(1024 * 1.5**3)


def test_four_levels_of_a_good_broadcast(machine: Platform) -> None:
    """Theta(S + log P), beta S + O(log P), and not Theta(S log P)."""
    good = levels(machine, "allreduce", "rabenseifner")
    assert good.asymptotic == S + sympy.log(P)
    assert good.dominant.text() == "S*(2*beta + gamma) + O(log(P))"
    folklore = levels(machine, "bcast", "binomial")
    assert folklore.asymptotic == S * sympy.log(P)
    assert levels(machine, MESSAGE, MESSAGE).asymptotic == S
    assert levels(machine, "alltoall", "pairwise").asymptotic == S * P
