"""Speed and accuracy of the simulator: a million ranks, SimGrid's replay, tolerances against bisection."""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.study import Study
from benchmarks.table import ResultTable, Row
from scalatrace import Trace, load
from scalatrace.errors import ScalatraceError
from scalatrace.predict.engine.sensitivity import PER_BYTE, scale_platform, tolerances
from scalatrace.predict.engine.simulate import Simulation, Simulator
from scalatrace.predict.platform import Network, Platform, Segment
from scalatrace.trace.model.groups import Groups
from scalatrace.trace.model.nodes import Event, Node, Peer, PredStats
from scalatrace.trace.model.nodes import Sequence as Loop
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import Datatype, IntArray, Kind, Op, RecordedStat
from scalatrace.trace.model.trace_tables import START
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec

PLATFORM = Platform(
    name="benchmark",
    interface="unlimited",
    network=Network((Segment(0, latency_ns=1000, per_byte_ns=0.1),), rendezvous_above_bytes=65536),
)
SHARES = (0.01, 0.05)
_DATA = (("count", Kind.INT), ("datatype", Kind.TYPE))


class GridProgram:
    """Traces of programs on a grid of sides x sides ranks, without borders that are connected."""

    def __init__(self, side: int) -> None:
        self.side = side
        self.trace = Trace(
            side * side,
            meta={"program": "benchmark"},
            stats=[RecordedStat("compute_ns", 1.0)],
            types=[Datatype("MPI_DOUBLE", 8, 8)],
            preds=[START],
        )
        self.trace.signatures.append(())

    def stencil(self, steps: int) -> Trace:
        """Return a halo exchange with four neighbours in each step."""
        neighbours = [(dx, dy) for dx, dy in ((-1, 0), (1, 0), (0, -1), (0, 1))]
        nodes = [self.message("Irecv", "source", dx, dy) for dx, dy in neighbours]
        nodes += [self.message("Isend", "dest", dx, dy) for dx, dy in neighbours]
        nodes.append(self.waitall())
        return self.of(steps, nodes)

    def wavefront(self, steps: int) -> Trace:
        """Return sweeps from one corner to the other, as of LU."""
        nodes = [self.message("Recv", "source", -1, 0), self.message("Recv", "source", 0, -1)]
        nodes += [self.message("Send", "dest", 1, 0), self.message("Send", "dest", 0, 1)]
        return self.of(steps, nodes)

    def message(self, name: str, peer: str, dx: int, dy: int) -> Event:
        op = Op(name, (*_DATA, (peer, Kind.PEER), ("tag", Kind.INT), ("comm", Kind.COMM)))
        ranks = self.having(dx, dy)
        values = Vec(100), Vec(0), Peer(Encoding.RELATIVE, Vec(dx + dy * self.side)), Vec(0), Vec(0)
        stats = (PredStats(0, (Histogram.of(10_000),)),) if name in ("Recv", "Irecv") else ()
        return Event(Groups([(ranks, Vec(1))]), self.index(op), 0, values, stats)

    def waitall(self) -> Event:
        counts: dict[int, list[tuple[int, int]]] = {}
        for rank in range(self.trace.nprocs):
            x, y = rank % self.side, rank // self.side
            n = 2 * ((x > 0) + (x + 1 < self.side) + (y > 0) + (y + 1 < self.side))
            runs = counts.setdefault(n, [])
            if runs and runs[-1][1] == rank:
                runs[-1] = runs[-1][0], rank + 1
            else:
                runs.append((rank, rank + 1))
        groups = []
        for n, runs in counts.items():
            self.trace.arrays.append(IntArray(n, Vec(((n, -1, n - 1),))))
            groups.append((RankList.from_runs(runs), Vec(len(self.trace.arrays) - 1)))
        op = Op("Waitall", (("requests", Kind.ARRAY),))
        return Event(Vec(1), self.index(op), 0, (Groups(groups),))

    def having(self, dx: int, dy: int) -> RankList:
        """Return the ranks that have a neighbour there."""
        columns = max(-dx, 0), self.side - max(dx, 0)
        rows = range(max(-dy, 0), self.side - max(dy, 0))
        return RankList.from_runs([(y * self.side + columns[0], y * self.side + columns[1]) for y in rows])

    def index(self, op: Op) -> int:
        if op not in self.trace.ops:
            self.trace.ops.append(op)
        return self.trace.ops.index(op)

    def of(self, steps: int, nodes: list[Event]) -> Trace:
        children: tuple[Node, ...] = tuple(nodes)
        self.trace.nodes.append(Loop(Vec(steps), children))
        return self.trace


_SHORT_S = 1.0  # shorter runs are repeated ...
_MOST_RUNS = 9  # ... up to so many times: their median counts


def _speed_rows(max_ranks: int) -> Iterator[Row]:
    for name, side, steps, steady in (
        ("stencil", 32, 100, False),
        ("wavefront", 32, 100, False),
        ("stencil", 32, 100_000, True),
        ("stencil", 256, 100, False),
        ("wavefront", 256, 50, False),
        ("stencil", 1024, 100, True),
    ):
        if side * side > max_ranks:
            continue
        trace = getattr(GridProgram(side), name)(steps)
        start = time.process_time()
        simulator = Simulator(trace)
        lowered = time.process_time()
        times: list[float] = []
        while sum(times) < _SHORT_S and len(times) < _MOST_RUNS:
            start_run = time.process_time()
            result = simulator.run(PLATFORM, steady=steady)
            times.append(time.process_time() - start_run)
        run_s = statistics.median(times)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        yield (
            f"{name}, {steps} steps", f"{side * side:,}", "yes" if steady else "no", f"{result.nevents:,}",
            f"{result.nsimulated:,}", f"{lowered - start:.2f}", f"{run_s:.2f}",
            f"{result.nevents / run_s:.1e}", str(memory),
        )  # fmt: skip


def _simgrid_rows(files: Sequence[Path]) -> Iterator[Row]:
    from scalatrace.predict.export.simgrid_run import simgrid_time_ns

    for file in files:
        trace = load(file)
        cells = [file.name, str(trace.nprocs)]
        start = time.monotonic()
        for platform in (PLATFORM, replace(PLATFORM, compute_scale=0.0)):
            try:
                ours, theirs = Simulator(trace).run(platform).time_ns, simgrid_time_ns(trace, platform)
                cells += [f"{ours / 1e6:.3f}", f"{theirs / 1e6:.3f}", f"{ours / theirs:.4f}"]
            except ScalatraceError as error:
                cells += ["-", "-", str(error)[:60]]
        yield (*cells, f"{time.monotonic() - start:.1f}")


def _tolerance_rows(files: Sequence[Path]) -> Iterator[Row]:
    for file in files:
        simulator = Simulator(load(file))
        start = simulator.run(PLATFORM)
        for found in tolerances(simulator, PLATFORM, SHARES):
            if found.factor is None:
                yield file.name, found.parameter, f"{found.share:.0%}", "none", "-", "-"
                continue
            searched = _bisect(simulator, start, found.parameter, found.share)
            difference = abs(found.factor - searched) / searched
            yield (
                file.name, found.parameter, f"{found.share:.0%}", f"{found.factor:.6g}", f"{searched:.6g}",
                f"{difference:.1e}",
            )  # fmt: skip


def _bisect(simulator: Simulator, start: Simulation, parameter: str, share: float) -> float:
    """Return the factor at which a run is slower by a share, from simulations alone."""
    target, low, high = start.time_ps * (1 + share), 1.0, 2.0

    def slow(factor: float) -> bool:
        changed = {"bandwidth": 1 / factor} if parameter == PER_BYTE else {"latency": factor}
        return simulator.run(scale_platform(PLATFORM, **changed)).time_ps >= target

    while not slow(high):
        low, high = high, high * 2
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if slow(middle) else (middle, high)
    return high


SPEED = (
    "program", "ranks", "steady loops", "calls", "one by one", "lower s", "run s", "calls/s", "peak MB",
)  # fmt: skip
SIMGRID = (
    "trace", "ranks", "ms", "SimGrid ms", "ratio", "without computation, ms", "SimGrid ms ", "ratio ", "s",
)  # fmt: skip
TOLERANCE = ("trace", "parameter", "slower by", "factor", "by bisection", "difference")


def _speed(args: argparse.Namespace) -> Iterator[ResultTable]:
    yield ResultTable("simulate_speed", "Speed of the simulator", SPEED, _speed_rows(args.ranks))


def _simgrid(args: argparse.Namespace) -> Iterator[ResultTable]:
    title = "The simulator and SimGrid's replay"
    yield ResultTable("simulate_simgrid", title, SIMGRID, _simgrid_rows(args.files))


def _tolerance(args: argparse.Namespace) -> Iterator[ResultTable]:
    title = "Tolerance to latency and to time per byte"
    yield ResultTable("simulate_tolerance", title, TOLERANCE, _tolerance_rows(args.files))


STUDIES = (
    Study(
        "simulate-speed",
        "calls per second of the simulator, to a million ranks",
        "docs/guide/simulate.md (how it works)",
        _speed,
        {"ranks": 1 << 20},
        {"ranks": 1024},
    ),
    Study(
        "simulate-simgrid",
        "simulated times of traces of yours against SimGrid's replay",
        "docs/comparison.md, docs/guide/simulate.md",
        _simgrid,
        {"files": None},
    ),
    Study(
        "simulate-tolerance",
        "tolerances to latency and bandwidth of traces of yours against bisection",
        "docs/guide/simulate.md (tolerances)",
        _tolerance,
        {"files": None},
    ),
)
