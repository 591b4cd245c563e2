"""Layouts of the ranks: rings, stars and trees by most of their messages; the rest is a grid."""

from __future__ import annotations

from typing import Any

import pytest

from scalatrace import Trace
from scalatrace.report.page.gather import gather
from scalatrace.report.page.grid import find_grid
from scalatrace.report.page.layout import RankLayout, layout_of
from scalatrace.trace.exchange.messages import messages_of
from scalatrace.trace.exchange.rank_sets import Budget
from scalatrace.trace.model.elastic import Groups
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec
from support.builder import DOUBLE, Builder, Comm, To
from support.reported import million_stencil, ring, star

DATA: dict[str, Any] = {"count": 2, "datatype": DOUBLE, "tag": 1, "comm": Comm()}


def layout(trace: Trace) -> RankLayout:
    messages = messages_of(trace, Budget())
    return layout_of(messages, find_grid(trace, messages)[0])


def test_shapes() -> None:
    assert layout(ring(6)) == RankLayout("ring")
    assert layout(star()) == RankLayout("star", 0)
    assert layout(million_stencil(4)).kind == "grid"
    b = Builder(7)
    up = [
        b.event("Send", Groups([(RankList([child]), Vec(1))]), dest=(child - 1) // 2, **DATA)
        for child in range(1, 7)
    ]
    assert layout(b.of(*up)) == RankLayout("tree", -1, (0, 0, 0, 1, 1, 2, 2))


@pytest.mark.parametrize("nprocs", [4, 8])
def test_a_few_other_messages_do_not_change_a_ring(nprocs: int) -> None:
    """Those of a sum over all ranks have distances that fit a grid of two columns."""
    b = Builder(nprocs)
    along = b.loop(100, b.event("Send", dest=To(Encoding.MODULO, Vec(1)), **DATA))
    across = b.event("Send", dest=To(Encoding.MODULO, Vec(nprocs // 2)), **DATA)
    trace = b.of(along, across)
    assert layout(trace) == RankLayout("ring")
    assert find_grid(trace, messages_of(trace, Budget()))[0].dims == (nprocs,)


def test_a_torus_of_four_by_four_is_no_box() -> None:
    """Rows of four are rings, which are 2 x 2 ranks as well; sums over all ranks have such distances, too."""
    b = Builder(16)
    steps = [b.event("Send", dest=To(Encoding.MODULO, Vec(step)), **DATA) for step in (1, -1, 4, -4)]
    few = [b.event("Send", dest=To(Encoding.MODULO, Vec(step)), **DATA) for step in (2, 8)]
    trace = b.of(b.loop(25, *steps), *few)
    assert find_grid(trace, messages_of(trace, Budget()))[0].dims == (4, 4)


def test_the_page_says_how_ranks_are_placed() -> None:
    assert gather(star(), "a.st").grid.source == "most messages are from or to rank 0"
    assert gather(ring(6), "a.st").grid.source == "most messages go around a ring"


@pytest.mark.parametrize(("edge", "dims"), [(20, (2, 2, 2)), (400, (8,))])
def test_boxes_are_found_by_their_bytes(edge: int, dims: tuple[int, ...]) -> None:
    """On eight ranks each exchanges with all others: a box, if edges and corners have few bytes."""
    b = Builder(8)
    given: dict[str, Any] = {"sendtag": 0, "recvtag": 0, "datatype": DOUBLE, "comm": Comm()}
    calls = []
    for mask in range(1, 8):
        partner = To(Encoding.XOR, Vec(mask))
        count = 400 if mask in (1, 2, 4) else edge
        calls.append(b.event("Sendrecv_replace", count=count, dest=partner, source=partner, **given))
    trace = b.of(b.loop(5, *calls))
    assert find_grid(trace, messages_of(trace, Budget()))[0].dims == dims
