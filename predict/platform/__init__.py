"""Platforms: machines described by LogGOPS parameters, node sizes and collective algorithms.

In: a TOML file, or fitted measurements. Out: a `Platform`, or the file.
"""

from scalatrace.predict.platform.algorithms import AlgorithmRule
from scalatrace.predict.platform.model import (
    NOISE_PARTS,
    MatchingCost,
    Network,
    Platform,
    PlatformCheck,
    Segment,
    StridedCost,
)
from scalatrace.predict.platform.platform_file import (
    add_check,
    example_names,
    platform_text,
    read_platform,
    write_platform,
)
from scalatrace.predict.platform.topology import NetworkTopology, TopologyLink
from scalatrace.predict.platform.topology_shape import TopologyShape

__all__ = [
    "NOISE_PARTS",
    "AlgorithmRule",
    "MatchingCost",
    "Network",
    "NetworkTopology",
    "Platform",
    "PlatformCheck",
    "Segment",
    "StridedCost",
    "TopologyLink",
    "TopologyShape",
    "add_check",
    "example_names",
    "platform_text",
    "read_platform",
    "write_platform",
]  # fmt: skip
