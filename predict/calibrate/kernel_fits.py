"""Kernel models and a cluster from the kernels that campaigns measured."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from scalatrace.errors import FormatError
from scalatrace.predict.calibrate.archive import Archive
from scalatrace.predict.kernels import Cluster, KernelCall, KernelModels, NodeDay, fit_cluster, fit_kernel

__all__ = ["cluster_of", "kernels_of"]


def kernels_of(archives: Sequence[Archive]) -> KernelModels:
    """Fit the models of all kernels, of single hosts too if they differ. Raises FormatError without any."""
    calls = _calls(archives)
    if not calls:
        raise FormatError("the archive has no kernels; measure again with --kernel-calls above 0")
    return KernelModels(model for name, some in calls.items() for model in fit_kernel(name, some))


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
        for host, some in groupby(calls, lambda call: call.host):
            [model] = fit_kernel(kernel, list(some), model="M-1", noise="N-2")
            unit = "*".join(model.parameters)
            mean, deviation = model.mean_ns.coefficients, model.deviation_ns.coefficients
            observed.append(NodeDay(host, str(day), (mean[unit], mean["1"], deviation[unit])))
    if not observed:
        raise FormatError(
            f"no archive has calls of the kernel {kernel}; measure again with --kernel-names {kernel}"
        )
    return fit_cluster(observed, unit=unit)


def _calls(archives: Sequence[Archive]) -> dict[str, list[KernelCall]]:
    result: dict[str, list[KernelCall]] = {}
    for archive in archives:
        for m in archive.of("kernel"):
            result.setdefault(m.name, []).extend(KernelCall(dict(m.params), ns, m.host) for ns in m.ns)
    return result
