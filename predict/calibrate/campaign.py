"""Run a campaign on the ranks of MPI_COMM_WORLD and collect its measurements on rank 0.

They come with a description: command, versions, hosts and their processors, settings of MPI, times.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from mpi4py import MPI

from scalatrace.errors import ScalatraceError, UsageError
from scalatrace.predefined import THREAD_LEVELS
from scalatrace.predict.calibrate.archive import Archive, Measurement
from scalatrace.predict.calibrate.library import Measures
from scalatrace.predict.calibrate.monitor import HostMonitor
from scalatrace.predict.calibrate.plan import BURST, Experiment, Settings, draw_peers, largest, plan
from scalatrace.predict.calibrate.workloads import KERNELS, draw_calls, warm_up
from scalatrace.ranks import on_all, wait_asleep

__all__ = ["CampaignRank", "Progress", "run_guarded"]

SETTINGS = re.compile(
    r"(OMPI_MCA|PRTE_MCA|PMIX_MCA|MPICH|I_MPI|UCX|FI|OMP|GOMP|KMP|MKL|OPENBLAS|SLURM_JOB_NUM)_"
)
"""Variables of the environment that change how MPI, its network or threads work."""
PACKAGES = ("scalatrace", "numpy", "mpi4py")


def run_facts(command: Sequence[str], mpi_version: str, thread_level: str, nranks: int) -> dict[str, Any]:
    """Return the facts that are equal on all ranks. Variables with passwords or keys are not among them."""
    return {
        "command": list(command),
        "ranks": nranks,
        "thread_level": thread_level,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {
            "python": platform.python_version(),
            "mpi": mpi_version.rstrip("\0 \n"),
            **{name: _version(name) for name in PACKAGES},
        },
        "environment": {key: value for key, value in sorted(os.environ.items()) if SETTINGS.match(key)},
    }


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def host_facts() -> dict[str, Any]:
    """Return the facts of this host."""
    return {
        "system": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "usable_cores": len(os.sched_getaffinity(0)),
        "memory_kb": _field("/proc/meminfo", "MemTotal"),
        "governor": _text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "clock": _text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "byte_order": sys.byteorder,
    }


def _processor() -> str:
    return _field("/proc/cpuinfo", "model name") or platform.machine()


def _field(path: str, name: str) -> str:
    """Return the value of the first line `name : value`; "" without."""
    for line in _text(path).splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip().removesuffix(" kB")
    return ""


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


SEND_LIMIT_S = 0.1
"""A send that has not ended by then waits for its receive."""
VERDICT = 21
"""Tag of the outcome of a test."""

Progress = Callable[[int, int], None]
"""Experiments done, and all."""


@dataclass(frozen=True)
class CampaignRank:
    """This rank of a campaign.

    Attributes:
        pairs: two ranks within a node and between nodes, as far as there are.
        hosts: of all ranks.
    """

    comm: MPI.Intracomm
    measures: Measures
    pairs: dict[str, tuple[int, int]]
    hosts: list[str]
    begin_s: float

    @property
    def host(self) -> str:
        """The host of this rank."""
        return self.hosts[self.comm.rank]

    def peer(self, level: str) -> int | None:
        """Return the other rank of a pair that this rank belongs to."""
        pair = self.pairs[level]
        return pair[1 - pair.index(self.comm.rank)] if self.comm.rank in pair else None

    def leads(self, level: str) -> bool:
        """Return whether this rank is the first of a pair."""
        return self.pairs[level][0] == self.comm.rank

    def elapsed_s(self) -> float:
        """Return seconds since the campaign began."""
        return time.monotonic() - self.begin_s

    def abort(self, message: str) -> None:
        """End all ranks with a message."""
        print(f"scalatrace: {message}", file=sys.stderr, flush=True)
        self.comm.Abort(1)


def run_guarded(
    settings: Settings, command: Sequence[str], progress: Progress | None = None
) -> tuple[Archive | None, ScalatraceError | None]:
    """Run a campaign. Returns its archive on rank 0, or the error that all ranks have.

    An error during the measurements, which one rank alone may have, ends all ranks: others may wait for it.
    """
    try:
        site = prepare(settings)
    except ScalatraceError as error:
        return None, error
    try:
        return run_campaign(site, settings, command, progress), None
    except ScalatraceError as error:
        site.abort(str(error))
        return None, error


def prepare(settings: Settings) -> CampaignRank:
    """Check the settings and compile what measures; all ranks call this, and all raise the same error.

    Raises:
        UsageError: there is one rank only, or a kernel is unknown.
        ScalatraceError: there is no compiler for this MPI, or not enough memory.
    """
    comm = MPI.COMM_WORLD
    if comm.size < 2:
        raise UsageError("calibration needs 2 ranks or more: mpiexec -n 2 scalatrace calibrate ...")
    draw_calls(settings)
    measures = on_all(comm, lambda: Measures(comm, BURST * max(8, settings.max_bytes)), "calibrate")
    hosts = comm.allgather(MPI.Get_processor_name())
    return CampaignRank(comm, measures, _pairs(hosts), hosts, time.monotonic())


def run_campaign(
    site: CampaignRank, settings: Settings, command: Sequence[str], progress: Progress | None = None
) -> Archive | None:
    """Measure; all ranks call this. Returns the archive on rank 0, None elsewhere.

    Raises:
        ScalatraceError: an MPI call fails.
    """
    comm = site.comm
    levels = {getattr(MPI, f"THREAD_{name.upper()}"): name for name in THREAD_LEVELS}
    level = levels.get(MPI.Query_thread(), "")
    facts = run_facts(command, MPI.Get_library_version(), level, comm.size)
    calls = draw_calls(settings)
    measurements, eager = _thresholds(site, settings.max_bytes)
    warm_up(settings.kernel_names if settings.kernels else ())
    experiments = plan(settings, tuple(site.pairs), eager, calls, comm.size)
    monitor = _monitor(site, settings)
    for done, experiment in enumerate(experiments):
        if progress and comm.rank == 0:
            progress(done, len(experiments))
        if monitor:
            monitor.read(site.elapsed_s())
        measurements += _done(site, experiment, settings)
    if monitor:
        monitor.read(site.elapsed_s(), 0.0)
    wait_asleep(site.comm)
    everything = comm.gather((site.host, host_facts(), measurements))
    readings = comm.gather((site.host, monitor.readings) if monitor else None)
    if everything is None or readings is None:
        return None
    facts |= {"settings": asdict(settings), "seconds": round(site.elapsed_s(), 3)}
    facts["placement"] = [host for host, _, _ in everything]
    facts["hosts"] = {name: about for name, about, _ in everything}
    if settings.monitor:
        facts["monitor"] = dict(filter(None, readings))
    rows = sorted(
        (m for _, _, rank_measurements in everything for m in rank_measurements), key=lambda m: m.at_s
    )
    return Archive(facts, tuple(rows))


def _monitor(site: CampaignRank, settings: Settings) -> HostMonitor | None:
    """Return the monitor of this host on its first rank, if there is to be one; None on others."""
    if not settings.monitor:
        return None
    pids = site.comm.allgather(os.getpid())
    if site.hosts.index(site.host) != site.comm.rank:
        return None
    monitor = HostMonitor([pid for pid, host in zip(pids, site.hosts, strict=True) if host == site.host])
    monitor.read(site.elapsed_s())
    return monitor


def _pairs(hosts: list[str]) -> dict[str, tuple[int, int]]:
    pairs: dict[str, tuple[int, int]] = {}
    for rank, host in enumerate(hosts):
        first = hosts.index(host)
        if first != rank:
            pairs.setdefault("memory", (first, rank))
        if host != hosts[0]:
            pairs.setdefault("network", (0, rank))
    return pairs


def _thresholds(site: CampaignRank, max_bytes: int) -> tuple[list[Measurement], dict[str, int | None]]:
    """Find the semantic breakpoints of each level. Returns the largest eager size on all ranks."""
    measurements: list[Measurement] = []
    eager: dict[str, int | None] = {}
    for level, (leader, _) in site.pairs.items():
        sizes: dict[str, int | None] = {}
        if site.peer(level) is not None:
            sizes["eager"] = largest(partial(_passes, site, level, "deadlock", SEND_LIMIT_S * 1e9), max_bytes)
            sizes["asynchronous"] = largest(partial(_passes, site, level, "corruption", None), max_bytes)
        wait_asleep(site.comm)
        eager[level] = site.comm.bcast(sizes.get("eager"), root=leader)
        if site.leads(level):
            measurements += [_threshold(site, level, name, size, max_bytes) for name, size in sizes.items()]
    return measurements, eager


def _passes(site: CampaignRank, level: str, test: str, limit_ns: float | None, nbytes: int) -> bool:
    """Run Algorithm 3 or 4; the leader tells its peer the outcome. Returns whether it prints "OK"."""
    peer = site.peer(level)
    assert peer is not None
    more = () if limit_ns is None else (limit_ns,)
    [failed] = site.measures.between(test, site.leads(level), peer, nbytes, *more)
    if site.leads(level):
        site.comm.send(failed, peer, VERDICT)
    else:
        failed = site.comm.recv(None, peer, VERDICT)
    return not failed


def _threshold(site: CampaignRank, level: str, name: str, size: int | None, max_bytes: int) -> Measurement:
    tested = {"tested": max_bytes, "all": int(size is None)}
    nbytes = max_bytes if size is None else size
    return Measurement(
        "threshold", (), site.elapsed_s(), level, name, nbytes, tested, site.host, site.comm.rank
    )


def _done(site: CampaignRank, experiment: Experiment, settings: Settings) -> list[Measurement]:
    """Carry out one experiment. Returns a measurement on the rank that has its durations."""
    together = experiment.kind in ("collective", "pairs", "kernel")
    if together:
        wait_asleep(site.comm)
    at_s = site.elapsed_s()
    durations = _durations(site, experiment, settings)
    if experiment.kind == "kernel":
        wait_asleep(site.comm)
    if not durations:
        return []
    params = dict(experiment.params)
    if experiment.kind in ("collective", "pairs"):
        params["ranks"] = site.comm.size
    rounded = tuple(round(ns, 1) for ns in durations)
    where = (experiment.level, experiment.name, experiment.nbytes, params, site.host, site.comm.rank)
    return [Measurement(experiment.kind, rounded, round(at_s, 6), *where)]


def _durations(site: CampaignRank, experiment: Experiment, settings: Settings) -> list[float]:
    """Return durations in ns; none on ranks that do not take part or only help."""
    kind, nbytes, repeats = experiment.kind, experiment.nbytes, settings.repeats
    if kind == "kernel":
        return [KERNELS[experiment.name].call(experiment.params)]
    if kind == "collective":
        durations = site.measures.collective(experiment.name, nbytes, repeats)
        return durations if site.comm.rank == 0 else []
    if kind == "pairs":
        peers = draw_peers(site.hosts, settings.seed, experiment.params["pairing"])
        durations = site.measures.pairs(peers[site.comm.rank], nbytes, repeats)
        return durations if site.comm.rank == 0 else []
    if kind in ("reduce_local", "pack"):
        return site.measures.local(kind, nbytes, repeats, count=repeats) if site.comm.rank == 0 else []
    peer = site.peer(experiment.level)
    if peer is None:
        return []
    sizes = {"unexpected": (experiment.params.get("entries", 0),), "burst": (nbytes, BURST)}.get(
        kind, (nbytes,)
    )
    leads = site.leads(experiment.level)
    durations = site.measures.between(kind, leads, peer, *sizes, repeats, count=repeats)
    return durations if leads else []
