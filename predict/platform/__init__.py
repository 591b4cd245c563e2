"""Platforms: machines described by LogGOPS parameters, node sizes and collective algorithms.

In: a TOML file, or fitted measurements. Out: a `Platform`, or the file.
"""

from scalatrace.predict.platform.algorithms import AlgorithmRule
from scalatrace.predict.platform.model import (
    Check,
    MatchingCost,
    Network,
    NetworkTopology,
    Platform,
    Segment,
    StridedCost,
)
from scalatrace.predict.platform.reader import example_names, read_platform
from scalatrace.predict.platform.writer import add_check, platform_text, write_platform

__all__ = [
    "AlgorithmRule",
    "Check",
    "MatchingCost",
    "Network",
    "NetworkTopology",
    "Platform",
    "Segment",
    "StridedCost",
    "add_check",
    "example_names",
    "platform_text",
    "read_platform",
    "write_platform",
]  # fmt: skip
