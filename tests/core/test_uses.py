"""Orders in which threads use windows and persistent requests, against plain lists, merged over ranks."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from scalatrace import load
from scalatrace.core.binding import COMM_WORLD, Core
from scalatrace.trace.model.tables import Kind, SharedKind
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.threads import ObjectName, uses_of_rank

NRANKS = 3

Use = tuple[SharedKind, int, int, bool]
"""Kind, number of the object, thread, and whether it may overlap with others."""

USES = st.lists(
    st.tuples(
        st.sampled_from([SharedKind.REQUEST, SharedKind.WINDOW]),
        st.integers(0, 3),
        st.integers(0, 2),
        st.booleans(),
    ),
    max_size=12,
)


def recorded(folder: Path, uses: list[list[Use]]) -> Trace:
    """Record the uses of each rank, in a core of its own, and merge them."""
    cores = []
    for rank in range(NRANKS):
        core = Core(rank, NRANKS)
        core.set_option("threads", 1)
        core.define_comm(COMM_WORLD, 0, "world", range(NRANKS))
        params = [("comm", Kind.COMM), ("win", Kind.INT)]
        fence, put = core.define_op("Win_fence", params), core.define_op("Put", params, overlaps=True)
        start = core.define_op("Start", [("request", Kind.INT)])
        for kind, number, thread, overlaps in uses[rank]:
            if kind is SharedKind.WINDOW:
                core.append(put if overlaps else fence, [COMM_WORLD, number], size=NRANKS, thread=thread)
            else:
                core.use_request(1, number, thread, overlaps)
                core.append(start, [number], thread=thread)
        core.append(start, [0], thread=0)
        core.append(start, [0], thread=1)
        core.finish()
        cores.append(core)
    for core in cores[1:]:
        cores[0].merge(core.pack())
        core.close()
    cores[0].write(folder / "a.st")
    cores[0].close()
    return load(folder / "a.st")


def expected(uses: list[Use]) -> dict[ObjectName, list[int]]:
    """Return the entries of shared objects: those that may overlap are sorted by thread."""
    result: dict[ObjectName, list[int]] = {}
    for kind, number in {use[:2] for use in uses}:
        own = [(thread, overlaps) for k, i, thread, overlaps in uses if (k, i) == (kind, number)]
        if len({thread for thread, _ in own}) < 2:
            continue
        entries: list[int] = []
        for overlaps, group in groupby(own, key=lambda use: use[1]):
            threads = [thread for thread, _ in group]
            entries += [2 * thread + overlaps for thread in (sorted(threads) if overlaps else threads)]
        name = 1 if kind is SharedKind.REQUEST else 0
        result[kind, name, number] = entries
    return result


@given(uses=st.lists(USES, min_size=NRANKS, max_size=NRANKS))
def test_orders_of_ranks(tmp_path_factory: object, uses: list[list[Use]]) -> None:
    trace = recorded(tmp_path_factory.mktemp("uses"), uses)  # type: ignore[attr-defined]
    for rank in range(NRANKS):
        assert uses_of_rank(trace.uses, rank) == expected(uses[rank])


def test_equal_iterations_take_constant_space(tmp_path: Path) -> None:
    """Each iteration makes and frees a request that two threads use: a vec of one repetition."""
    once = [(SharedKind.REQUEST, 0, 1, False), (SharedKind.REQUEST, 0, 2, False)]
    sizes = []
    for n in (100, 1000):
        uses = [(kind, i, thread, overlaps) for i in range(n) for kind, _, thread, overlaps in once]
        trace = recorded(tmp_path, [uses, uses, uses])
        (order,) = trace.uses.values()
        sizes.append(str(order).count("["))
        assert uses_of_rank(trace.uses, 2) == expected(uses)
    assert sizes[0] == sizes[1]


def test_freed_requests_of_one_thread_are_forgotten() -> None:
    core = Core(0, 1)
    core.set_option("threads", 1)
    core.use_request(0, 0, 0)
    held = core.nbytes
    for number in range(1, 10_000):
        core.use_request(0, number, 0)
        core.end_request(0, number)
    assert core.nbytes <= held + 4096
    core.close()
