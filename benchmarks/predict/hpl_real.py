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
import shlex
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from benchmarks.predict.predictions import CORES_ENVIRONMENT
from benchmarks.running import compile_c, priority
from benchmarks.study import SkippedError, Study, find_debian_mpi
from benchmarks.table import ResultTable, Row, compared, errors_in, verdict
from scalatrace import Trace, load
from scalatrace.predict.engine import KernelTimes
from scalatrace.predict.engine.call_log import CallLog
from scalatrace.predict.engine.simulate import SimulateOptions, Simulator
from scalatrace.predict.kernels import KernelCall, KernelModels, fit_kernel
from scalatrace.predict.kernels.annotated import parse_kernel
from scalatrace.predict.platform import Platform, read_platform
from support.applications import hpcc_input
from support.mpis import Mpi
from support.programs import SAMPLES
from support.running import mpirun, record

RANKS, BLOCK = 2, 64
HPCC = "hpcc"
HPCC_FILES, HPL_FILES = ("hpccinf.txt", "hpccoutf.txt"), ("HPL.dat", "HPL.out")
"""Input and output; HPL reads the first lines of hpcc's input."""

MAX_ERROR = 0.05
"""Of each predicted time, as in Figure 6.2."""

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
        program: HPL alone, or hpcc.
        start: words before the program.
    """

    def __init__(self, mpi: Mpi, folder: Path, program: str, start: Sequence[str]) -> None:
        self._words = [*start, program]
        self._input_name, self._output_name = HPCC_FILES if program == HPCC else HPL_FILES
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
        if gflops is None or "FAILED" in text:
            raise SkippedError(f"{self._words[-1]} printed no result, or a wrong one:\n{text[-2000:]}")
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
            file = where / f"times.{rank}"
            if not file.exists():
                raise SkippedError(f"no BLAS call of {self._words[-1]} was marked: link it dynamically")
            for line in file.read_text().splitlines():
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
    for name, kind in LADDER.items():
        kernels = None if kind is None else KernelTimes(models[name], cores if kind[2] else ())
        drawn = kind is not None and kind[1] != "N-0"
        yield name, statistics.median(
            _predict_s(
                Simulator(trace, kernels, polls_work=True), trace, platform,
                SimulateOptions(drawn=drawn, seed=seed),
            )
            for seed, trace in enumerate(traces)
        )  # fmt: skip


def _measure(mpi: Mpi, program: str, args: argparse.Namespace) -> Iterator[HplRun]:
    """Calibrate the kernels, run all orders, and predict them."""
    with tempfile.TemporaryDirectory() as name:
        programs = HplPrograms(mpi, Path(name), program, shlex.split(args.start))
        calls: dict[str, list[KernelCall]] = {}
        runs, files = [], []
        for _ in range(args.repeat):
            for kernel, call in chain.from_iterable(map(programs.calls, args.fit)):
                calls.setdefault(kernel, []).append(call)
            if "dgemm" not in calls:
                raise SkippedError(f"no dgemm of {program} was marked: link its BLAS dynamically")
            runs.append([programs.run_s(order) for order in args.orders])
            files.append([programs.trace(order) for order in args.orders])
        traces = [list(map(load, same_order)) for same_order in zip(*files, strict=True)]
    models = {name: _fit(calls, *kind) for name, kind in LADDER.items() if kind is not None}
    platform = read_platform(args.platform)
    for order, same_order, runs_s in zip(args.orders, traces, zip(*runs, strict=True), strict=True):
        yield HplRun(order, runs_s, dict(_ladder(models, same_order, platform)))


def _tables(args: argparse.Namespace) -> Iterator[ResultTable]:
    program = str(Path(args.xhpl).resolve()) if args.xhpl else HPCC
    mpi, load_before = find_debian_mpi(program), os.getloadavg()[0]
    measured: list[HplRun] = []

    def rows() -> Iterator[Row]:
        for run in _measure(mpi, program, args):
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
            verdict(
                worst <= MAX_ERROR, f"within {MAX_ERROR:.0%} of the run (worst {worst:.1%}, mean {mean:.1%})"
            ),
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
        f"Ranks have {priority()}" + (f", and start by `{args.start}`." if args.start else "."),
    )
    yield ResultTable("hpl_real", "HPL, predicted and measured", COLUMNS, rows(), 0, notes, judge)
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
            "fit": [2800, 4800, 6800],
            "orders": [3000, 4000, 5000, 6000, 7000],
            "repeat": 5,
            "xhpl": "",
            "start": "",
        },
        {"fit": [400, 800], "orders": [600], "repeat": 1},
    ),
)
