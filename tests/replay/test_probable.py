"""Replay from histograms: what is drawn, that it adds up, that nothing hangs and nothing is lost."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalatrace.replay import ComputeMode, ReplayOptions, UnsupportedError, check, run
from scalatrace.replay.common.whatif import WhatIf
from scalatrace.replay.probabilistic.largest import is_buffered, largest_sent
from scalatrace.replay.probabilistic.sampled_calls import ParameterSampler, is_probabilistic
from scalatrace.replay.probabilistic.shared_random import COUNT, PEER, SharedRandom, Weighted
from scalatrace.replay.transport.inbox import Inbox
from scalatrace.trace.model.elastic import Summary
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.factors import FactorRule
from scalatrace.trace.values.histogram import Bin, Histogram
from scalatrace.trace.values.vec import PROC_NULL, Vec
from support.builder import DOUBLE, Builder, Comm, To
from support.memory_transport import MemoryTransport
from support.mpis import Mpi
from support.running import mpirun, record
from support.workloads import WORKLOADS

#: Everybody sends large messages to a changing neighbour before receiving one: blocking sends in a circle.
CIRCLE = """\
import sys
from mpi4py import MPI
import numpy as np
world = MPI.COMM_WORLD
halves = world.Split(world.rank % 2, world.rank)
alone = world.Split(world.rank)
for n in (5, 50):
    own = alone.Isend(bytearray(n), 0, n)
    alone.Recv(bytearray(60), 0, n)
    own.Wait()
    alone.Alltoall(np.zeros(n), np.zeros(n))
for comm in (world, halves, world.Dup()):
    there, back = np.zeros(1 << 17), np.zeros(1 << 17)
    requests = [comm.Send_init([there, 10, MPI.DOUBLE], MPI.PROC_NULL if comm.rank else 0, 9),
                comm.Recv_init([back, 10, MPI.DOUBLE], MPI.PROC_NULL if comm.rank else 0, 9),
                comm.Send_init([there, 1000, MPI.DOUBLE], (comm.rank + 1) % comm.size, 4),
                comm.Recv_init([back, 1000, MPI.DOUBLE], (comm.rank - 1) % comm.size, 4)]
    for step in range(6):
        to, source = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
        n = 1000 * (1 + step) + 17 * comm.rank
        request = comm.Irecv(back, source, 3)
        comm.Send([there, n, MPI.DOUBLE], to, 3)
        request.Wait()
        comm.Sendrecv([there, n, MPI.DOUBLE], to, 5, back, source, 5)
        MPI.Prequest.Startall(requests)
        MPI.Request.Waitall(requests)
        comm.Bcast([there, 100 + step, MPI.DOUBLE], step % comm.size)
        comm.Allreduce(there[:step + 1], back[:step + 1])
        message = comm.Isend([there, n, MPI.DOUBLE], to, 7)
        comm.Mprobe(source, 7).Recv(back)
        message.Wait()
    for request in requests:
        request.Free()
    if comm is not world:
        comm.Free()
for step in range(5):
    comm = world.Dup()
    comm.Sendrecv(bytearray(10 * step + comm.rank), (comm.rank + step) % comm.size, 1, bytearray(100),
                  (comm.rank - step) % comm.size, 1)
    n = 3
    everybody = np.zeros(n * comm.size)
    comm.Allgather(MPI.IN_PLACE, [everybody, n, MPI.DOUBLE])
    side = MPI.IN_PLACE if comm.rank == 0 else [everybody, n, MPI.DOUBLE]
    comm.Gather(side, [everybody, n, MPI.DOUBLE] if comm.rank == 0 else None)
    comm.Free()
"""


def summary(*bins: Bin) -> Summary:
    n = sum(b.count for b in bins)
    mean = sum(b.count * b.mean for b in bins) / n
    kept = bins if len(bins) > 1 else ()
    histogram = Histogram(n, min(b.min for b in bins), max(b.max for b in bins), mean, 0, kept)
    return Summary(histogram, round(mean))


def one(value: int, n: int) -> Bin:
    return Bin(n, value, value, value)


def sends(nprocs: int = 4, times: int = 25) -> Trace:
    """Each rank sends 25 times: half to the next, a quarter two further, a quarter to nobody."""
    b = Builder(nprocs)
    total = nprocs * times
    dest = summary(one(PROC_NULL - 340_000, total // 4), one(1, total // 2), one(2, total // 4))
    count = summary(one(10, total // 2), Bin(total // 2, 100, 200, 150))
    send = b.event("Send", count=count, datatype=DOUBLE, dest=To(Encoding.MODULO, dest), tag=0, comm=Comm())
    return b.of(b.loop(times, send))


@given(st.integers(1, 5000), st.integers(0, 99), st.sampled_from([PEER, COUNT]))
def test_each_stratum_comes_up_once(n: int, seed: int, kind: int) -> None:
    draws = SharedRandom(seed)
    assert sorted(int(draws.at(kind, "x", i, n) * n + 1e-6) for i in range(n)) == list(range(n))


PARTS = st.tuples(st.integers(1, 50), st.integers(0, 1000), st.integers(0, 9))


@given(st.lists(PARTS, min_size=1, max_size=5))
def test_what_is_drawn_adds_up(parts: list[tuple[int, int, int]]) -> None:
    bins = [Bin(n, low, low + width, low + width / 2) for n, low, width in parts]
    weighted, draws = Weighted.of(bins), SharedRandom(1)
    n = sum(b.count for b in bins)
    total = sum(weighted.draw(draws.at(COUNT, 0, i, n)) for i in range(n))
    assert total == pytest.approx(sum(b.count * b.mean for b in bins), abs=len(bins))


def test_peers_and_counts_of_all_ranks_are_those_of_the_histograms() -> None:
    trace = sends()
    peers: Counter[int] = Counter()
    elements = 0
    for rank in range(4):
        sampler = ParameterSampler(trace, rank, seed=3)
        for call in map(sampler.call, trace.walk(rank)):
            dest = call["dest"]
            peers[dest if dest < 0 else (dest - rank) % 4] += 1
            elements += call["count"]
    assert peers == {PROC_NULL: 25, 1: 50, 2: 25}
    assert elements == pytest.approx(50 * 10 + 50 * 150, abs=4)


def test_the_seed_decides() -> None:
    trace = sends()

    def drawn(seed: int) -> list[Any]:
        sampler = ParameterSampler(trace, 1, seed)
        return [(call["dest"], call["count"]) for call in map(sampler.call, trace.walk(1))]

    assert drawn(1) == drawn(1) != drawn(2)


def test_blocking_sends_do_not_block() -> None:
    transport = MemoryTransport(1, 4, incoming=[80] * 3)
    result = run(sends(), transport, ReplayOptions(ComputeMode.NONE))
    assert {op for op, _ in transport.calls} == {"Isend"}
    assert result.calls == {"Send": 25}
    assert result.received == 3
    assert result.left == 0


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ({"root": summary(one(0, 1), one(1, 1))}, "from a histogram of its root"),
        ({"count": Summary(None, -1)}, "the count of MPI_Bcast was dropped"),
    ],
)
def test_what_cannot_be_drawn_is_said_before_the_first_call(event: dict[str, Any], said: str) -> None:
    b = Builder(2)
    trace = b.of(b.event("Bcast", **{"count": 1, "datatype": DOUBLE, "root": 0, "comm": Comm()} | event))
    assert is_probabilistic(trace)
    with pytest.raises(UnsupportedError, match=said):
        check(trace, 2)


def test_an_inbox_takes_all_that_was_sent_before_it_closes() -> None:
    class Transport(MemoryTransport):
        def exchange_counts(self, comm: Any, counts: list[int], poll: Any) -> int:
            assert counts == [0, 2]
            poll()
            self.incoming.append(16)
            return 3

    transport = Transport(incoming=[8, 8])
    inbox = Inbox(transport, 100)
    inbox.open(0, transport.handle("comm"), 2)
    inbox.sent(0, 1, 7)
    inbox.sent(0, 1, 7)
    inbox.close_all()
    assert (inbox.messages, inbox.nbytes) == (3, 32)
    inbox.close(0)  # a second time there is nothing to do


def test_a_histogram_of_one_bin_is_no_bound_for_its_mean() -> None:
    b = Builder(1)
    narrow = Histogram(100, 100100, 100110, 100105, 1).rounded()
    send = b.event(
        "Send",
        count=Summary(narrow, 100105),
        datatype=DOUBLE,
        dest=To(Encoding.MODULO, Vec(0)),
        tag=0,
        comm=Comm(),
    )
    trace = b.of(b.loop(100, send))
    drawn = {call["count"] for call in map(ParameterSampler(trace, 0, seed=1).call, trace.walk(0))}
    assert largest_sent(trace, 0, WhatIf()) >= 8 * max(drawn)


def test_the_largest_message_that_may_be_drawn() -> None:
    trace = sends()
    assert largest_sent(trace, 1, WhatIf()) == 200 * 8
    assert largest_sent(trace, 1, WhatIf((FactorRule(nbytes=2.5),))) == 3 * 200 * 8
    assert largest_sent(trace, 1, WhatIf(), is_buffered) == 0
    b = Builder(2)
    kept = b.event(
        "Ibsend", count=Vec((3, 9, 4)), datatype=DOUBLE, dest=To(Encoding.MODULO, Vec(1)), tag=0, comm=Comm()
    )
    assert largest_sent(b.of(b.loop(3, kept)), 0, WhatIf(), is_buffered) == 9 * 8


def replayed(
    mpi: Mpi, nprocs: int, trace: Path, seed: int, tmp_path: Path, compute: str = "none"
) -> dict[str, Any]:
    options = ["--compute", compute, "--verify", "--json", "--seed", seed]
    command = [*mpi.scalatrace(), "replay", trace, *options]
    done = mpirun(mpi, nprocs, command, cwd=tmp_path, timeout=60)
    facts: dict[str, Any] = json.loads(done.check().stdout)
    return facts


BOXES = """\
from mpi4py import MPI
from scalatrace.replay.transport.mailboxes import Mailboxes
world, other = MPI.COMM_WORLD, MPI.COMM_WORLD.Dup()
boxes = Mailboxes(100)
assert boxes.take() is None
boxes.open(7, world)
boxes.open(8, other)
assert boxes.wait(MPI.Request()) is None  # null
partner = 1 - world.rank
unused = world.Send_init(bytearray(3), partner, 1)
assert boxes.wait(unused) is None  # never started
for n in (9, 0, 100):
    sent = other.Isend(bytearray(n), partner, n)
    barrier = world.Ibarrier()
    came = []
    while (message := boxes.wait(barrier)) is not None:
        came.append(message)
    assert not barrier
    while not came:
        came += [message for message in (boxes.take(),) if message]
    assert came == [(8, n)], came
    sent.Wait()
boxes.close(8)
world.Send(bytearray(5), world.rank, 2)
while (message := boxes.take()) is None:
    pass
assert message == (7, 5)
boxes.close(7)
other.Free()
print("done", flush=True)
"""


@pytest.mark.mpi
def test_mailboxes(mpi: Mpi, tmp_path: Path) -> None:
    program = tmp_path / "boxes.py"
    program.write_text(BOXES)
    assert mpirun(mpi, 2, [mpi.python, program], cwd=tmp_path, timeout=60).check().stdout.count("done") == 2


@pytest.mark.mpi
@pytest.mark.slow
def test_large_messages_in_circles(mpi: Mpi, tmp_path: Path) -> None:
    trace, program = tmp_path / "a.st", tmp_path / "circle.py"
    program.write_text(CIRCLE)
    record(mpi, 4, [str(mpi.python), program], trace, options=["--histograms", "1"]).check()
    for seed, compute in enumerate(("none", "none", "sleep", "spin")):
        facts = replayed(mpi, 4, trace, seed, tmp_path, compute)
        assert facts["unequal"] == []
        assert (facts["computed_s"] > 0) == (compute != "none")
        assert facts["received"] == 4 * (3 * 6 * 4 + 5 + 2) + 4 * 6


@pytest.mark.mpi
@pytest.mark.parametrize(
    "workload",
    [w if w.title == "cg" else pytest.param(w, marks=pytest.mark.slow) for w in WORKLOADS],
    ids=lambda w: w.title,
)
def test_workloads(openmpi: Mpi, workload: Any, workshop: Any, tmp_path: Path) -> None:
    trace = tmp_path / "a.st"
    argv = workshop.command(openmpi, workload.of_steps(10))
    record(openmpi, 4, argv, trace, options=["--histograms", "1"]).check()
    for seed in (1, 2):
        assert replayed(openmpi, 4, trace, seed, tmp_path)["unequal"] == []


@pytest.mark.mpi
@pytest.mark.slow
def test_what_leaders_tell_each_other_is_no_message(openmpi: Mpi, workshop: Any, tmp_path: Path) -> None:
    """Intercommunicators are made over a communicator on which all that comes is received."""
    trace = tmp_path / "a.st"
    (coupled,) = (w for w in WORKLOADS if w.title == "coupled")
    argv = workshop.command(openmpi, coupled.of_steps(3))
    record(openmpi, 9, argv, trace, options=["--histograms", "1"]).check()
    for seed in range(5):
        assert replayed(openmpi, 9, trace, seed, tmp_path)["unequal"] == []
