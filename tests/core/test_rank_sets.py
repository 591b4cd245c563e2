"""Sets of ranks in the merge: any set comes back as it was; the parts of a larger grid take no more room."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from math import log2
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalatrace import load
from scalatrace.core.binding import COMM_WORLD, Core
from scalatrace.errors import FormatError
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.model.trace import Trace


def rank_core(rank: int, nprocs: int, tags: Iterable[int], compute: float = 1000.0) -> Core:
    """A finished core of a rank that makes a call of its own call site and tag for each of these."""
    core = Core(rank, nprocs)
    core.define_comm(COMM_WORLD, 0, "world", range(nprocs))
    core.define_stat("compute_ns")
    core.define_stat("comm_ns")
    send = core.define_op("Send", [("tag", Kind.INT), ("comm", Kind.COMM)])
    for tag in tags:
        site = core.define_signature([f"app.py:{1 + tag // 10}:main"])
        core.append(send, [tag, COMM_WORLD], site, rank, nprocs, [compute, 1e6 / compute])
    core.finish()
    return core


def united(cores: list[Core]) -> Core:
    """Merge pairs of neighbours until one is left."""
    while len(cores) > 1:
        for left, right in zip(cores[::2], cores[1::2], strict=False):
            left.merge(right.pack())
            right.close()
        cores = cores[::2]
    return cores[0]


def trace_of(core: Core) -> Trace:
    """What the core writes; the core is closed."""
    with tempfile.TemporaryDirectory() as folder:
        core.write(Path(folder, "a.st"))
        core.close()
        return load(Path(folder, "a.st"))


def place(rank: int, sides: tuple[int, ...]) -> int:
    """In which of the corners, edges, faces ... of a grid a rank is."""
    number = 0
    for side in sides:
        x, rank = rank % side, rank // side
        number = 3 * number + (0 if x == 0 else 2 if x == side - 1 else 1)
    return number


sides = st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple)
PATTERNS: dict[str, Callable[[int, tuple[int, ...]], int]] = {
    "place": place,
    "bit": lambda rank, grid: rank >> len(grid) & 1,
    "row": lambda rank, grid: rank // grid[0] % 3,
}


@settings(deadline=None, max_examples=40)
@given(
    st.integers(1, 48), sides, st.sampled_from(sorted(PATTERNS)), st.randoms(use_true_random=False), st.data()
)
def test_every_rank_has_its_own_calls(nprocs, grid, pattern, random, data) -> None:
    """Whoever takes part in a call, with whatever value, merged in order or in disorder."""
    tags = [PATTERNS[pattern](rank, grid) for rank in range(nprocs)]
    if data.draw(st.booleans(), label="some ranks at random"):
        tags = [random.randrange(3) if random.random() < 0.3 else tag for tag in tags]
    calls = [[0, 10 + tag, *([20] if tag % 2 else []), 30] for tag in tags]
    computed = [1000.0 * 2 ** (rank % 5) for rank in range(nprocs)]
    order = list(range(nprocs))
    if data.draw(st.booleans(), label="in disorder"):
        random.shuffle(order)
    trace = trace_of(united([rank_core(r, nprocs, calls[r], computed[r]) for r in order]))
    assert [[call.values[0] for call in trace.walk(r)] for r in range(nprocs)] == calls
    totals = [computed[r] * len(calls[r]) for r in range(nprocs)]
    mean = sum(totals) / nprocs
    for rank, total in enumerate(totals):
        assert abs(log2(trace.load_factor("compute_ns", rank)) - log2(total / mean)) < log2(1.05)


@pytest.mark.parametrize("grid", [(16, 16), (8, 8, 4)])
def test_a_larger_grid_is_no_larger_message(grid: tuple[int, ...]) -> None:
    """Beyond what each rank adds: two bytes of load."""

    def message(sides: tuple[int, ...]) -> int:
        nprocs = 1
        for side in sides:
            nprocs *= side
        core = united([rank_core(r, nprocs, [0, 10 + place(r, sides), 100]) for r in range(nprocs)])
        size = len(core.pack()) - 2 * nprocs
        core.close()
        return size

    small, large = message(grid), message((2 * grid[0], *grid[1:]))
    assert large < 1.1 * small


def test_a_damaged_message_changes_nothing() -> None:
    """Cut anywhere: an error, and what was there stays as it was."""
    nprocs = 8
    left = united([rank_core(r, nprocs, [0, r // 2, r % 2, 20, 20]) for r in range(4)])
    right = united([rank_core(r, nprocs, [0, r // 2, r % 2, 20, 20]) for r in range(4, 8)])
    packed, before = right.pack(), left.pack()
    right.close()
    for end in range(len(packed)):
        with pytest.raises(FormatError):
            left.merge(packed[:end])
    assert left.pack() == before
    left.merge(packed)
    left.close()
