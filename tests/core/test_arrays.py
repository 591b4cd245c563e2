"""Arrays relative to the rank's place: what a program gave is what a walk gives, in fewer arrays."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalatrace.core.binding import COMM_WORLD, Core, family
from scalatrace.trace.io.reader import load
from scalatrace.trace.io.text import text
from scalatrace.trace.io.textparse import parse
from scalatrace.trace.io.writer import save
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.absolute import absolute
from scalatrace.trace.query.diff import diff
from scalatrace.trace.query.verify import verify
from tests.support.filled import Fill, recorded

PARAMS = (("sendcounts", Kind.ARRAY), ("sdispls", Kind.ARRAY), ("comm", Kind.COMM))


def exchange(nprocs: int, distances: dict[int, int], wrap: bool = True, rows: int = 1) -> Fill:
    """Alltoallv with so many elements for the rank at each distance, among every `rows`-th rank."""

    def fill(core: Core, rank: int) -> None:
        own, size, name = rank // rows, len(range(rank % rows, nprocs, rows)), COMM_WORLD
        if rows > 1:
            name = family(COMM_WORLD, 0)
            core.define_comm(name, COMM_WORLD, "split", range(rank % rows, nprocs, rows))
        op, site = core.define_op("Alltoallv", PARAMS), core.define_signature(["app.py:2:main"])
        counts = [0] * size
        for distance, count in distances.items():
            peer = own + distance
            if wrap or 0 <= peer < size:
                counts[peer % size] = count
        displs = [0, *accumulate(counts[:-1])]
        for _ in range(3):
            core.append(op, [core.array(counts), core.array(displs), name], site, own, size, [1000.0])

    return fill


def arrays_written(trace: Trace) -> list[bool]:
    return [array.relative for array in trace.arrays]


@pytest.mark.parametrize("rows", [1, 2])
def test_one_array_for_all_ranks(tmp_path: Path, rows: int) -> None:
    trace = recorded(exchange(16, {-1: 8, 1: 8}, rows=rows), 16, tmp_path)
    assert verify(trace, tmp_path / "logs").ok
    assert arrays_written(trace) == [True, True]  # the counts, and their sums


def test_size_does_not_depend_on_ranks(tmp_path: Path) -> None:
    sizes = []
    for nprocs in (8, 64):
        recorded(exchange(nprocs, {-1: 8, 1: 8, 2: 5}), nprocs, tmp_path)
        sizes.append((tmp_path / "a.st").stat().st_size)
    assert sizes[1] - sizes[0] < 20


def test_ends_of_a_line_have_their_own(tmp_path: Path) -> None:
    trace = recorded(exchange(16, {-1: 8, 1: 8}, wrap=False), 16, tmp_path)
    assert verify(trace, tmp_path / "logs").ok
    assert arrays_written(trace) == [True] * 6


def test_equal_arrays_stay_as_they_are(tmp_path: Path) -> None:
    def fill(core: Core, rank: int) -> None:
        op, site = core.define_op("Alltoallv", PARAMS), core.define_signature(["app.py:2:main"])
        core.append(
            op, [core.array([1, 2, 3, 4]), core.array([0, 1, 3, 6]), COMM_WORLD], site, rank, 4, [1.0]
        )

    trace = recorded(fill, 4, tmp_path)
    assert arrays_written(trace) == [False, False]


@settings(max_examples=40, deadline=None)
@given(
    distances=st.dictionaries(st.integers(-3, 3), st.integers(1, 9), max_size=3),
    nprocs=st.integers(1, 12),
    rows=st.integers(1, 3),
    wrap=st.booleans(),
)
def test_exact(
    tmp_path_factory: pytest.TempPathFactory, distances: dict[int, int], nprocs: int, rows: int, wrap: bool
) -> None:
    folder = tmp_path_factory.mktemp("arrays")
    trace = recorded(exchange(nprocs, distances, wrap, rows), nprocs, folder)
    assert verify(trace, folder / "logs").ok
    assert parse(text(trace)) == trace
    save(trace, folder / "b.st")
    assert load(folder / "b.st") == trace
    plain = absolute(trace)
    assert not any(arrays_written(plain))
    assert not diff(trace, plain)


def test_arrays_that_change(tmp_path: Path) -> None:
    """Every execution has other counts; those of one step are the same seen from each rank."""

    def fill(core: Core, rank: int) -> None:
        op, site = core.define_op("Alltoallv", PARAMS), core.define_signature(["app.py:2:main"])
        for step in range(4):
            counts = [0] * 8
            counts[(rank + step) % 8] = 1 + step
            displs = [0, *accumulate(counts[:-1])]
            core.append(op, [core.array(counts), core.array(displs), COMM_WORLD], site, rank, 8, [1.0])

    trace = recorded(fill, 8, tmp_path)
    assert verify(trace, tmp_path / "logs").ok
    assert arrays_written(trace) == [True] * 8
    assert not diff(trace, absolute(trace))
