"""The spread of measured runs beside that of drawn runs: without noise of messages, and with it.

A platform is calibrated, then a program of small messages is run many times. Drawn runs are of the trace of
one of these runs.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.running import ONE_THREAD, PROGRAMS, app_s, not_run, recorded
from benchmarks.study import Study, find_mpi, one_table
from benchmarks.table import NO_VALUE, Row
from scalatrace import load
from scalatrace.predict.engine.repeats import repeats
from scalatrace.predict.engine.simulate import SimulateOptions, Simulator
from scalatrace.predict.platform import Network, Platform, read_platform
from support.mpis import Mpi
from support.running import Argument, mpirun

COLUMNS = (
    "messages", "runs", "median, ms", "95 % of runs over their median", "drawn median, ms",
    "95 % of drawn runs, computation only", "with messages", "runs inside",
)  # fmt: skip
SETTINGS = ("--sizes", "30", "--max-bytes", str(1 << 16), "--visits", "3", "--kernel-calls", "0")
DRAWS = 200


def _rows(args: argparse.Namespace) -> Iterator[Row]:
    mpi = find_mpi()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        platform = _calibrate(mpi, folder)
        for count in (30, 300, 3000):
            try:
                yield _row(mpi, platform, count, args.repeat, folder)
            except (AssertionError, TimeoutError) as error:
                yield [f"{count:,}", not_run(error), *[NO_VALUE] * (len(COLUMNS) - 2)]


def _calibrate(mpi: Mpi, folder: Path) -> Platform:
    file = folder / "platform.toml"
    words: list[Argument] = ["calibrate", "-o", file, "--archive", folder / "archive.jsonl", *SETTINGS]
    mpirun(mpi, 2, [*mpi.scalatrace(), *words], env=ONE_THREAD, cwd=folder, timeout=600).check()
    return read_platform(file)


def _row(mpi: Mpi, platform: Platform, count: int, times: int, folder: Path) -> Row:
    argv = [str(PROGRAMS / "pair.py"), "pingpong", str(count)]
    runs = np.array([app_s(mpi, 2, argv, folder) for _ in range(times)]) * 1e3
    simulator = Simulator(load(recorded(mpi, 2, argv, folder / "a.st").trace))
    drawn = [
        np.array(list(repeats(simulator, each, SimulateOptions(), DRAWS))) / 1e6
        for each in (_without_noise(platform), platform)
    ]
    low, high = np.quantile(drawn[1] / np.median(drawn[1]), (0.025, 0.975))
    inside = int(((low <= runs / np.median(runs)) & (runs / np.median(runs) <= high)).sum())
    return (
        f"{2 * count:,}", str(times), f"{np.median(runs):.2f}", _spread(runs), f"{np.median(drawn[1]):.2f}",
        *map(_spread, drawn), f"{inside} of {times}",
    )  # fmt: skip


def _without_noise(platform: Platform) -> Platform:
    def quiet(network: Network) -> Network:
        segments = tuple(replace(s, relative_noise=0.0, noise_factors=()) for s in network.segments)
        return replace(network, segments=segments)

    memory = None if platform.memory is None else quiet(platform.memory)
    return replace(platform, network=quiet(platform.network), memory=memory)


def _spread(times: np.ndarray) -> str:
    low, high = np.quantile(times / np.median(times), (0.025, 0.975))
    return f"{low:.2f} to {high:.2f}"


STUDIES = (
    Study(
        "simulate-noise",
        "the spread of measured runs against that of drawn runs, with and without noise of messages",
        "docs/guide/simulate.md (drawn runs)",
        one_table("simulate_noise", "The spread of runs, measured and drawn", COLUMNS, _rows, 1),
        {"repeat": 30},
        {"repeat": 3},
    ),
)
