"""Matrix products of constant and of random values (Cornebize 2021, section 10.5).

There, constant matrices are multiplied faster: fewer bits flip in the processor, which then takes less power
and a higher frequency. Here only times are measured. In each round all values are multiplied once, in a
random order, on all cores.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from benchmarks.running import priority
from benchmarks.study import Study, one_table
from benchmarks.table import Row
from scalatrace.arrays import Floats

COLUMNS = ("values", "rounds", "median, ms", "fastest", "slowest", "over constant, %", "slower in rounds, %")
CONSTANT = "constant"
VALUES: Mapping[str, Callable[[np.random.Generator, int], Floats]] = {
    CONSTANT: lambda random, n: np.full((n, n), 0.987),
    "sequential": lambda random, n: (np.arange(n * n) / n**2).reshape(n, n),
    "random": lambda random, n: random.random((n, n)),
}


def _rows(args: argparse.Namespace) -> Iterator[Row]:
    random, n = np.random.default_rng(args.seed), args.order
    matrices = {name: (draw(random, n), draw(random, n)) for name, draw in VALUES.items()}
    product = np.empty((n, n))
    times_ms: dict[str, list[float]] = {name: [] for name in VALUES}
    for repeat in range(args.repeat + 1):
        for name in random.permutation(list(VALUES)):
            begin = time.perf_counter_ns()
            np.dot(*matrices[name], out=product)
            if repeat:  # the first round starts threads and loads libraries
                times_ms[name].append((time.perf_counter_ns() - begin) / 1e6)
    for name, own_ms in times_ms.items():
        median, constant = (statistics.median(times) for times in (own_ms, times_ms[CONSTANT]))
        slower = np.mean(np.array(own_ms) > np.array(times_ms[CONSTANT]))
        yield (
            name, str(args.repeat), f"{median:.2f}", f"{min(own_ms):.2f}", f"{max(own_ms):.2f}",
            f"{100 * (median / constant - 1):+.2f}", "-" if name == CONSTANT else f"{100 * slower:.0f}",
        )  # fmt: skip


def _judge(rows: Sequence[Row]) -> list[str]:
    return [f"Processes have {priority()}. Rounds compare a product with that of constant values."]


STUDIES = (
    Study(
        "matrix-values",
        "matrix products of constant, sequential and random values: times",
        "docs/evaluation.md",
        one_table("matrix_values", "Values of matrices", COLUMNS, _rows, 0, (), _judge),
        {"order": 1024, "repeat": 200, "seed": 0},
        {"order": 256, "repeat": 5},
    ),
)
