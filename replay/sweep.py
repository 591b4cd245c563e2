"""Replays over a grid of what-if factors (Figures 3.14 and 4.10): one replay each, in its own processes."""

from __future__ import annotations

import itertools
import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from scalatrace.compilers.programs import run_tool
from scalatrace.replay.common.errors import ReplayError

__all__ = ["SweepResult", "SweepSetting", "grid", "measure_replay"]


@dataclass(frozen=True)
class SweepSetting:
    """What one point of the grid is."""

    compute_scale: float = 1.0
    bytes_scale: float = 1.0
    collectives: str = "native"

    def options(self) -> list[str]:
        """Return the options of `scalatrace replay`."""
        scales = ["--compute-scale", str(self.compute_scale), "--bytes-scale", str(self.bytes_scale)]
        return [*scales, "--collectives", self.collectives]


@dataclass(frozen=True)
class SweepResult:
    """How long the replays of a setting took: seconds of the slowest rank, of all repetitions."""

    setting: SweepSetting
    seconds: tuple[float, ...]

    @property
    def median_s(self) -> float:
        """The median over the repetitions."""
        return statistics.median(self.seconds)

    def row(self) -> dict[str, float | str]:
        """Return the columns of a table."""
        times = {"median_s": self.median_s, "least_s": min(self.seconds), "most_s": max(self.seconds)}
        return {**asdict(self.setting), **times}


def grid(compute: Sequence[float], nbytes: Sequence[float], collectives: Sequence[str]) -> list[SweepSetting]:
    """Return all combinations."""
    return [SweepSetting(c, b, how) for how, b, c in itertools.product(collectives, nbytes, compute)]


def measure_replay(command: Sequence[str | Path], setting: SweepSetting) -> float:
    """Replay once and return the seconds it took.

    Args:
        command: launcher, `scalatrace replay`, the trace, and options for all settings.

    Raises:
        ReplayError: it failed; the message has its output.
    """
    process = run_tool([*command, *setting.options(), "--json"])
    if process.returncode:
        errors = "\n".join(process.stderr.strip().splitlines()[:20])
        raise ReplayError(f"the replay with {' '.join(setting.options())} failed:\n{errors}")
    try:
        return float(json.loads(process.stdout)["wall_s"])
    except (ValueError, KeyError, TypeError):
        raise ReplayError(
            f"the replay did not end with a report, but with {process.stdout[:200]!r}"
        ) from None
