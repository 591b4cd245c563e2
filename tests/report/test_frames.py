"""Tables as pandas DataFrames against walks, and the description in a notebook."""

from __future__ import annotations

import sys

import pytest

from scalatrace.errors import UsageError
from scalatrace.operations import received_bytes, sent_bytes
from scalatrace.trace.exchange.matrix import pairs
from support.reported import HOSTILE, hostile, million_stencil, recorded, ring

RECORDED = recorded()


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_tables(name: str) -> None:
    pytest.importorskip("pandas")
    trace = RECORDED[name]
    for rank in trace.ranks:
        frame, calls = trace.events_frame(rank), list(trace.walk(rank))
        assert list(frame.op) == [call.op for call in calls]
        assert list(frame.sent) == [sent_bytes(call.op, call) for call in calls]
        assert list(frame.received) == [received_bytes(call.op, call) for call in calls]
    for by in ("op", "site", "rank"):
        assert trace.stats_frame(by).calls.sum() == trace.nevents()
    matrix = trace.matrix_frame("messages")
    found = {(row.sender, row.receiver): row.messages for row in matrix.itertuples()}
    assert found == pairs(trace, "messages")


def test_rows_of_events() -> None:
    pandas = pytest.importorskip("pandas")
    frame = ring(4).events_frame(0, 3)
    assert list(frame.op) == ["Irecv", "Send", "Wait"]
    assert list(frame.peer) == [3, 1, pandas.NA]
    assert list(frame.tag) == [1, 1, pandas.NA]
    assert list(frame.compute_ns) == [1000.0] * 3
    assert list(frame.comm_ns) == [3000.0] * 3
    assert frame.site[1] == "ring.py:4:turn"


def test_mistakes(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="give 'op', 'site', 'memory', 'thread', 'rank'"):
        ring(4).stats_frame("time")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match=r"pip install 'scalatrace\[pandas\]'"):
        ring(4).events_frame(0)


def test_description() -> None:
    text = ring(4)._repr_html_() or ""
    assert "by hand" in text
    assert "ring.py:4:turn" in text
    assert "1,048,576" in (million_stencil()._repr_html_() or "")
    text = hostile()._repr_html_() or ""
    assert "alert(1)" in text
    assert HOSTILE not in text
    assert "<script" not in text
