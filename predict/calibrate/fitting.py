"""Fit platforms, kernel models and clusters to archives of measurements. Nothing is measured here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import median

import numpy as np

from scalatrace.errors import FormatError
from scalatrace.predict.calibrate.archive import Archive, Measurement
from scalatrace.predict.calibrate.collectives import CollectiveTime, collective_times, fit_rules
from scalatrace.predict.calibrate.loggops import NetworkFit, fit_network
from scalatrace.predict.calibrate.monitor import describe_readings, mean_readings
from scalatrace.predict.calibrate.plan import FIXED
from scalatrace.predict.calibrate.typical import by_size, series, typical
from scalatrace.predict.kernels import Cluster, KernelCall, KernelModels, NodeDay, fit_cluster, fit_kernel
from scalatrace.predict.platform import MatchingCost, Platform, StridedCost
from scalatrace.predict.platform.library_rules import library_name
from scalatrace.stats.piecewise import fit_piecewise

__all__ = ["Calibration", "cluster_of", "fit_archive", "kernels_of", "parameters_of"]

MAX_HOSTS_NAMED = 4

MAX_DISTURBED = 0.2
"""Share of interrupted repeats beyond which the cores were shared with other programs."""

MAX_OTHER_CORES = 0.2
"""Cores of a host that other programs may use during a campaign, as its monitor reads."""

MAX_ERROR, MAX_WORST_ERROR = 0.1, 0.5
"""Median and largest relative error of predicted messages beyond which the parameters do not fit."""


@dataclass(frozen=True)
class BisectionBandwidth:
    """The effective bisection bandwidth (Hoefler, Schneider, Lumsdaine 2008): of ranks in random pairs.

    Attributes:
        nbytes: of each message.
        alone_gb_s: bandwidth of a pair alone in one direction, both exchange.
        share, low, high: mean bandwidth of the pairs over that: median of the pairings, and 95 % of them.
    """

    ranks: int
    nbytes: int
    alone_gb_s: float
    share: float
    low: float
    high: float
    pairings: int


@dataclass(frozen=True)
class Calibration:
    """A platform and what it was fitted to.

    Attributes:
        fits: by level, "memory" and "network".
        bisection: None: not measured, as with fewer than four ranks.
        collectives: measured times, and those that the platform predicts by the rules of the measured MPI.
    """

    platform: Platform
    fits: Mapping[str, NetworkFit]
    collectives: tuple[CollectiveTime, ...]
    bisection: BisectionBandwidth | None = None


def fit_archive(archive: Archive, name: str = "calibrated", rules: bool = False) -> Calibration:
    """Fit a platform.

    Args:
        rules: fit rules for algorithms of collective operations, too, for the measured number of ranks.

    On one node there are no messages between nodes: `network` then has the parameters within the node, and
    all ranks are on one node.

    Raises:
        FormatError: measurements are missing.
    """
    levels = [level for level in ("memory", "network") if archive.of("pingpong", level)]
    if not levels:
        raise FormatError("the archive has no ping-pong: nothing to fit; measure again")
    fits = {level: fit_network(archive, level) for level in levels}
    several = "network" in fits
    platform = Platform(
        name=name,
        description=_description(archive),
        source="; ".join([f"scalatrace calibrate, {_started(archive)}", *_monitored(archive)]),
        mpi=library_name(_mpi(archive)),
        thread_level=str(archive.metadata.get("thread_level", "")),
        doubts="; ".join(
            [text for level, fit in fits.items() for text in _doubts(level, fit)] + list(_busy(archive))
        ),
        ranks_per_node=_ranks_per_node(archive) if several else 0,
        measured_up_to_bytes=max(measurement.nbytes for measurement in archive.of("pingpong", levels[-1])),
        network=fits["network" if several else "memory"].network,
        memory=fits["memory"].network if several and "memory" in fits else None,
        reduce_per_byte_ns=round(_per_byte_ns(archive.of("reduce_local")), 6),
        matching=MatchingCost(round(_per_entry_ns(archive, levels[-1]), 3)),
        strided=StridedCost(round(_per_byte_ns(archive.of("pack")), 6)),
    )
    times = collective_times(archive.of("collective"), platform)
    if rules:
        platform = replace(platform, collectives=fit_rules(times))
        times = collective_times(archive.of("collective"), platform)
    return Calibration(platform, fits, times, _bisection(archive))


def _doubts(level: str, fit_: NetworkFit) -> Iterator[str]:
    """Yield the checks of a campaign that fail."""
    where = {"memory": "within a node", "network": "between nodes"}[level]
    if fit_.disturbed > MAX_DISTURBED:
        yield f"{fit_.disturbed:.0%} of the repeats {where} were interrupted: other programs used the cores"
    if fit_.error > MAX_ERROR or fit_.worst_error > MAX_WORST_ERROR:
        off = f"{fit_.error:.0%} (median) and {fit_.worst_error:.0%} (worst)"
        yield f"predicted times of messages {where} are off by {off}"


def _started(archive: Archive) -> str:
    return str(archive.metadata.get("started", "unknown time"))


def _readings(archive: Archive) -> dict[str, dict[str, float]]:
    """Return the means of the readings of each host."""
    monitored: Mapping[str, Sequence[Mapping[str, float]]] = archive.metadata.get("monitor", {})
    return {host: mean_readings(readings) for host, readings in monitored.items()}


def _monitored(archive: Archive) -> list[str]:
    """Describe the readings of all hosts."""
    described = {host: describe_readings(means) for host, means in _readings(archive).items()}
    return [f"{host} {text}" if len(described) > 1 else text for host, text in described.items()]


def _busy(archive: Archive) -> Iterator[str]:
    """Yield a doubt for each host whose cores other programs used."""
    for host, means in _readings(archive).items():
        if (cores := means.get("other_cores", 0.0)) > MAX_OTHER_CORES:
            yield f"other programs used {cores:.2g} cores of {host}"


def parameters_of(archive: Archive) -> dict[str, float]:
    """Return the durations by which campaigns are compared: of messages of fixed sizes, and of kernels."""
    result: dict[str, float] = {}
    for level in ("memory", "network"):
        times = by_size(archive.of("pingpong", level))
        result |= {f"{level} {n} B, ns": typical(times[n]) for n in FIXED if n in times}
    kernels = sorted(archive.of("kernel"), key=lambda m: (m.name, m.rank))
    for (name, rank), measured in groupby(kernels, lambda m: (m.name, m.rank)):
        times_ns = [sum(measurement.ns) for measurement in measured]
        result[f"{name} of rank {rank}, ns"] = sum(times_ns) / len(times_ns)
    return result


def _description(archive: Archive) -> str:
    if described := archive.metadata.get("description"):
        return str(described)
    hosts: Mapping[str, Mapping[str, object]] = archive.metadata.get("hosts", {})
    processors = sorted({str(facts.get("processor", "unknown processor")) for facts in hosts.values()})
    mpi = _mpi(archive).split(",")[0]
    named = ", ".join(sorted(hosts)) if len(hosts) <= MAX_HOSTS_NAMED else f"{len(hosts)} hosts"
    return f"{named or 'unknown host'}: {', '.join(processors)}; {mpi}"


def _bisection(archive: Archive) -> BisectionBandwidth | None:
    """Compare random pairs with the pair alone. Durations of a pairing are of its mean bandwidth."""
    measurements = archive.of("pairs")
    times = by_size(measurements, lambda m: m.params["pairing"])
    if 0 not in times or len(times) < 2:
        return None
    alone_ns = typical(times[0])
    shares = [alone_ns / typical(ns) for pairing, ns in times.items() if pairing]
    low, high = (float(value) for value in np.quantile(shares, (0.025, 0.975)))
    ranks, nbytes = measurements[0].params.get("ranks", 0), measurements[0].nbytes
    return BisectionBandwidth(ranks, nbytes, nbytes / alone_ns, median(shares), low, high, len(shares))


def _mpi(archive: Archive) -> str:
    return str(archive.metadata.get("versions", {}).get("mpi", "unknown MPI"))


def _ranks_per_node(archive: Archive) -> int:
    placement = archive.metadata.get("placement", [])
    return max((placement.count(host) for host in set(placement)), default=1)


def _per_byte_ns(measurements: Sequence[Measurement]) -> float:
    sizes, ns = series(measurements)
    return fit_piecewise(sizes, ns, max_breakpoints=0).pieces[0].slope if len(sizes) > 1 else 0.0


def _per_entry_ns(archive: Archive, level: str) -> float:
    """Return the slope over the entries of the queue."""
    entries, times = series(archive.of("unexpected", level), lambda m: m.params.get("entries", 0))
    if len(entries) < 2:
        return 0.0
    return fit_piecewise(entries, times, "ordinary", max_breakpoints=0).pieces[0].slope


def kernels_of(archives: Sequence[Archive]) -> KernelModels:
    """Fit the models of all kernels, of single hosts too if they differ. Raises FormatError without any."""
    calls = _calls(archives)
    if not calls:
        raise FormatError("the archive has no kernels; measure again with --kernel-calls above 0")
    return KernelModels(
        model for name, kernel_calls in calls.items() for model in fit_kernel(name, kernel_calls)
    )


def cluster_of(archives: Sequence[Archive], kernel: str = "dgemm") -> Cluster:
    """Fit a cluster to the models M-1 of a kernel on each host; each archive is one day.

    Raises:
        FormatError: no archive has calls of the kernel.
        UsageError: there are fewer than two hosts.
    """
    observed = []
    unit = ""
    for day, archive in enumerate(archives):
        calls = sorted(_calls([archive]).get(kernel, []), key=lambda call: call.host)
        for host, host_calls in groupby(calls, lambda call: call.host):
            [model] = fit_kernel(kernel, list(host_calls), model="M-1", noise="N-2")
            unit = "*".join(model.parameters)
            mean, deviation = model.mean_ns.coefficients, model.deviation_ns.coefficients
            observed.append(NodeDay(host, str(day), (mean[unit], mean["1"], deviation[unit])))
    if not observed:
        raise FormatError(
            f"no archive has calls of the kernel {kernel}; measure again with --kernel-names {kernel}"
        )
    return fit_cluster(observed, unit=unit)


def _calls(archives: Sequence[Archive]) -> dict[str, list[KernelCall]]:
    calls: dict[str, list[KernelCall]] = {}
    for archive in archives:
        for m in archive.of("kernel"):
            calls.setdefault(m.name, []).extend(KernelCall(dict(m.params), ns, m.host) for ns in m.ns)
    return calls
