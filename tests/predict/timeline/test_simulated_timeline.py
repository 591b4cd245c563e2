"""Time lines of simulated runs: the sums of the simulation, in order, and exported with its times."""

from __future__ import annotations

import csv
import json
from itertools import pairwise
from pathlib import Path

import pytest

from scalatrace import Trace
from scalatrace.cli import main
from scalatrace.errors import LimitError
from scalatrace.predict.engine import call_log, simulate
from scalatrace.predict.platform import read_platform
from scalatrace.predict.timeline import Timeline
from scalatrace.trace.io.writer import save
from support.builder import stencil
from support.lowered import every_kind
from support.reported import ring

CLUSTER = read_platform("cluster")


@pytest.mark.parametrize("trace", [ring(1, 40), ring(5, 40), stencil(), every_kind(4), every_kind(6)])
def test_sums_of_the_simulation(trace: Trace) -> None:
    timeline, result = Timeline(trace, platform=CLUSTER), simulate(trace.without_phases, CLUSTER)
    slack_ns = 2 * max(trace.nevents(rank) for rank in range(trace.nprocs))
    assert timeline.end_ns == pytest.approx(result.time_ns, abs=slack_ns)
    sent: dict[str, int] = {}
    received: dict[str, int] = {}
    for rank in range(trace.nprocs):
        events = list(timeline.events(rank))
        assert [event.call.op for event in events] == [call.op for call in trace.walk(rank)]
        for before, after in pairwise(events):
            assert before.start_ns < before.end_ns < after.start_ns
        inside = sum(event.end_ns - event.start_ns for event in events)
        expected = result.by_rank[rank, 1:].sum() / 1000
        assert inside == pytest.approx(expected, abs=slack_ns)
        for event in events:
            if event.call.op.startswith("Neighbor"):  # simulations take no messages from them
                continue
            for message in event.messages:
                times = sent if message.sent else received
                times[message.name] = event.start_ns if message.sent else event.end_ns
    assert all(received[name] > start for name, start in sent.items() if name in received)


def test_some_ranks_have_the_times_of_the_whole_run() -> None:
    trace = ring(6, 20)
    whole, some = Timeline(trace, platform=CLUSTER), Timeline(trace, [1, 4], platform=CLUSTER)
    for rank in (1, 4):
        pairs = zip(whole.events(rank), some.events(rank), strict=True)
        assert all((a.start_ns, a.end_ns) == (b.start_ns, b.end_ns) for a, b in pairs)
    middle = Timeline(trace, window_ns=(whole.end_ns / 2, whole.end_ns), platform=CLUSTER)
    assert 0 < middle.count() < whole.count()
    assert whole.count() == trace.nevents()


def test_too_many_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_log, "MAX_LOGGED_CALLS", 100)
    with pytest.raises(LimitError, match=r"times of 124 calls need too much memory"):
        Timeline(ring(4), platform=CLUSTER)


def test_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, trace = str(tmp_path / "a.st"), ring(3, 20)
    save(trace, path)
    time_ns = simulate(trace.without_phases, CLUSTER).time_ns
    for form in ("csv", "chrome", "perfetto", "paraver"):
        out = str(tmp_path / f"a.{form}")
        assert main(["export", path, "--to", form, "--platform", "cluster", "-o", out]) == 0
        assert "simulated on cluster" in capsys.readouterr().out
    with open(tmp_path / "a.csv") as file:
        ends = [int(row["end_ns"]) for row in csv.DictReader(file)]
    assert max(ends) == pytest.approx(time_ns, abs=2 * len(ends))
    slices = [e for e in json.loads((tmp_path / "a.chrome").read_text())["traceEvents"] if e["ph"] == "X"]
    assert max(e["ts"] + e["dur"] for e in slices) * 1000 == pytest.approx(max(ends))
    assert main(["export", path, "--to", "extrap", "--platform", "cluster", "-o", str(tmp_path / "x")]) == 2
    assert "--platform is for simulators and events" in capsys.readouterr().err
