"""Parameters that are not kept: the same operations in the same order, histograms in place of values."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalatrace
from scalatrace.core.binding import COMM_WORLD, Core
from scalatrace.errors import FormatError
from scalatrace.trace.io.text import text
from scalatrace.trace.io.textparse import parse
from scalatrace.trace.model.elastic import Summary
from scalatrace.trace.model.nodes import Event, Peer
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.verify import verify
from scalatrace.trace.values.vec import UNDEFINED
from tests.support.filled import Fill, new_core, recorded

SEND = (("count", Kind.INT), ("dest", Kind.PEER), ("comm", Kind.COMM))
ALLTOALLV = (("sendcounts", Kind.ARRAY), ("sdispls", Kind.ARRAY), ("comm", Kind.COMM))


def sends(nprocs: int, steps: int, seed: int = 0) -> Fill:
    def fill(core: Core, rank: int) -> None:
        rng = random.Random(seed * 1000 + rank)
        op, site = core.define_op("Send", SEND), core.define_signature(["app.py:1:main"])
        for _ in range(steps):
            values = [rng.randrange(1, 1000), rng.randrange(nprocs), COMM_WORLD]
            core.append(op, values, site, rank, nprocs, [1000.0])

    return fill


def alltoallvs(nprocs: int, steps: int) -> Fill:
    def fill(core: Core, rank: int) -> None:
        rng = random.Random(rank)
        op, site = core.define_op("Alltoallv", ALLTOALLV), core.define_signature(["app.py:2:main"])
        for _ in range(steps):
            counts = [rng.randrange(90, 111) for _ in range(nprocs)]
            displs = [sum(counts[:i]) for i in range(nprocs)]
            values = [core.array(counts), core.array(displs), COMM_WORLD]
            core.append(op, values, site, rank, nprocs, [1000.0])

    return fill


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [({}, {"count": 4}), ({"count": 4}, {}), ({"count": 4}, {"count": 2}), ({}, {"dest": 4})],
)
def test_ranks_with_unlike_limits_have_the_lower_one(
    mine: dict[str, int], theirs: dict[str, int], tmp_path: Path
) -> None:
    cores = []
    for rank, policy in enumerate((mine, theirs, theirs)):
        core = new_core(rank, 3, policy)
        sends(3, 20)(core, rank)
        core.finish()
        cores.append(core)
    whole, *others = cores
    others[0].merge(others[1].pack())
    whole.merge(others[0].pack())
    Core(0, 3).write_packed(whole.pack(), tmp_path / "whole.part")
    with Core.read_part(tmp_path / "whole.part") as read:
        read.write(tmp_path / "a.st")
    trace = scalatrace.load(tmp_path / "a.st")
    assert [sum(1 for _ in trace.walk(rank)) for rank in range(3)] == [20, 20, 20]


def test_arrays_that_one_rank_averages_are_not_merged(tmp_path: Path) -> None:
    plain, averaged = new_core(0, 2, {}), new_core(1, 2, {"sendcounts": 1})
    for rank, core in enumerate((plain, averaged)):
        alltoallvs(2, 5)(core, rank)
        core.finish()
    with pytest.raises(FormatError, match=r"Alltoallv\.sendcounts are averaged in only one of the traces"):
        plain.merge(averaged.pack())
    plain.write(tmp_path / "a.st")  # nothing has changed
    assert sum(1 for _ in scalatrace.load(tmp_path / "a.st").walk(0)) == 5


COUNT = (("count", Kind.INT),)
LEVELS = ((9, 12), (16, 24), (36, 60), (100, 180))
"""Counts of an exchange along the first axis and along the others, from the coarsest level on."""


FUNCTIONS = (
    {
        86: "ready",
        92: "give",
        93: "give",
        98: "take",
        131: "restrict",
        188: "norm",
        244: "main",
        254: "<module>",
    }
    | dict.fromkeys((78, 79, 80), "exchange")
    | {151: "residual", 156: "smooth"}
    | dict.fromkeys((174, 176, 179, 180, 181), "v_cycle")
    | dict.fromkeys((215, 216, 220, 221), "solve")
)


def v_cycles(core: Core, rank: int) -> None:
    """Exchanges of a multigrid solver: three levels down and four up, ten times."""
    ops = {name: core.define_op(name, COUNT) for name in ("Irecv", "Send", "Wait", "Allreduce")}
    calls = {"Irecv": ((86, 86), 78), "Send": ((92, 93), 79), "Wait": ((98, 98), 80)}

    def append(name: str, count: int, *lines: int) -> None:
        site = core.define_signature([f"mg.py:{line}:{FUNCTIONS[line]}" for line in (*lines, 244, 254)])
        core.append(ops[name], [count], site, rank, 2, [1.0])

    def exchange(level: int, *lines: int) -> None:
        for axis in range(3):
            for name, (sides, caller) in calls.items():
                for side, line in enumerate(sides):
                    count = 1 - side if name == "Wait" else LEVELS[level][axis > 0]
                    append(name, count, line, caller, *lines)

    exchange(3, 151, 215)
    append("Allreduce", 1, 188, 216)
    for _ in range(10):
        for level in (2, 1, 0):
            exchange(level, 131, 174, 220)
        exchange(0, 156, 176, 220)
        for level in (1, 2, 3):
            exchange(level, 151, 179, 220)
            exchange(level, 156, 180, 220)
        exchange(3, 151, 181, 220)
        append("Allreduce", 1, 188, 221)


def test_histograms_leave_the_loops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that is found late takes executions whose values are a histogram already."""

    def tolerant(rank: int, nprocs: int, policy: Mapping[str, int]) -> Core:
        core = new_core(rank, nprocs, policy)
        core.set_option("signature_tolerance", 20)
        return core

    monkeypatch.setattr("tests.support.filled.new_core", tolerant)
    full = recorded(v_cycles, 2, tmp_path)
    short = recorded(v_cycles, 2, tmp_path, {"count": 8})
    assert verify(short, tmp_path / "logs").ok
    assert len(list(short.leaves())) == len(list(full.leaves()))
    for op in ("Irecv", "Wait"):
        volume, truth = (sum(c["count"] for c in t.walk(0) if c.op == op) for t in (short, full))
        assert volume == pytest.approx(truth, rel=0.01)


def only(trace: Trace) -> Event:
    (leaf,) = trace.leaves()
    return leaf


@settings(max_examples=25, deadline=None)
@given(nprocs=st.integers(1, 9), steps=st.integers(1, 60), limit=st.integers(1, 10), seed=st.integers(0, 99))
def test_same_operations_and_volume(
    tmp_path_factory: pytest.TempPathFactory, nprocs: int, steps: int, limit: int, seed: int
) -> None:
    folder = tmp_path_factory.mktemp("policy")
    trace = recorded(sends(nprocs, steps, seed), nprocs, folder, {"count": limit, "dest": limit})
    assert verify(trace, folder / "logs").ok
    full = recorded(sends(nprocs, steps, seed), nprocs, folder, {})
    volume, truth = (sum(c["count"] for r in range(nprocs) for c in t.walk(r)) for t in (trace, full))
    assert abs(volume - truth) <= 0.5 * nprocs * steps + 1e-6 * truth  # the mean is rounded
    assert parse(text(trace)) == trace


def test_size_does_not_depend_on_steps(tmp_path: Path) -> None:
    sizes = []
    for steps in (100, 1000):
        recorded(sends(4, steps), 4, tmp_path, {"count": 4, "dest": 4})
        sizes.append((tmp_path / "a.st").stat().st_size)
    assert abs(sizes[1] - sizes[0]) < 30


def test_what_follows_a_rule_is_kept(tmp_path: Path) -> None:
    def fill(core: Core, rank: int) -> None:
        op, site = core.define_op("Send", SEND), core.define_signature(["app.py:1:main"])
        for step in range(50):
            core.append(op, [100 + 8 * step, (rank + 1) % 4, COMM_WORLD], site, rank, 4, [1.0])

    trace = recorded(fill, 4, tmp_path, {"count": 4, "dest": 4})
    assert verify(trace, tmp_path / "logs").summarised == ()
    assert [call["count"] for call in trace.walk(2)] == [100 + 8 * step for step in range(50)]


def test_peers_are_summarised_by_their_distance(tmp_path: Path) -> None:
    peer = only(recorded(sends(8, 100), 8, tmp_path, {"dest": 4})).params[1]
    assert isinstance(peer, Peer)
    assert peer.encoding is Encoding.MODULO
    assert isinstance(peer.value, Summary)
    assert peer.value.histogram is not None
    assert (peer.value.histogram.count, peer.value.histogram.max) == (800, 7)


def test_arrays_are_averaged(tmp_path: Path) -> None:
    trace = recorded(alltoallvs(4, 200), 4, tmp_path, {"sendcounts": 2, "Alltoallv.sdispls": 2})
    assert verify(trace, tmp_path / "logs").summarised == ("Alltoallv.sdispls", "Alltoallv.sendcounts")
    call = next(trace.walk(1))
    assert call["sendcounts"] == (100, 100, 100, 100)
    assert call["sdispls"] == (0, 100, 200, 300)
    assert len(trace.arrays) < 10  # and not one for each of 800 calls


def test_dropped(tmp_path: Path) -> None:
    trace = recorded(sends(3, 20), 3, tmp_path, {"count": -1, "Send.dest": -1})
    call = next(trace.walk(1))
    assert (call["count"], call.raw("dest")) == (UNDEFINED, UNDEFINED)
    assert verify(trace, tmp_path / "logs").summarised == ("Send.count", "Send.dest")
    assert parse(text(trace)) == trace


def test_parts_keep_the_policy(tmp_path: Path) -> None:
    core = Core(0, 1)
    core.set_policy("count", 3)
    core.define_comm(COMM_WORLD, 0, "world", range(1))
    sends(1, 50)(core, 0)
    core.write_part(tmp_path / "p.part")
    again = Core.read_part(tmp_path / "p.part")
    again.write(tmp_path / "a.st")
    assert isinstance(only(scalatrace.load(tmp_path / "a.st")).params[0], Summary)


@pytest.mark.parametrize("tolerance", [0, 3])
@pytest.mark.parametrize("parts", [False, True])
def test_call_sites_close_to_each_other(tmp_path: Path, tolerance: int, parts: bool) -> None:
    """Three lines apart on one rank, and again between ranks: one event, when so asked (§5.2.3)."""
    cores = []
    for rank in range(2):
        core = Core(rank, 2)
        core.set_option("signature_tolerance", tolerance)
        if tolerance:
            core.set_meta("signature_tolerance", str(tolerance))
        core.define_stat("compute_ns")
        op = core.define_op("Barrier", (("comm", Kind.COMM),))
        for step in range(20):
            site = core.define_signature([f"app.py:{10 + rank + 2 * (step % 2)}:main"])
            core.append(op, [COMM_WORLD], site, rank, 2, [1.0])
        core.finish()
        cores.append(core)
    if parts:
        for rank, core in enumerate(cores):
            core.write_part(tmp_path / f"{rank}.part")
        cores = [Core.read_part(tmp_path / f"{rank}.part") for rank in range(2)]
    cores[0].merge(cores[1].pack())
    cores[0].write(tmp_path / "a.st")
    leaves = list(scalatrace.load(tmp_path / "a.st").leaves())
    assert len(leaves) == (1 if tolerance else 4)
    if tolerance:
        assert len(leaves[0].stats) == 2  # after the start, after itself: re-keyed with the signature


def test_call_sites_in_a_range(tmp_path: Path) -> None:
    core = Core(0, 1)
    core.add_site_range("lib/app.py", 10, 20)
    names = {
        core.define_signature([f"/x/lib/app.py:{line}:f{line}", "app.py:1:main"]) for line in range(10, 21)
    }
    assert len(names) == 1
    assert core.define_signature(["/x/lib/app.py:21:f21", "app.py:1:main"]) not in names


def test_values_within_the_limit_do_not_change_the_loops(tmp_path: Path) -> None:
    """Exact repetitions are found by folding calls anew, which needs all values, not values without limit."""

    def fill(core: Core, rank: int) -> None:
        op = core.define_op("Send", SEND)
        sites = [core.define_signature([f"app.py:{line}:main"]) for line in range(1, 5)]
        for site in [0, 1, 2, 0, 3, 3, 1, 0, 3, 0, 1, 0] * 10:
            core.append(op, [80, (rank + 1) % 2, COMM_WORLD], sites[site], rank, 2, [1.0])

    nnodes = [recorded(fill, 2, tmp_path, policy).nnodes for policy in ({}, {"count": 8, "dest": 8})]
    assert nnodes[0] == nnodes[1]
