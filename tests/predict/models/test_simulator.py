"""Models of collective operations against the simulator's clock of the same algorithm."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np
import pytest

from scalatrace.executor import binding
from scalatrace.predict.models.collectives import COSTS, time_ns
from scalatrace.predict.platform import Network, Platform, Segment
from scalatrace.predict.platform.algorithms import algorithm_table
from scalatrace.predict.platform.engine_arrays import PlatformArrays

MACHINE = Platform(
    network=Network(
        (
            Segment(0, 1000.0, 0.1, 40.0, 200.0, 300.0, 0.01, 0.02),
            Segment(5000, 3000.0, 0.08, 60.0, 250.0, 350.0, 0.02, 0.01),
        )
    ),
    reduce_per_byte_ns=0.05,
)
BOUND = ("alltoall", "linear")
"""Its model may have one latency and transfer too much, where the processor is the slower part."""

TREES = {("bcast", "binary"), ("bcast", "split_binary"), ("reduce", "binary")}
"""Models are within a message of the longest path."""

EVERY = [(name, one) for name, costs in COSTS.items() for one in costs if (name, one) != BOUND]


def simulated_ps(platform: Platform, operation: str, algorithm: str, nbytes: int, nranks: int) -> float:
    """Return when the last rank ends, all of them starting at 0."""
    arrays, clocks = PlatformArrays(platform), np.zeros(nranks, dtype=np.int64)
    pointer = clocks.ctypes.data_as(ctypes.POINTER(ctypes.c_int64))
    number = algorithm_table()[operation][algorithm].number
    binding.library().st_sim_collective_times(ctypes.byref(arrays.struct), number, nbytes, 0, nranks, pointer)
    return float(clocks.max())


@pytest.mark.parametrize(("operation", "algorithm"), EVERY)
@pytest.mark.parametrize("nranks", [2, 16])
@pytest.mark.parametrize("nbytes", [64, 1 << 16])
def test_simulator(operation: str, algorithm: str, nranks: int, nbytes: int) -> None:
    model_ns = time_ns(MACHINE, operation, algorithm, nbytes, nranks)
    simulated = simulated_ps(MACHINE, operation, algorithm, nbytes, nranks)
    exactness = 0.25 if (operation, algorithm) in TREES else 1e-4
    assert simulated == pytest.approx(1000 * model_ns, rel=exactness)


@pytest.mark.parametrize("nranks", [2, 3, 16, 600])
@pytest.mark.parametrize("nbytes", [0, 64, 1 << 16])
def test_all_messages_of_linear_all_to_alls_are_under_way_together(nranks: int, nbytes: int) -> None:
    model_ns = time_ns(MACHINE, *BOUND, nbytes, nranks)
    segment = MACHINE.network.segment(nbytes)
    excess_ns = segment.latency_ns + nbytes * segment.per_byte_ns
    simulated_ns = simulated_ps(MACHINE, *BOUND, nbytes, nranks) / 1000
    assert model_ns - excess_ns <= simulated_ns * (1 + 1e-6)
    assert simulated_ns <= model_ns * (1 + 1e-6)


def test_linear_algorithms_with_blocking_calls_start_large_messages_one_after_another() -> None:
    """As in Open MPI: gather, scatter and reduce block in each call, the root of a broadcast does not."""
    latency_ns, handshake_ns = 1000.0, 500.0
    network = Network((Segment(0, latency_ns, 0.0),), 0, handshake_ns)
    platform = Platform(network=network, interface="unlimited")
    nranks = 8
    for operation in ("gather", "scatter", "reduce", "bcast", "alltoall"):
        nmessages = 1 if operation in ("bcast", "alltoall") else nranks - 1
        ns = simulated_ps(platform, operation, "linear", 100, nranks) / 1000
        assert ns == pytest.approx(nmessages * (latency_ns + handshake_ns)), operation


@pytest.mark.parametrize("nranks", [6, 7])
def test_neighbor_exchange_of_other_numbers_of_ranks(nranks: int) -> None:
    model_ns = time_ns(MACHINE, "allgather", "neighbor_exchange", 3000, nranks)
    simulated = simulated_ps(MACHINE, "allgather", "neighbor_exchange", 3000, nranks)
    assert simulated == pytest.approx(1000 * model_ns, rel=1e-4)


def test_partners_on_alternate_sides_of_many_ranks() -> None:
    """Two ranks of a node: every second round is between nodes, also where rounds are not run one by one."""
    memory = Network((Segment(0, 10.0, 0.01, 0.0, 20.0, 30.0),))
    nodes = replace(MACHINE, memory=memory, ranks_per_node=2)
    few, many = (simulated_ps(nodes, "allgather", "neighbor_exchange", 64, n) for n in (8000, 16000))
    assert many == pytest.approx(2 * few, rel=0.01)


@pytest.mark.parametrize("nranks", [3, 6, 13, 48])
def test_sparbit_of_other_numbers_of_ranks(nranks: int) -> None:
    model_ns = time_ns(MACHINE, "allgather", "sparbit", 3000, nranks)
    assert simulated_ps(MACHINE, "allgather", "sparbit", 3000, nranks) == pytest.approx(
        1000 * model_ns, rel=1e-4
    )


def test_large_messages_of_sparbit_stay_on_a_node() -> None:
    """Bruck sends the largest messages to the farthest ranks, Sparbit to the nearest."""
    memory = Network((Segment(0, 10.0, 0.01, 0.0, 20.0, 30.0),))
    nodes = replace(MACHINE, memory=memory, ranks_per_node=8)
    sparbit, bruck = (simulated_ps(nodes, "allgather", name, 10_000, 32) for name in ("sparbit", "bruck"))
    assert sparbit < 0.95 * bruck
    same = [simulated_ps(MACHINE, "allgather", name, 10_000, 32) for name in ("sparbit", "bruck")]
    assert same[0] == pytest.approx(same[1])
