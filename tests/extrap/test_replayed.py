"""An extrapolated trace of a recorded program replays, and so does what its formulas make."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from scalatrace import Trace, extrap, load
from scalatrace.extrap.extrapolate import of_model
from scalatrace.replay import ReplayOptions, check, run
from scalatrace.replay.common.options import ComputeMode
from scalatrace.trace.io.reader import load_symbolic as load_formulas
from scalatrace.trace.io.writer import save as save_formulas
from scalatrace.trace.query.diff import diff
from support.memory_transport import MemoryTransport
from support.mpis import Mpi
from support.programs import SAMPLES
from support.running import record

pytestmark = pytest.mark.mpi
NPROCS = 64


def messages(trace: Trace) -> tuple[Counter[tuple[int, int]], Counter[tuple[int, int]]]:
    """What a replay of every rank sends and receives: (sender, receiver) -> messages."""
    sent: Counter[tuple[int, int]] = Counter()
    received: Counter[tuple[int, int]] = Counter()
    for rank in range(trace.nprocs):
        transport = MemoryTransport(rank, trace.nprocs)
        check(trace, transport.size)
        run(trace, transport, ReplayOptions(ComputeMode.NONE))
        for op, args in transport.calls:
            if op in ("Send", "Isend"):
                sent[rank, int(args[3])] += 1
            elif op in ("Recv", "Irecv"):
                received[int(args[3]), rank] += 1
    return sent, received


@pytest.mark.slow
def test_a_ring_of_64(openmpi: Mpi, tmp_path: Path) -> None:
    traces = []
    for nprocs in (4, 5, 6):
        path = tmp_path / f"{nprocs}.st"
        record(openmpi, nprocs, [openmpi.python, SAMPLES / "ring.py"], path, timeout=60).check()
        traces.append(load(path))
    _, model, _ = extrap.model_of(traces)
    made = of_model(model, NPROCS).trace
    sent, received = messages(made)
    assert set(sent) == {(rank, (rank + 1) % NPROCS) for rank in range(NPROCS)}
    assert sent == received
    save_formulas(model, tmp_path / "ring.stx")
    assert diff(made, of_model(load_formulas(tmp_path / "ring.stx"), NPROCS).trace) == []
