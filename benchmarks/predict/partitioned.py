"""Partitioned communication: the model against the runs of Dominguez-Trujillo (2021), and against runs here.

partitioned: peak and region of better bandwidth on Lassen and Quartz (Figures 4.4 and 4.5), by Algorithm 1
with the OSU data of table A.1 (samples/osu/), and by the installed platforms, which `scalatrace calibrate
--from` fits to the same data. partitioned-here: samples/partitioned.py on this machine against Algorithm 1,
whose messages take as long as single sends measured here.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.study import Study, find_mpi, one_table
from benchmarks.table import Row, grouped
from scalatrace.predict.calibrate.osu import read_osu_table
from scalatrace.predict.platform import read_platform
from scalatrace.predict.variability import ThreadTimes, partitioned_send, single_send
from scalatrace.predict.variability.partitioned import MessageTime, of_network, of_osu
from support.mpis import Mpi
from support.programs import SAMPLES
from support.running import mpirun

MIB = 1 << 20
SIZES = [round(18 * MIB * 2.0**k) for k in range(-17, 9)]
"""Bytes of buffers: 18 MiB times powers of two, as in the figures (0.56, 1.13, ..., 4608 MB)."""

MEAN_NS, WAIT_NS = 100e6, 10e3
"""Computation of a thread (§4.4.3), and MPI_Wait: "on the order of 10s of microseconds" (§4.3)."""

LIMIT = 1.1
"""A partitioned send is better where its bandwidth is so many times that of a single send, or more."""


@dataclass(frozen=True)
class PublishedPeak:
    """What §4.4.3 says about a machine: peaks in MB and MiB/s, and the end of the better region in MB."""

    machine: str
    threads: int
    variability: float
    model: str
    measured: str
    model_end: str
    measured_end: str


PUBLISHED = (
    PublishedPeak("lassen", 20, 0.10, "18: 115,000", "18: 152,000", "72", "144"),
    PublishedPeak("lassen", 20, 0.25, "144: 186,000", "72: 214,000", "4608", "2304"),
    PublishedPeak("quartz", 18, 0.10, "9: 54,200", "9: 56,400", "72", "36"),
    PublishedPeak("quartz", 18, 0.25, "-", "-", "2304", "288"),
)

COLUMNS = (
    "machine", "threads", "variability, %", "model", "peak, MB: MiB/s", "thesis, model", "thesis, measured",
    "better up to, MB", "thesis, model", "thesis, measured",
)  # fmt: skip


def _messages(machine: str) -> Iterator[tuple[str, MessageTime]]:
    """Yield the names of models of a message between nodes, and the models."""
    latency, interval = (
        read_osu_table(SAMPLES / "osu" / f"{machine}-inter-{test}.txt")[1] for test in ("latency", "bw")
    )
    yield "table A.1", of_osu(latency, interval)
    yield f"platform {machine}", of_network(read_platform(machine).network)


def _rows(args: argparse.Namespace) -> Iterator[Row]:
    for published in PUBLISHED:
        threads = ThreadTimes.of_variability(published.threads, MEAN_NS, published.variability)
        for name, message in _messages(published.machine):
            sends = [partitioned_send(size, threads, message, WAIT_NS) for size in SIZES]
            peak = max(sends, key=lambda send: send.bandwidth)
            better = [
                send.nbytes
                for send in sends
                if send.bandwidth > LIMIT * single_send(send.nbytes, threads, message).bandwidth
            ]
            yield (
                published.machine, str(published.threads), f"{100 * published.variability:g}", name,
                f"{peak.nbytes / MIB:g}: {grouped(peak.bandwidth / MIB)}",
                published.model, published.measured,
                f"{max(better) / MIB:g}", published.model_end, published.measured_end,
            )  # fmt: skip


HERE = (
    "threads", "variability, %", "bytes", "message, us", "elapsed, us", "by the model, us",
    "measured over model", "single send, us", "gain",
)  # fmt: skip
HERE_MEAN_US = 100_000
_ELAPSED = re.compile(r"elapsed[^\d]*(?P<us>[\d.,]+) us")


def _elapsed_us(mpi: Mpi, nbytes: int, threads: int, variability: float, steps: int, single: bool) -> float:
    """Return the median time after the slowest thread."""
    words = [SAMPLES / "partitioned.py", "--threads", threads, "--bytes", nbytes, "--steps", steps]
    words += ["--mean-us", HERE_MEAN_US, "--deviation-us", HERE_MEAN_US * variability**2]
    done = mpirun(mpi, 2, [str(mpi.python), *map(str, words), *(["--single"] * single)], timeout=300).check()
    match = _ELAPSED.search(done.stdout)
    assert match is not None, done.stdout
    return float(match["us"].replace(",", ""))


def _constant(ns: float) -> MessageTime:
    return lambda nbytes: ns


def _rows_here(args: argparse.Namespace) -> Iterator[Row]:
    mpi = find_mpi()
    for threads in args.threads:
        for nbytes in args.nbytes:
            message = _elapsed_us(mpi, nbytes // threads, 1, 0.0, args.steps, single=True)
            single = _elapsed_us(mpi, nbytes, threads, 0.0, args.steps, single=True)
            for percent in args.variability:
                elapsed = _elapsed_us(mpi, nbytes, threads, percent / 100, args.steps, single=False)
                times = ThreadTimes.of_variability(threads, HERE_MEAN_US * 1e3, percent / 100)
                model = partitioned_send(nbytes, times, _constant(message * 1e3)).elapsed_ns / 1e3
                yield (
                    str(threads), str(percent), grouped(nbytes), f"{message:.0f}", f"{elapsed:.0f}",
                    f"{model:.0f}", f"{elapsed / model:.2f}", f"{single:.0f}", f"{single / elapsed:.2f}",
                )  # fmt: skip


STUDIES = (
    Study(
        "partitioned",
        "the model of partitioned sends on Lassen and Quartz against the thesis's model and measurements",
        "docs/evaluation.md",
        one_table("partitioned", "Partitioned sends on Lassen and Quartz", COLUMNS, _rows),
    ),
    Study(
        "partitioned-here",
        "partitioned sends of sleeping threads on this machine against the model",
        "docs/evaluation.md",
        one_table(
            "partitioned_here", "Partitioned sends between two ranks of this machine", HERE, _rows_here
        ),
        {"threads": [4, 8], "nbytes": [1 << 20, 1 << 24, 1 << 26], "variability": [10, 25], "steps": 10},
        {"threads": [4], "nbytes": [1 << 20], "variability": [10], "steps": 3},
    ),
)
