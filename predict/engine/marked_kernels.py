"""Durations of kernels that a program marks, from models in place of recorded times.

A kernel is marked by two Pcontrol events, with its name and sizes in the first one
(docs/guide/calibrate.md). The computation before the second event is the kernel's. Both become nodes KERNEL
of the simulator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.errors import UsageError
from scalatrace.executor.binding import PS
from scalatrace.executor.call_times import picoseconds
from scalatrace.executor.fields import EngineQuantity, constant
from scalatrace.executor.parameters import Parameters
from scalatrace.predict.kernels import KernelModel, KernelModels
from scalatrace.predict.kernels.annotated import BEGINS, ENDS, parse_kernel
from scalatrace.predict.platform import Platform
from scalatrace.trace.model.trace import Trace

__all__ = ["KernelTimes", "MarkedKernels"]

_END, _UNKNOWN = -2, -1
"""enum st_sim_mark."""
_MEAN, _DEVIATION, _IS_HALF_NORMAL = range(3)
_FIELDS = {"nbytes": _MEAN, "tag": _DEVIATION, "peer": _IS_HALF_NORMAL}
"""Fields of the C node."""


@dataclass(frozen=True)
class KernelTimes:
    """Models of kernels, and which of them each rank takes.

    Attributes:
        hosts: [nranks] host of each rank; "": the model of all hosts. Empty: so for all ranks.
    """

    models: KernelModels
    hosts: Sequence[str] = ()

    @classmethod
    def on(cls, platform: Platform, models: KernelModels, nranks: int) -> KernelTimes:
        """Give the nodes of a platform the hosts of the models, in their order; further nodes have none.

        Ranks that are all on one node have none, either: the models do not name its host.
        """
        if platform.count_nodes(nranks) == 1 and not platform.ranks_per_node:
            return cls(models)
        hosts = list(dict.fromkeys(model.host for model in models.models if model.host))
        nodes = platform.nodes_of(nranks).tolist()
        return cls(models, [hosts[node] if node < len(hosts) else "" for node in nodes])


class MarkedKernels:
    """The kernels of one trace; collects which of them have models."""

    def __init__(self, trace: Trace, times: KernelTimes) -> None:
        self._trace, self._models = trace, times.models
        hosts = list(times.hosts) or [""] * trace.nprocs
        if len(hosts) != trace.nprocs:
            raise UsageError(f"{len(hosts)} hosts of ranks for a trace of {trace.nprocs} ranks")
        self._hosts, numbers = np.unique(hosts, return_inverse=True)
        self._host_of = numbers.astype(np.int64)
        self._known: set[str] = set()
        self._unknown: set[str] = set()
        self._beyond: dict[str, tuple[float, float]] = {}  # largest product of sizes, and the measured one

    def fields(self, parameters: Parameters) -> dict[str, EngineQuantity]:
        """Return the fields of an annotation's node.

        Raises:
            UsageError: a size was recorded as a histogram, or a model needs a size that the mark lacks.
        """
        if not {"level", "kernel"} <= set(parameters.names):
            return {"nbytes": constant(_UNKNOWN)}
        sizes = [name for name in parameters.names if name.startswith("size")]
        names = ["level", "kernel", *sizes]
        classes = parameters.classes(*names).divided("host", self._host_of)
        return {
            field: classes.derive([*names, "host"], partial(self._moment, number))
            for field, number in _FIELDS.items()
        }

    def _moment(self, number: int, *values: Any) -> Ints:
        """Return one of the moments of successive executions, by level, kernel, sizes and host."""
        levels, kernels, *sizes, hosts = np.broadcast_arrays(*map(np.atleast_1d, values))
        result = np.full(len(levels), _UNKNOWN if number == _MEAN else 0, dtype=np.int64)
        if number == _MEAN:
            result[levels == ENDS] = _END
        for kernel in np.unique(kernels[levels == BEGINS]).tolist():
            name, parameters = parse_kernel(self._trace.string(kernel))
            model = self._model(name, str(self._hosts[int(hosts[0])]))
            if model is None:
                continue
            is_begin = (levels == BEGINS) & (kernels == kernel)
            of_calls = {p: size[is_begin].astype(float) for p, size in zip(parameters, sizes, strict=False)}
            result[is_begin] = _moment_of(model, number, of_calls)
            self._note_range(model, of_calls)
        return result

    def _model(self, name: str, host: str) -> KernelModel | None:
        model = self._models.find(name, host)
        (self._unknown if model is None else self._known).add(name)
        return model

    def _note_range(self, model: KernelModel, params: dict[str, Any]) -> None:
        """Note a call with larger sizes than the model was fitted to."""
        if model.measured_up_to and params:
            largest = float(np.max(prod(params.values()), initial=0.0))
            if largest > max(model.measured_up_to, self._beyond.get(model.name, (0.0, 0.0))[0]):
                self._beyond[model.name] = largest, model.measured_up_to

    def notes(self) -> dict[str, str]:
        """Return notes about kernels that lack a model or a mark, by their names.

        Raises:
            UsageError: no kernel of the trace has a model.
        """
        modelled = {model.name for model in self._models.models}
        if not self._known and self._unknown & modelled:
            raise UsageError(
                f"the models of kernels ({_join(modelled)}) are of single hosts, and the nodes of ranks "
                "are not known: give ranks_per_node in the platform, or add models without host"
            )
        if not self._known:
            marked = f"marks {_join(self._unknown)}" if self._unknown else "marks no kernels"
            raise UsageError(
                f"the models of kernels ({_join(modelled) or 'none'}) do not apply: the trace {marked}; "
                'mark them by scalatrace.kernel("dgemm", m=m, n=n, k=k) under the names of the models'
            )
        notes = {
            f"kernel {name}": "has no model on some ranks: takes its recorded times there"
            if name in self._known
            else "has no model: takes its recorded times"
            for name in self._unknown
        }
        for name, (largest, measured) in self._beyond.items():
            beyond = f"sizes up to a product of {largest:.3g}, the model was measured up to {measured:.3g}"
            notes[f"kernel {name}"] = "; ".join(filter(None, [notes.get(f"kernel {name}"), beyond]))
        unused = modelled - self._known - self._unknown
        return notes | {f"kernel {name}": "has a model, but the trace does not mark it" for name in unused}


def _moment_of(model: KernelModel, number: int, params: dict[str, Any]) -> Any:
    """Return a moment in picoseconds, or whether the noise is half-normal."""
    if number == _IS_HALF_NORMAL:
        return int(model.noise == "N-2")
    if number == _DEVIATION and model.noise == "N-0":
        return 0
    polynomial = model.mean_ns if number == _MEAN else model.deviation_ns
    try:
        growing = model.mean_ns.without_constant
        work = growing.at(params) if growing.coefficients else 1
        # Programs that poll call kernels with a size of 0: the constant is not measured there.
        moments = np.rint(np.where(work, np.maximum(0.0, polynomial.at(params)), 0.0) * PS)
    except UsageError as error:
        raise UsageError(f"kernel {model.name}: {error}") from None
    picoseconds(float(np.max(moments, initial=0.0)), f"a time of kernel {model.name}")
    return moments


def _join(names: set[str]) -> str:
    return ", ".join(sorted(names))
