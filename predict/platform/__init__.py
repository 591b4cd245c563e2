"""Platforms: machines described by LogGOPS parameters, node sizes and collective algorithms.

In: a TOML file, or fitted measurements. Out: a `Platform`, or the file.
"""

from scalatrace.predict.platform.algorithms import Rule
from scalatrace.predict.platform.model import MatchingCost, Network, Platform, Segment, StridedCost, Topology
from scalatrace.predict.platform.reader import example_names, read_platform
from scalatrace.predict.platform.writer import platform_text, write_platform

__all__ = [
    "MatchingCost", "Network", "Platform", "Rule", "Segment", "StridedCost", "Topology",
    "example_names", "platform_text", "read_platform", "write_platform",
]  # fmt: skip
