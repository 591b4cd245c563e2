"""Exact repetitions: a trace does not grow after the first of them, however their parts were folded."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalatrace.core.binding import COMM_WORLD, Core
from scalatrace.trace.io.reader import load
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.model.trace import Trace
from support.spmd import Rank, record, walked

SITES: dict[str, Callable[[int], str]] = {
    "python": "app.py:{}:step".format,  # their order in the program's text is known
    "native": "app+0x{:x}".format,
}

Block = list[Any]
"""Call sites, and (trips, condition, block)."""


def random_block(rng: random.Random, nsites: int, ncalls: int, depth: int) -> Block:
    """Some statements that make about `ncalls` calls."""
    out: Block = []
    left = ncalls
    while left > 0:
        if depth and rng.random() < 0.3:
            inner = random_block(rng, nsites, max(1, ncalls // 4), depth - 1)
            out.append((rng.randint(1, 5), rng.choice(("all", "all", "even rank", "even iteration")), inner))
            left -= out[-1][0] * calls_of(inner)
        else:
            out.append(rng.randint(1, nsites))
            left -= 1
    return out


def calls_of(block: Block) -> int:
    """Calls of a block where all conditions hold."""
    return sum(1 if isinstance(one, int) else one[0] * calls_of(one[2]) for one in block)


def has_parity(block: Block) -> bool:
    """Whether a condition depends on the parity of the iteration."""
    return any(
        not isinstance(one, int) and (one[1] == "even iteration" or has_parity(one[2])) for one in block
    )


def random_program(seed: int) -> tuple[Block, Block, Block]:
    """The blocks before, in and behind the iterations of a random periodic program."""
    rng = random.Random(seed)
    nsites, ncalls = rng.choice((2, 3, 4, 6, 10, 30)), rng.choice((1, 3, 8, 20, 60, 200, 600))
    sizes = ((rng.randint(0, 5), 1), (ncalls, 2), (3, 1))
    before, block, behind = (random_block(rng, nsites, n, depth) for n, depth in sizes)
    return before, block, behind


def run(rank: Rank, block: Block, iteration: int, site: Callable[[int], str]) -> None:
    for one in block:
        if isinstance(one, int):
            # Peers and counts may change: only the calls must repeat.
            rank.call(
                "Send" if one % 2 else "Recv", site(one), iteration % rank.nprocs, 8 + one * iteration, 0
            )
            continue
        trips, condition, inner = one
        if not (
            (condition == "even rank" and rank.rank % 2) or (condition == "even iteration" and iteration % 2)
        ):
            for _ in range(trips):
                run(rank, inner, iteration, site)


def recorded_nodes(seed: int, iterations: int, kind: str, nprocs: int = 2) -> int:
    """Record a random periodic program, compare with its calls, and return the nodes of its trace."""
    before, block, behind = random_program(seed)

    def program(rank: Rank) -> None:
        run(rank, before, 0, SITES[kind])
        for iteration in range(iterations):
            run(rank, block, iteration, SITES[kind])
        run(rank, behind, 0, SITES[kind])

    with tempfile.TemporaryDirectory() as folder:
        trace, calls = record(program, nprocs, Path(folder))
        for r in range(nprocs):
            assert walked(trace, r) == calls[r]
        return trace.nnodes


@pytest.mark.parametrize("kind", SITES)
@pytest.mark.parametrize("seed", [110, 209])
def test_nodes_do_not_depend_on_the_repetitions(seed: int, kind: str) -> None:
    few = recorded_nodes(seed, 10, kind)
    assert recorded_nodes(seed, 40, kind) <= few


SHORT = [seed for seed in range(100) if calls_of(random_program(seed)[1]) <= 150][:20]
"""Seeds of programs with few calls in an iteration."""


@pytest.mark.parametrize("seed", SHORT)
def test_four_periods_have_the_nodes_of_forty(seed: int) -> None:
    """A block with a condition on the parity of iterations has a period of two."""
    kind = list(SITES)[seed % 2]
    iterations = 2 if has_parity(random_program(seed)[1]) else 1
    assert recorded_nodes(seed, 4 * iterations, kind) == recorded_nodes(seed, 40 * iterations, kind)


@given(st.integers(0, 1 << 30), st.integers(1, 9), st.sampled_from(sorted(SITES)))
@settings(max_examples=15, deadline=None)
def test_a_walk_gives_the_calls_as_they_came(seed: int, iterations: int, kind: str) -> None:
    recorded_nodes(seed, iterations, kind)


@pytest.mark.slow
@pytest.mark.parametrize("kind", SITES)
def test_nodes_of_many_programs(kind: str) -> None:
    """A few have more nodes, since another remainder is left before or behind the repetition."""
    nodes = {seed: (recorded_nodes(seed, 10, kind), recorded_nodes(seed, 40, kind)) for seed in range(250)}
    grown = {seed: (few, many) for seed, (few, many) in nodes.items() if many > few}
    assert len(grown) <= 5, grown
    assert all(many <= few + 10 for few, many in grown.values()), grown


def long_blocks(rng: random.Random, core: Core, iterations: int) -> Iterator[int]:
    """Append blocks of 300 similar calls in a random order, which the search folds anew each time.

    Yields the number of calls so far; the i-th call has the time 1000 i."""
    op = core.define_op("Send", (("count", Kind.INT), ("comm", Kind.COMM)))
    order = rng.choices([core.define_signature([f"app+0x{site:x}"]) for site in range(4)], k=300)
    ncalls = 0
    for iteration in range(iterations):
        for at, site in enumerate(order):
            core.append(op, [at + iteration, COMM_WORLD], site, stats=[1000.0 * ncalls])
            ncalls += 1
            yield ncalls


def trace_of_blocks(folder: Path, iterations: int, limit: int = 0) -> tuple[Trace, int]:
    """The trace of long blocks, and the number of their calls; `limit`: the policy of their counts."""
    with Core(0, 1) as core:
        core.define_comm(COMM_WORLD, 0, "world", [0])
        core.define_stat("compute_ns")
        core.set_policy("count", limit)
        *_, ncalls = long_blocks(random.Random(5), core, iterations)
        core.finish()
        core.write(folder / "a.st")
    return load(folder / "a.st"), ncalls


def test_times_are_kept(tmp_path: Path) -> None:
    """Where calls are unfolded, each keeps a time: count and sum of all times are those of the calls."""
    trace, ncalls = trace_of_blocks(tmp_path, 30)
    assert trace.nnodes < 700
    times = [h for e in trace.leaves() for s in e.stats for h in s.histograms if h is not None]
    assert sum(h.count for h in times) == ncalls
    assert sum(h.count * h.mean for h in times) == pytest.approx(500 * ncalls * (ncalls - 1), rel=1 / 2048)


@pytest.mark.parametrize("limit", [-1, 2])
def test_dropped_and_summarised_parameters(tmp_path: Path, limit: int) -> None:
    """Their values are no longer known, so nodes that have them are not unfolded."""
    trace, ncalls = trace_of_blocks(tmp_path, 6, limit)
    sites = [call.site for call in trace.walk(0)]
    assert len(sites) == ncalls
    assert sites[:300] * 6 == sites


def test_a_checkpoint_has_the_block_that_is_not_complete(tmp_path: Path) -> None:
    """Checkpoints every 130 calls, which no block of 300 calls divides."""
    every = 130
    with Core(0, 1) as core:
        core.define_comm(COMM_WORLD, 0, "world", [0])
        for ncalls in long_blocks(random.Random(5), core, 20):
            if not ncalls % every:
                core.write_part(tmp_path / f"{ncalls}.part")
        core.finish()
        core.write(tmp_path / "a.st")
    values = [call.values[0] for call in load(tmp_path / "a.st").walk(0)]
    assert len(values) == 20 * 300
    for ncalls in range(every, 20 * 300, every):
        with Core.read_part(tmp_path / f"{ncalls}.part") as part:
            part.write(tmp_path / "part.st")
        assert [call.values[0] for call in load(tmp_path / "part.st").walk(0)] == values[:ncalls]
