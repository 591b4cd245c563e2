"""Computation between the last and the first call of a function: in it, or in its caller, by the source."""

from __future__ import annotations

from pathlib import Path

import pytest

from scalatrace.report.costs.computation import PlacedComputation, computation_place
from scalatrace.report.page.gather import PageOptions, gather
from support.builder import Builder, Comm
from support.reported import timed

REPEATS = """def step():
    for _ in range(5):
        barrier()


def main():
    step()


main()
"""
CALLED = """def step():
    barrier()


def main():
    for _ in range(5):
        work()
        step()


main()
"""
BOTH = """def step():
    for _ in range(5):
        barrier()


def main():
    for _ in range(5):
        work()
        step()


main()
"""


def place(path: Path, lines: tuple[int, int, int], source: bool = True) -> str:
    """Return where a program with five barriers computes; `lines`: of the barrier, its call, and main's."""
    stack = tuple(
        f"{path}:{line}:{name}" for line, name in zip(lines, ("step", "main", "<module>"), strict=True)
    )
    b = Builder(2)
    trace = timed(b.of(b.loop(5, b.event("Barrier", at=stack, comm=Comm()))))
    (row,) = gather(trace, "a.st", options=PageOptions(source=source)).computing
    return row.place


@pytest.mark.parametrize(
    ("text", "lines", "where"),
    [
        (REPEATS, (3, 7, 10), "in step() from"),
        (CALLED, (2, 8, 11), "in main() between two calls of step(), from"),
        (BOTH, (3, 9, 12), "in step() or its caller main(), from"),
    ],
    ids=["repeats", "called", "both"],
)
def test_the_source_decides(tmp_path: Path, text: str, lines: tuple[int, int, int], where: str) -> None:
    path = tmp_path / "a.py"
    path.write_text(text)
    assert place(path, lines).startswith(where)
    unknown = "in step() or its caller main(), from"
    assert place(path, lines, source=False).startswith(unknown)
    path.write_text("def step(:")
    assert place(path, lines).startswith(unknown)
    assert place(tmp_path / "none.py", lines).startswith(unknown)


def test_short_ways_to_a_next_call_are_not_counted() -> None:
    calls = [(op, (f"a.py:{line}:main",)) for op, line in (("Bcast", 5), ("Send", 3), ("Bcast", 5))]
    long, short = (calls[0], calls[1]), (calls[0], calls[2])
    row = PlacedComputation(("a.py", "main"), {long: 5e6, short: 5e3}, {long: 5, short: 30})
    assert (row.count, row.longest) == (5, long)
    assert PlacedComputation(row.where, {long: 5e6, short: 15e6}, row.counts).count == 35


def test_comprehensions_belong_to_their_function() -> None:
    first, last = (
        (op, (f"a.py:{line}:<listcomp>", f"a.py:{line}:exchange", "a.py:20:main"))
        for op, line in (("Irecv", 5), ("Isend", 7))
    )
    assert computation_place(first, last) == "in exchange() between a.py:5 (Irecv) and line 7 (Isend)"
