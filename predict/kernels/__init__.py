"""Models of computation: durations of kernels by their parameters, and clusters of unequal nodes.

In: measured calls of kernels, or files. Out: `KernelModels`, and a `Cluster` that samples nodes.
"""

from scalatrace.predict.kernels.annotated import annotated_calls, fit_traces
from scalatrace.predict.kernels.cluster import (
    Cluster,
    NodeDay,
    NodeGroup,
    SampledNodes,
    fit_cluster,
    read_cluster,
    write_cluster,
)
from scalatrace.predict.kernels.fitting import KernelCall, fit_kernel
from scalatrace.predict.kernels.model import (
    KernelModel,
    KernelModels,
    Polynomial,
    read_kernels,
    write_kernels,
)

__all__ = [
    "Cluster",
    "KernelCall",
    "KernelModel",
    "KernelModels",
    "NodeDay",
    "NodeGroup",
    "Polynomial",
    "SampledNodes",
    "annotated_calls",
    "fit_cluster",
    "fit_kernel",
    "fit_traces",
    "read_cluster",
    "read_kernels",
    "write_cluster",
    "write_kernels",
]  # fmt: skip
