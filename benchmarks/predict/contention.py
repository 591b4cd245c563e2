"""Messages that share links: times by loads and by flows against SimGrid's replay on the same topology."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.study import SkippedError, Study
from benchmarks.table import ResultTable, Row
from scalatrace import Trace, load
from scalatrace.errors import ScalatraceError
from scalatrace.predict.engine.simulate import SimulateOptions, Simulator
from scalatrace.predict.export.simgrid_run import find_smpirun, simgrid_time_ns
from scalatrace.predict.platform import AlgorithmRule, Network, NetworkTopology, Platform, Segment
from scalatrace.trace.model.elastic import Groups
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import Datatype
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec
from support.builder import Builder, Comm, To

PLATFORM = Platform(
    name="benchmark",
    interface="unlimited",
    compute_scale=0.0,
    network=Network((Segment(0, latency_ns=0, per_byte_ns=0.1),), rendezvous_above_bytes=65536),
    collectives={"alltoall": (AlgorithmRule("pairwise"),)},
)
SIDES = {16: (4, 4), 64: (8, 8), 256: (16, 16)}
CUBES = {16: (4, 2, 2), 64: (4, 4, 4), 256: (8, 8, 4)}
RADIX = 8
LATENCY_NS = 1000.0
"""Of recorded traces: most of their messages are short."""
OVERSUBSCRIPTIONS = (1, 2, 8)


def topologies(nranks: int, latency_ns: float) -> Iterator[tuple[str, Platform]]:
    """Yield platforms with a node for each rank; all links have the same latency, as in SimGrid."""
    for factor in OVERSUBSCRIPTIONS:
        tree = f"2;{RADIX},{nranks // RADIX};1,{RADIX // factor};1,1"
        hop_ns = latency_ns / 2
        fat_tree = NetworkTopology("fat-tree", topo_parameters=tree, hop_ns=hop_ns)
        yield f"fat tree, {factor}:1", on(fat_tree, latency_ns)
    yield "torus", on(NetworkTopology("torus", CUBES[nranks], hop_ns=latency_ns), latency_ns)
    groups = 4 if nranks >= 64 else 2
    dragonfly = f"{groups},1;1,1;{nranks // groups // 2},1;2"
    topology = NetworkTopology("dragonfly", topo_parameters=dragonfly, hop_ns=latency_ns / 2)
    yield "dragonfly", on(topology, latency_ns)


def on(topology: NetworkTopology, latency_ns: float = 0.0) -> Platform:
    """Return the platform with a topology. With latency, SimGrid shares links by round trip times."""
    network = replace(PLATFORM.network, segments=(Segment(0, latency_ns=latency_ns, per_byte_ns=0.1),))
    return replace(PLATFORM, topology=topology, network=network)


def both(nbytes: int) -> dict[str, Any]:
    return {"count": nbytes, "datatype": Datatype("MPI_BYTE", 1, 1), "tag": 0, "comm": Comm()}


def stencil(nranks: int, nbytes: int) -> Trace:
    """Return ten exchanges with four neighbours on a grid that is closed in both dimensions."""
    b = Builder(nranks)
    width = SIDES[nranks][0]
    steps = (1, -1, width, -width)
    nodes = [b.event("Irecv", source=To(Encoding.MODULO, Vec(-step)), **both(nbytes)) for step in steps]
    nodes += [b.event("Isend", dest=To(Encoding.MODULO, Vec(step)), **both(nbytes)) for step in steps]
    return b.of(b.loop(10, *nodes, b.event("Waitall", requests=tuple(range(8))[::-1])))


def transpose(nranks: int, nbytes: int) -> Trace:
    """Return ten exchanges of each rank with that at the mirrored place of the grid."""
    b = Builder(nranks)
    width = SIDES[nranks][0]
    peers = Groups([(RankList([r]), Vec(r % width * width + r // width)) for r in range(nranks)])
    receive = b.event("Irecv", source=To(Encoding.ABSOLUTE, peers), **both(nbytes))
    send = b.event("Isend", dest=To(Encoding.ABSOLUTE, peers), **both(nbytes))
    return b.of(b.loop(10, receive, send, b.event("Waitall", requests=(1, 0))))


def alltoall(nranks: int, nbytes: int) -> Trace:
    """Return one all-to-all of all ranks."""
    b = Builder(nranks)
    byte, size = Datatype("MPI_BYTE", 1, 1), nbytes // 8
    return b.of(
        b.event("Alltoall", sendcount=size, sendtype=byte, recvcount=size, recvtype=byte, comm=Comm())
    )


def incast(nranks: int, nbytes: int) -> Trace:
    """Return one message of each rank to rank 0."""
    b = Builder(nranks)
    others = RankList(range(1, nranks))
    first = RankList([0])
    receives = [
        b.event("Irecv", repeat=Groups([(first, Vec(1))]), source=rank, **both(nbytes))
        for rank in range(1, nranks)
    ]
    send = b.event("Isend", repeat=Groups([(others, Vec(1))]), dest=0, **both(nbytes))
    wait = b.event("Waitall", repeat=Groups([(first, Vec(1))]), requests=tuple(range(nranks - 1))[::-1])
    return b.of(*receives, send, wait, b.event("Waitall", repeat=Groups([(others, Vec(1))]), requests=(0,)))


PROGRAMS = {"stencil": stencil, "transpose": transpose, "all-to-all": alltoall, "incast": incast}


def _program_rows(ranks: Sequence[int], nbytes: int) -> Iterator[Row]:
    for nranks in ranks:
        for name, program in PROGRAMS.items():
            for topology, platform in topologies(nranks, 0.0):
                yield (name, str(nranks), topology, *_cells(program(nranks, nbytes), platform))


def _trace_rows(files: Sequence[Path]) -> Iterator[Row]:
    for file in files:
        trace = load(file).without_phases
        if trace.nprocs in CUBES:
            for topology, platform in topologies(trace.nprocs, LATENCY_NS):
                yield (file.name, str(trace.nprocs), topology, *_cells(trace, platform))


def _cells(trace: Trace, platform: Platform) -> list[str]:
    start = time.monotonic()
    try:
        theirs = simgrid_time_ns(trace, platform, contention=True, timeout_s=600)
    except ScalatraceError as error:
        return ["-", "-", str(error)[:60]]
    cells = [f"{theirs / 1e6:.4f}", f"{time.monotonic() - start:.1f}"]
    simulator = Simulator(trace)
    for network in ("none", "loads", "flows"):
        start = time.monotonic()
        ours = simulator.run(platform, SimulateOptions(network=network)).time_ns
        cells += [f"{ours / 1e6:.4f}", f"{ours / theirs:.3f}", f"{time.monotonic() - start:.2f}"]
    return cells


COLUMNS = (
    "program", "ranks", "topology", "SimGrid ms", "s", "none ms", "ratio", "s ", "loads ms", "ratio ", "s  ",
    "flows ms", "ratio  ", "s   ",
)  # fmt: skip


def _tables(name: str, title: str, rows: Iterator[Row]) -> Iterator[ResultTable]:
    try:
        find_smpirun()
    except ScalatraceError as error:
        raise SkippedError(str(error)) from None
    yield ResultTable(
        name, f"{title} that share links, and SimGrid's replay on the same topology", COLUMNS, rows
    )


def _programs(args: argparse.Namespace) -> Iterator[ResultTable]:
    return _tables("simulate_contention", "Messages of programs", _program_rows(args.ranks, args.bytes))


def _traces(args: argparse.Namespace) -> Iterator[ResultTable]:
    return _tables("simulate_contention_traces", "Messages of recorded programs", _trace_rows(args.files))


STUDIES = (
    Study(
        "simulate-contention",
        "simulated times with shared links, by loads and by flows, against SimGrid's replay",
        "docs/guide/simulate.md (shared links)",
        _programs,
        {"ranks": [16, 64, 256], "bytes": 1 << 17},
        {"ranks": [16]},
    ),
    Study(
        "simulate-contention-traces",
        "the same for traces of yours with 16, 64 or 256 ranks",
        "docs/guide/simulate.md (shared links)",
        _traces,
        {"files": None},
    ),
)
