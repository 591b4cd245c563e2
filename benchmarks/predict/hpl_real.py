"""HPL, alone or in hpcc, against predictions by a ladder of models of dgemm (Cornebize 2021, Figure 6.2).

Each rank has a core. The models are fitted to the times of dgemm and dtrsm in runs of other orders, on these
cores. Traced runs of each order have the calls and the computation between kernels; the times to predict are
those that HPL prints in further runs, without the tracer. Only the phase that HPL times is predicted. Of
several runs the one with the median time counts. Runs of all orders and those for the models alternate, since
the speed of the cores varies by minutes.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from benchmarks.predict.predictions import CORES_ENVIRONMENT
from benchmarks.running import compile_c
from benchmarks.study import SkippedError, Study
from benchmarks.table import ResultTable, Row, compared, errors_in, verdict
from scalatrace import Trace, load
from scalatrace.predict.engine import KernelTimes
from scalatrace.predict.engine.call_log import CallLog
from scalatrace.predict.engine.simulate import SimulateOptions, Simulator
from scalatrace.predict.kernels import KernelCall, KernelModels, fit_kernel
from scalatrace.predict.kernels.annotated import parse_kernel
from scalatrace.predict.platform import Platform, read_platform
from support.applications import hpcc_input
from support.mpis import Mpi, installed
from support.programs import SAMPLES
from support.running import mpirun, record

RANKS, BLOCK = 2, 64
HPCC_FILES, HPL_FILES = ("hpccinf.txt", "hpccoutf.txt"), ("HPL.dat", "HPL.out")
"""Input and output; HPL reads the first lines of hpcc's input."""

LIMIT = 0.05

LADDER: Mapping[str, tuple[str, str, bool] | None] = {
    "recorded times": None,
    "M-0 N-0": ("M-0", "N-0", False),
    "M-1 N-0": ("M-1", "N-0", False),
    "M-2 N-0": ("M-2", "N-0", False),
    "M-1 N-0, per core": ("M-1", "N-0", True),
    "M-2 N-0, per core": ("M-2", "N-0", True),
    "M-2 N-1, per core": ("M-2", "N-1", True),
    "M-2 N-2, per core": ("M-2", "N-2", True),
}
"""Mean, noise and whether each core has a model of its own; None: no models."""

FULL_MODEL = "M-2 N-2, per core"
COLUMNS = (
    "ranks", "order", "run, s", "fastest", "slowest", "Gflop/s", "predicted, s", "error",
)  # fmt: skip


@dataclass(frozen=True)
class HplRun:
    """HPL of one order: the times of its runs, and those predicted by each model, in seconds."""

    order: int
    runs_s: tuple[float, ...]
    predicted_s: Mapping[str, float]

    @property
    def run_s(self) -> float:
        """The median run."""
        return statistics.median(self.runs_s)


def _operations(order: int) -> float:
    """Return the floating-point operations of a run, as HPL counts them."""
    return order**2 * (2 / 3 * order + 3 / 2)


class HplPrograms:
    """Runs of HPL on RANKS ranks, in folders of their own.

    Args:
        xhpl: HPL alone; empty: hpcc.
        start: words before the program.
    """

    def __init__(self, mpi: Mpi, folder: Path, xhpl: str, start: Sequence[str]) -> None:
        self._words = [*start, str(Path(xhpl).resolve()) if xhpl else "hpcc"]
        self._input_name, self._output_name = HPL_FILES if xhpl else HPCC_FILES
        flags = ("-shared", "-fPIC", "-ldl")
        self._mpi, self._folder = mpi, folder
        self._marks = compile_c(mpi, SAMPLES / "blas_kernels.c", folder / "marks.so", *flags)
        self._times = compile_c(mpi, "kernel_times.c", folder / "times.so", *flags)

    def _input(self, order: int) -> Path:
        where = Path(tempfile.mkdtemp(dir=self._folder))
        hpcc_input(where, order, 1, RANKS, BLOCK)
        (where / "hpccinf.txt").rename(where / self._input_name)
        return where

    def run_s(self, order: int) -> float:
        """Run; return the seconds that HPL prints."""
        where = self._input(order)
        mpirun(self._mpi, RANKS, self._words, env=CORES_ENVIRONMENT, cwd=where, timeout=600).check()
        text = (where / self._output_name).read_text()
        gflops = re.search(r"^W[RC]\S+\s+\d+.* (\S+)$", text, re.MULTILINE)
        assert gflops, text
        assert "FAILED" not in text, text
        return _operations(order) / (1e9 * float(gflops.group(1)))

    def trace(self, order: int) -> Path:
        """Record a run with marked kernels."""
        where = self._input(order)
        env = {**CORES_ENVIRONMENT, "LD_PRELOAD": str(self._marks)}
        record(self._mpi, RANKS, self._words, where / "a.st", env=env, timeout=600).check()
        return where / "a.st"

    def calls(self, order: int) -> Iterator[tuple[str, KernelCall]]:
        """Run, and yield the calls of HPL's kernels; the host of each is its core."""
        where = self._input(order)
        preloaded = {"LD_PRELOAD": f"{self._marks} {self._times}", "KERNEL_TIMES": str(where / "times")}
        env = {**CORES_ENVIRONMENT, **preloaded}
        mpirun(self._mpi, RANKS, self._words, env=env, cwd=where, timeout=600).check()
        for rank in range(RANKS):
            for line in (where / f"times.{rank}").read_text().splitlines():
                text, *sizes, ns = line.split()
                kernel, names = parse_kernel(text)
                params = dict(zip(names, map(int, sizes), strict=True))
                if min(params.values()) > 0 and params["k"] <= BLOCK:  # other parts of hpcc have larger ones
                    yield kernel, KernelCall(params, float(ns), f"core {rank}")


def _phase(trace: Trace, rank: int) -> tuple[int, int]:
    """Return the first call of the phase that HPL times, and the call after its last one.

    HPL makes three communicators. Its own collectives have the tag 9001: the last one before the phase is a
    barrier, the first one after it collects the times.
    """
    calls = list(trace.walk(rank))
    created = max(i for i, call in enumerate(calls) if call.op == "Comm_split")
    own = [call.get("tag") == 9001 for call in calls]
    begin = created + 1
    while own[begin]:
        begin += 1
    return begin, own.index(True, begin)


def _predict_s(simulator: Simulator, trace: Trace, platform: Platform, options: SimulateOptions) -> float:
    """Return the predicted time of HPL's phase: that of the longest rank."""
    log = CallLog(trace, simulator.program, [(rank, 0) for rank in range(trace.nprocs)])
    simulator.run(platform, options, call_log=log)
    times_ps = []
    for rank in range(trace.nprocs):
        begin, end = _phase(trace, rank)
        of_calls = log.of(rank)
        times_ps.append(int(of_calls[end, 0]) - int(of_calls[begin - 1, 1]))
    return max(times_ps) / 1e12


def _fit(calls: Mapping[str, Sequence[KernelCall]], mean: str, noise: str, per_core: bool) -> KernelModels:
    """Fit a model of the ladder to dgemm, and the simplest one to the other kernels."""
    models = fit_kernel("dgemm", calls["dgemm"], mean, noise, per_core)
    for name in calls.keys() - {"dgemm"}:
        models += fit_kernel(name, calls[name], "M-1", "N-0", False)
    return KernelModels(models)


def _ladder(
    models: Mapping[str, KernelModels], traces: Sequence[Trace], platform: Platform
) -> Iterator[tuple[str, float]]:
    """Yield the time predicted by each model: the median over the traces, each with other draws."""
    cores = [f"core {rank}" for rank in range(RANKS)]
    for name, chosen in LADDER.items():
        kernels = None if chosen is None else KernelTimes(models[name], cores if chosen[2] else ())
        drawn = chosen is not None and chosen[1] != "N-0"
        yield name, statistics.median(
            _predict_s(
                Simulator(trace, kernels, polls_work=True), trace, platform,
                SimulateOptions(drawn=drawn, seed=seed),
            )
            for seed, trace in enumerate(traces)
        )  # fmt: skip


def _measure(mpi: Mpi, platform: Platform, args: argparse.Namespace) -> Iterator[HplRun]:
    """Calibrate the kernels, run all orders, and predict them."""
    with tempfile.TemporaryDirectory() as name:
        programs = HplPrograms(mpi, Path(name), args.xhpl, args.start)
        calls: dict[str, list[KernelCall]] = {}
        runs, files = [], []
        for _ in range(args.repeat):
            for kernel, call in chain.from_iterable(map(programs.calls, args.fit)):
                calls.setdefault(kernel, []).append(call)
            runs.append([programs.run_s(order) for order in args.orders])
            files.append([programs.trace(order) for order in args.orders])
        traces = [list(map(load, of_order)) for of_order in zip(*files, strict=True)]
    models = {name: _fit(calls, *chosen) for name, chosen in LADDER.items() if chosen is not None}
    for order, of_order, times in zip(args.orders, traces, zip(*runs, strict=True), strict=True):
        yield HplRun(order, times, dict(_ladder(models, of_order, platform)))


def _tables(args: argparse.Namespace) -> Iterator[ResultTable]:
    mpi, load_before = installed().get("debian-openmpi"), os.getloadavg()[0]
    if mpi is None or shutil.which(args.xhpl or "hpcc") is None:
        raise SkippedError("needs Debian's openmpi-bin, libopenmpi-dev and hpcc, or --xhpl")
    measured: list[HplRun] = []

    def rows(mpi: Mpi) -> Iterator[Row]:
        for run in _measure(mpi, read_platform(args.platform), args):
            measured.append(run)
            yield (
                str(RANKS), str(run.order), f"{run.run_s:.3f}", f"{min(run.runs_s):.3f}",
                f"{max(run.runs_s):.3f}", f"{_operations(run.order) / run.run_s / 1e9:.1f}",
                *compared(run.predicted_s[FULL_MODEL], run.run_s),
            )  # fmt: skip

    def judge(rows: Sequence[Row]) -> list[str]:
        errors = errors_in(rows, 7)
        worst, mean = max(errors), statistics.fmean(errors)
        return [
            verdict(worst <= LIMIT, f"within {LIMIT:.0%} of the run (worst {worst:.1%}, mean {mean:.1%})"),
            f"Load of the machine before: {load_before:.1f}.",
        ]

    def ladder() -> Iterator[Row]:
        for name in LADDER:
            errors = [run.predicted_s[name] / run.run_s - 1 for run in measured]
            shown = [f"{error:+.1%}" for error in errors]
            yield name, *shown, f"{np.abs(errors).mean():.1%}", f"{np.abs(errors).max():.1%}"

    notes = (
        "",
        f"Each rank has a core; grid of 1 x {RANKS}, blocks of {BLOCK}, {args.repeat} runs of each order. "
        f"Kernels were measured at the orders {', '.join(map(str, args.fit))}.",
    )
    yield ResultTable("hpl_real", "HPL, predicted and measured", COLUMNS, rows(mpi), 0, notes, judge)
    columns = ("model of dgemm", *(f"error at {order}" for order in args.orders), "mean", "worst")
    yield ResultTable("hpl_ladder", "HPL by models of dgemm", columns, ladder(), 0, notes)


STUDIES = (
    Study(
        "hpl-real",
        "HPL on 2 ranks: measured times, and predictions by a ladder of models of dgemm",
        "docs/evaluation.md",
        _tables,
        {
            "platform": None,
            "fit": [1800, 2800, 3800],
            "orders": [2000, 2500, 3000, 3500, 4000],
            "repeat": 5,
            "xhpl": "",
            "start": [],
        },
        {"fit": [400, 800], "orders": [600], "repeat": 1},
    ),
)
