"""Platforms: machines described by LogGOPS parameters, node sizes and collective algorithms.

In: a TOML file, or fitted measurements. Out: a `Platform`, or the file.
"""

from scalatrace.predict.platform.algorithms import Rule
from scalatrace.predict.platform.model import (
    Check,
    MatchingCost,
    Network,
    Platform,
    Segment,
    StridedCost,
    Topology,
)
from scalatrace.predict.platform.platform_file import (
    add_check,
    example_names,
    platform_text,
    read_platform,
    write_platform,
)

__all__ = [
    "Check", "MatchingCost", "Network", "Platform", "Rule", "Segment", "StridedCost", "Topology",
    "add_check", "example_names", "platform_text", "read_platform", "write_platform",
]  # fmt: skip
