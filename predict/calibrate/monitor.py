"""Frequency, temperature, power and other programs of a host, read between the experiments of a campaign.

All are files of Linux. A quantity without a readable file is left out, and named as not readable: many
virtual machines have a frequency that never changes, and neither temperature nor power.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

__all__ = ["QUANTITIES", "CpuTimes", "HostMonitor", "describe_readings", "mean_readings", "parse_cpu_times"]

INTERVAL_S = 1.0
"""Shortest time between two readings."""

TICKS_PER_S = os.sysconf("SC_CLK_TCK")

QUANTITIES = {
    "mhz": "MHz (mean of the cores)",
    "celsius": "degrees Celsius (hottest sensor)",
    "watts": "W (all processors)",
    "other_cores": "cores used by other programs",
    "stolen_cores": "cores used by other virtual machines",
}
"""Quantities of a reading, and their units."""

_FREQUENCIES = "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq"
_TEMPERATURES = ("sys/class/thermal/thermal_zone*/temp", "sys/class/hwmon/hwmon*/temp*_input")
_ENERGIES = "sys/class/powercap/*-rapl:[0-9]/energy_uj"


class CpuTimes(NamedTuple):
    """CPU seconds since the start of a machine: of its processes, and of other virtual machines."""

    used_s: float
    stolen_s: float


def parse_cpu_times(text: str) -> CpuTimes | None:
    """Return the sums over all cores by the text of /proc/stat; None: it has none."""
    ticks = text.partition("\n")[0].split()[1:]
    if len(ticks) < 8:
        return None
    user, nice, system, _, _, irq, softirq, steal = map(int, ticks[:8])
    return CpuTimes((user + nice + system + irq + softirq) / TICKS_PER_S, steal / TICKS_PER_S)


class HostMonitor:
    """Readings of this host.

    Args:
        pids: processes of the campaign on this host, whose load is not that of other programs.
        root: of the files, for tests.
    """

    def __init__(self, pids: Sequence[int], root: Path = Path("/")) -> None:
        self._root, self._pids = root, pids
        self._last: dict[str, float] = {}
        self.readings: list[dict[str, float]] = []

    def read(self, at_s: float, min_interval_s: float = INTERVAL_S) -> None:
        """Read all files, unless they were read just before. Rates are those since the reading before."""
        if self._last and at_s - self._last["at_s"] < min_interval_s:
            return
        totals = {"at_s": at_s, **self._counters()}
        reading = {"at_s": round(at_s, 3), **self._values()}
        if self._last and (elapsed_s := at_s - self._last["at_s"]) > 0:
            rates = {
                name: (totals[name] - self._last[name]) / elapsed_s
                for name in totals.keys() & self._last.keys() - {"at_s"}
            }
            if rates.get("watts", 0.0) < 0:  # the counter of energy began again
                del rates["watts"]
            reading |= {name: max(0.0, round(rate, 3)) for name, rate in sorted(rates.items())}
        if self._last:  # the first reading has no rates
            self.readings.append(reading)
        self._last = totals

    def _values(self) -> dict[str, float]:
        megahertz = [value / 1e3 for value in self._numbers(_FREQUENCIES)] or self._processor_mhz()
        temperatures = [value / 1e3 for pattern in _TEMPERATURES for value in self._numbers(pattern)]
        values = {}
        if megahertz:
            values["mhz"] = round(fmean(megahertz), 3)
        if temperatures:
            values["celsius"] = max(temperatures)
        return values

    def _counters(self) -> dict[str, float]:
        """Return sums since the start of the machine, by the names of their rates: J, and s of cores."""
        counters = {}
        energies = self._numbers(_ENERGIES, self._is_processor)
        if energies:
            counters["watts"] = sum(energies) / 1e6
        times = parse_cpu_times(self._text("proc/stat"))
        if times is not None:
            own_s = sum(map(self._used_s, self._pids))
            counters |= {"other_cores": times.used_s - own_s, "stolen_cores": times.stolen_s}
        return counters

    def _used_s(self, pid: int) -> float:
        """Return the CPU time of a process; 0 if it has ended."""
        fields = self._text(f"proc/{pid}/stat").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS_PER_S if len(fields) > 12 else 0

    def _processor_mhz(self) -> list[float]:
        lines = (line.partition(":") for line in self._text("proc/cpuinfo").splitlines())
        texts = [value.strip() for name, _, value in lines if name.strip() == "cpu MHz"]
        return [float(text) for text in texts if text.replace(".", "", 1).isdecimal()]

    def _is_processor(self, path: Path) -> bool:
        """Return whether a counter of energy is of a processor, not of the platform around it."""
        return self._text(path.with_name("name")).startswith("package")

    def _numbers(self, pattern: str, is_wanted: Callable[[Path], bool] = lambda path: True) -> list[float]:
        texts = [self._text(path) for path in sorted(self._root.glob(pattern)) if is_wanted(path)]
        return [float(text) for text in texts if text.lstrip("-").isdecimal()]

    def _text(self, path: str | Path) -> str:
        try:
            return (self._root / path).read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return ""


def mean_readings(readings: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Return the mean of each quantity that was read."""
    listed = list(readings)
    values = {name: [row[name] for row in listed if name in row] for name in QUANTITIES}
    return {name: fmean(numbers) for name, numbers in values.items() if numbers}


def describe_readings(means: Mapping[str, float]) -> str:
    """Return the means in words, with the quantities that could not be read."""
    read = [f"{means[name]:.4g} {unit}" for name, unit in QUANTITIES.items() if name in means]
    missing = [unit for name, unit in QUANTITIES.items() if name not in means]
    parts = ["monitored: " + ", ".join(read)] if read else []
    return "; ".join([*parts, *(["not readable: " + ", ".join(missing)] if missing else [])])
