"""Counts without a rule become means: as many messages, and about as many bytes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import scalatrace
from scalatrace import Trace, extrap
from scalatrace.cli import main
from scalatrace.extrap.lossy.means import _over_ranks
from scalatrace.trace.anonymize.names import AnonymousNames
from scalatrace.trace.anonymize.traces import anonymous_trace
from scalatrace.trace.consistency.partners import first_unmatched
from scalatrace.trace.query.traffic import traffic
from scalatrace.trace.values.vec import PROC_NULL
from support.calls import IssuedCall, call, record

DOUBLE = "MPI_DOUBLE"
SIZES = (4, 6, 8)
KEYS = 4800
"""Keys of all ranks: each rank sends about KEYS / P**2 of them to each other one."""


def sort(nprocs: int, steps: int = 2) -> Trace:
    """Ranks exchange as many keys as data has, sum, and send data of other lengths to the next rank."""
    numbers = random.Random(nprocs)
    mean = KEYS // nprocs**2
    ranks: list[list[IssuedCall]] = [[] for _ in range(nprocs)]
    for _ in range(steps):
        sent = [[mean + numbers.randint(-9, 9) for _ in range(nprocs)] for _ in range(nprocs)]
        lengths = [50 + numbers.randint(0, 20) for _ in range(nprocs)]
        for rank, calls in enumerate(ranks):
            received = [row[rank] for row in sent]
            out = {"sendcounts": tuple(sent[rank]), "sdispls": offsets(sent[rank]), "sendtype": DOUBLE}
            into = {"recvcounts": tuple(received), "rdispls": offsets(received), "recvtype": DOUBLE}
            calls.append(call("Alltoallv", 10, **out, **into, comm="world"))
            calls.append(call("Barrier", 11, comm="world"))
            right, left = (rank + 1) % nprocs, (rank - 1) % nprocs
            calls.append(
                call("Send", 12, count=lengths[rank], datatype=DOUBLE, dest=right, tag=0, comm="world")
            )
            calls.append(
                call("Recv", 13, count=lengths[left], datatype=DOUBLE, source=left, tag=0, comm="world")
            )
    return record(ranks)


def offsets(counts: list[int]) -> tuple[int, ...]:
    return tuple(sum(counts[:i]) for i in range(len(counts)))


def sent_bytes(trace: Trace, op: str) -> int:
    return sum(sent for event, _, sent, _ in traffic(trace) if trace.ops[event.op].name == op)


def test_all_calls_stay() -> None:
    found = extrap.extrapolate_lossy([sort(n) for n in SIZES], 12, dims_of=[(n,) for n in SIZES])
    real = sort(12)
    assert [[made.op for made in found.trace.walk(rank)] for rank in range(12)] == [
        [made.op for made in real.walk(rank)] for rank in range(12)
    ]
    assert first_unmatched(found.trace) is None
    for op in ("Alltoallv", "Send"):
        assert sent_bytes(found.trace, op) == pytest.approx(sent_bytes(real, op), rel=0.15)
    for made in found.trace.walk(3):
        if made.op == "Alltoallv":
            assert made["sdispls"] == offsets(list(made["sendcounts"]))
            assert made["sendcounts"] == made["recvcounts"]
    assert [(one.dropped, one.averaged) for one in found.losses] == [(0, 2 * 3 * n) for n in SIZES]


def test_the_command_names_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(tmp_path / f"{n}.st") for n in SIZES]
    for path, n in zip(paths, SIZES, strict=True):
        scalatrace.save(sort(n), path)
    out = str(tmp_path / "out.st")
    assert main(["extrapolate", *paths, "--dims-of", "4,6,8", "-P", "12", "--lossy", "-o", out]) == 0
    assert "4 ranks (4): 0 of 32 events dropped (0.00%), counts of 24 are means" in capsys.readouterr().out
    trace = scalatrace.load(out)
    assert trace.meta["lossy"] == "counts of up to 75 % of the events are means"
    assert anonymous_trace(trace, AnonymousNames()).meta["lossy"] == trace.meta["lossy"]


@pytest.mark.parametrize(
    ("means", "counts"),
    [
        ((10.4, 9.7, 10.1), [10, 10, 10]),
        ((600.0, 401.0, 299.0), [602, 401, 301]),
        ((300.0, 133.0, 75.2), [300, 133, 75]),
    ],
)
def test_means_over_the_ranks(means: tuple[float, ...], counts: list[int]) -> None:
    """The largest trace counts most; numbers over the ranks are whole."""
    found = _over_ranks(means, SIZES)
    assert found == pytest.approx(counts, rel=0.05)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 1 << 30), st.integers(1, 3), st.sampled_from([3, 40, 1000]))
def test_results_match_whatever_the_data(seed: int, steps: int, most: int) -> None:
    """Both halves of a Sendrecv and all members of a collective have data of any lengths."""

    def program(nprocs: int) -> Trace:
        numbers = random.Random(seed * 100 + nprocs)
        ranks: list[list[IssuedCall]] = [[] for _ in range(nprocs)]
        for _ in range(steps):
            lengths = [numbers.randint(0, most) for _ in range(nprocs)]
            parts = tuple(numbers.randint(0, most) for _ in range(nprocs))
            for rank, calls in enumerate(ranks):
                right, left = (rank + 1) % nprocs, (rank - 1) % nprocs
                out = {"sendcount": lengths[rank], "sendtype": DOUBLE, "dest": right, "sendtag": 3}
                into = {"recvcount": lengths[left], "recvtype": DOUBLE, "source": left, "recvtag": 3}
                calls.append(call("Sendrecv", 20, **out, **into, comm="world"))
                calls.append(call("Bcast", 21, count=parts[0], datatype=DOUBLE, root=0, comm="world"))
                given = {"sendcount": parts[rank], "sendtype": DOUBLE}
                taken = {"recvcounts": parts, "displs": offsets(list(parts)), "recvtype": DOUBLE}
                calls.append(call("Allgatherv", 22, **given, **taken, comm="world"))
        return record(ranks)

    found = extrap.extrapolate_lossy([program(n) for n in SIZES], 10, dims_of=[(n,) for n in SIZES])
    assert [one.dropped for one in found.losses] == [0, 0, 0]
    assert first_unmatched(found.trace) is None
    for rank in range(10):
        for made in found.trace.walk(rank):
            if made.op == "Sendrecv":
                assert made["sendcount"] == made["recvcount"]
            if made.op == "Allgatherv":
                assert made["recvcounts"] == (made["sendcount"],) * 10


def both_ways(nprocs: int) -> Trace:
    """A chain with Sendrecv_replace, in which the ends have one neighbour; persistent sends; a Gatherv."""
    numbers = random.Random(nprocs)
    ranks: list[list[IssuedCall]] = []
    parts = [numbers.randint(10, 30) for _ in range(nprocs)]
    for rank in range(nprocs):
        right, left = (rank + 1 if rank + 1 < nprocs else PROC_NULL), (rank - 1 if rank else PROC_NULL)
        pair = {"dest": right, "sendtag": 1, "source": left, "recvtag": 1, "comm": "world"}
        calls = [call("Sendrecv_replace", 30, count=100 + nprocs, datatype=DOUBLE, **pair)]
        sends = {"count": parts[rank], "datatype": DOUBLE, "dest": (rank + 1) % nprocs, "tag": 2}
        receives = {"count": parts[rank - 1], "datatype": DOUBLE, "source": (rank - 1) % nprocs, "tag": 2}
        calls += [
            call("Send_init", 31, **sends, comm="world"),
            call("Recv_init", 32, **receives, comm="world"),
        ]
        calls += [call("Startall", 33, requests=(1, 0)), call("Waitall", 34, requests=(1, 0))]
        lists = {"recvcounts": tuple(parts), "displs": offsets(parts)} if not rank else {}
        lists = lists or {"recvcounts": (), "displs": ()}
        given = {"sendcount": parts[rank], "sendtype": DOUBLE, **lists, "recvtype": DOUBLE, "root": 0}
        calls.append(call("Gatherv", 35, **given, comm="world"))
        ranks.append(calls)
    return record(ranks)


def test_persistent_messages_and_roots() -> None:
    """Arrays of ranks that are no root stay empty."""
    found = extrap.extrapolate_lossy([both_ways(n) for n in SIZES], 12, dims_of=[(n,) for n in SIZES])
    assert [one.dropped for one in found.losses] == [0, 0, 0]
    assert first_unmatched(found.trace) is None
    for rank in range(12):
        gathered = next(made for made in found.trace.walk(rank) if made.op == "Gatherv")
        count = gathered["sendcount"]
        assert gathered["recvcounts"] == (() if rank else (count,) * 12)
        assert gathered["displs"] == (() if rank else tuple(count * i for i in range(12)))


def test_sparse_counts_have_no_mean() -> None:
    """Nearly all counts are 0: a mean would lose all data, or send it to everybody."""

    def program(nprocs: int) -> Trace:
        numbers = random.Random(nprocs)
        to = numbers.sample(range(nprocs), nprocs)
        sent = [[int(to[rank] == peer) for peer in range(nprocs)] for rank in range(nprocs)]
        ranks = []
        for rank in range(nprocs):
            received = [row[rank] for row in sent]
            out = {"sendcounts": tuple(sent[rank]), "sdispls": offsets(sent[rank]), "sendtype": DOUBLE}
            into = {"recvcounts": tuple(received), "rdispls": offsets(received), "recvtype": DOUBLE}
            ranks.append(
                [call("Alltoallv", 10, **out, **into, comm="world"), call("Barrier", 11, comm="world")]
            )
        return record(ranks)

    dims = [(n,) for n in SIZES]
    found = extrap.extrapolate_lossy([program(n) for n in SIZES], 12, dims_of=dims, max_dropped=1.0)
    assert {made.op for made in found.trace.walk(3)} == {"Barrier"}
