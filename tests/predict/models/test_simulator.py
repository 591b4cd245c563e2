"""Models of collective operations against the simulator's clock of the same algorithm."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from scalatrace.executor import binding
from scalatrace.executor.operations import COLLECTIVES
from scalatrace.predict.engine.platform_arrays import NUMBER_OF, PlatformArrays
from scalatrace.predict.models.collectives import COSTS, time_ns
from scalatrace.predict.platform import Network, Platform, Segment

MACHINE = Platform(
    network=Network(
        (
            Segment(0, 1000.0, 0.1, 40.0, 200.0, 300.0, 0.01, 0.02),
            Segment(5000, 3000.0, 0.08, 60.0, 250.0, 350.0, 0.02, 0.01),
        )
    ),
    reduce_per_byte_ns=0.05,
)
OTHER_ORDER = {("alltoall", "linear"), ("reduce_scatter", "linear")}
"""The simulator runs these round by round; in the models, all messages are under way together."""

EVERY = [(name, one) for name, costs in COSTS.items() for one in costs if (name, one) not in OTHER_ORDER]


@pytest.mark.parametrize(("operation", "algorithm"), EVERY)
@pytest.mark.parametrize("nranks", [2, 16])
@pytest.mark.parametrize("nbytes", [64, 1 << 16])
def test_simulator(operation: str, algorithm: str, nranks: int, nbytes: int) -> None:
    arrays, clocks = PlatformArrays(MACHINE), np.zeros(nranks, dtype=np.int64)
    pointer = clocks.ctypes.data_as(ctypes.POINTER(ctypes.c_int64))
    numbers = COLLECTIVES[operation], NUMBER_OF[algorithm]
    binding.library().st_sim_collective_times(
        ctypes.byref(arrays.struct), *numbers, nbytes, 0, nranks, pointer
    )
    model_ns = time_ns(MACHINE, operation, algorithm, nbytes, nranks)
    assert float(clocks.max()) == pytest.approx(1000 * model_ns, rel=1e-4)
