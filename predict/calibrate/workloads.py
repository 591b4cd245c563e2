"""Kernels of a campaign, on numpy: matrix products and copies, of drawn sizes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from scalatrace.errors import UsageError
from scalatrace.predict.calibrate.plan import Experiment, Settings

__all__ = ["KERNELS", "Workload", "draw_calls", "warm_up"]

MAX_PRODUCT = 2e8
"""Largest m n k of a matrix product: 0.02 to 0.2 s on one core."""
MAX_SIDE = 4096
MAX_COPY = 8 << 20
STRATA = 30
MAX_TRIES = 5
MAX_LOST_NS, MAX_LOST_SHARE = 20_000, 0.02
"""Time without the core from which a call is repeated."""


@dataclass(frozen=True)
class Workload:
    """A kernel.

    Attributes:
        draw: parameters of a number of calls.
        call: run one and return its duration in ns.
    """

    draw: Callable[[np.random.Generator, int], list[dict[str, int]]]
    call: Callable[[dict[str, int]], float]


def _undisturbed_ns(call: Callable[[], object]) -> float:
    """Return the duration of a call. It is repeated if the system gave the core to another program."""
    for _ in range(MAX_TRIES):
        begin, thread_ns = time.perf_counter_ns(), time.thread_time_ns()
        call()
        duration, thread_ns = time.perf_counter_ns() - begin, time.thread_time_ns() - thread_ns
        if duration - thread_ns < max(MAX_LOST_NS, MAX_LOST_SHARE * duration):
            return float(duration)
    return float(thread_ns)


def _draw_products(random: np.random.Generator, count: int) -> list[dict[str, int]]:
    """Draw (m, n, k) with a product that is uniform over equal strata (Cornebize, section 10.2.2)."""
    result: list[dict[str, int]] = []
    while len(result) < count:
        stratum = len(result) % STRATA
        product = MAX_PRODUCT * (stratum + random.uniform()) / STRATA
        a = random.uniform(1, product ** (1 / 3))
        b = random.uniform(1, (product / a) ** 0.5)
        sides = [a, b, product / (a * b)]
        if max(sides) <= MAX_SIDE:
            m, n, k = (max(1, round(sides[i])) for i in random.permutation(3))
            result.append({"m": m, "n": n, "k": k})
    return result


def _multiply(params: dict[str, int]) -> float:
    """Multiply random matrices: with constant ones, processors run faster (Cornebize, section 10.5)."""
    random = np.random.default_rng(0)
    a, b = random.random((params["m"], params["k"])), random.random((params["k"], params["n"]))
    out = np.empty((params["m"], params["n"]))
    return _undisturbed_ns(lambda: np.dot(a, b, out=out))


def _draw_copies(random: np.random.Generator, count: int) -> list[dict[str, int]]:
    return [{"nbytes": int(size)} for size in np.exp(random.uniform(np.log(1024), np.log(MAX_COPY), count))]


def _copy(params: dict[str, int]) -> float:
    source, target = np.ones(params["nbytes"], np.uint8), np.zeros(params["nbytes"], np.uint8)
    return _undisturbed_ns(lambda: np.copyto(target, source))


KERNELS = {"dgemm": Workload(_draw_products, _multiply), "copy": Workload(_draw_copies, _copy)}


def draw_calls(settings: Settings) -> list[Experiment]:
    """Return the calls of all kernels of a campaign. Raises UsageError for an unknown one."""
    calls = []
    for name in settings.kernel_names if settings.kernels else ():
        if name not in KERNELS:
            raise UsageError(f"there is no kernel {name!r}; known: {', '.join(KERNELS)}")
        # A seed of its own: the other kernels of a campaign do not change its sizes.
        random = np.random.default_rng([settings.seed, *name.encode()])
        calls += [
            Experiment("kernel", name=name, params=params)
            for params in KERNELS[name].draw(random, settings.kernels)
        ]
    return calls


def warm_up(names: Sequence[str]) -> None:
    """Run each kernel once: the first call loads libraries and starts threads."""
    for name in names:
        random = np.random.default_rng(0)
        KERNELS[name].call(KERNELS[name].draw(random, 1)[0])
