"""Monitors of hosts: readings from files of Linux, their means, and tables of campaigns."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scalatrace.cli import main
from scalatrace.errors import FormatError
from scalatrace.predict.calibrate import Archive, Measurement, fit_archive
from scalatrace.predict.calibrate.archive import read_archive, write_archive
from scalatrace.predict.calibrate.fitting import parameters_of
from scalatrace.predict.calibrate.monitor import HostMonitor, describe_readings, mean_readings
from scalatrace.predict.regress import read_table

TICKS = os.sysconf("SC_CLK_TCK")


def write(root: Path, files: dict[str, object]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"{text}\n")


def stat(busy_s: float, stolen_s: float = 0) -> str:
    return f"cpu  {round(busy_s * TICKS)} 0 0 7 0 0 0 {round(stolen_s * TICKS)} 0 0"


def process(seconds: float) -> str:
    return f"7 (a b) R {' '.join(['0'] * 10)} {round(seconds * TICKS)} 0 0"


def test_all_files(tmp_path: Path) -> None:
    cpus, energy = "sys/devices/system/cpu/cpu{}/cpufreq/scaling_cur_freq", "sys/class/powercap/intel-rapl:0"
    write(tmp_path, {f"{energy}/name": "package-0", "sys/class/powercap/intel-rapl:1/name": "psys"})
    write(tmp_path, {"sys/class/powercap/intel-rapl:1/energy_uj": 5_000_000})
    write(tmp_path, {cpus.format(0): 2_000_000, cpus.format(1): 3_000_000, f"{energy}/energy_uj": 1_000_000})
    write(
        tmp_path,
        {"sys/class/thermal/thermal_zone0/temp": 41_500, "proc/stat": stat(10), "proc/7/stat": process(1)},
    )
    monitor = HostMonitor([7], tmp_path)
    monitor.read(0.0)
    write(tmp_path, {f"{energy}/energy_uj": 81_000_000, "proc/stat": stat(16, 1), "proc/7/stat": process(4)})
    monitor.read(0.5)  # too soon
    monitor.read(2.0)
    [reading] = monitor.readings
    expected = {"mhz": 2500, "celsius": 41.5, "watts": 40, "other_cores": 1.5, "stolen_cores": 0.5}
    assert reading == {"at_s": 2.0, **expected}
    write(tmp_path, {f"{energy}/energy_uj": 0})  # the counter began again
    monitor.read(4.0)
    assert "watts" not in monitor.readings[1]
    assert mean_readings(monitor.readings) == pytest.approx(
        {**expected, "other_cores": 0.75, "stolen_cores": 0.25}
    )


def test_nothing_is_readable(tmp_path: Path) -> None:
    monitor = HostMonitor([], tmp_path)
    monitor.read(0.0)
    monitor.read(2.0)
    assert monitor.readings == [{"at_s": 2.0}]
    text = describe_readings(mean_readings(monitor.readings))
    assert text.startswith("not readable: MHz")
    assert "W (all processors)" in text


def test_virtual_machines_have_the_frequency_of_cpuinfo(tmp_path: Path) -> None:
    write(tmp_path, {"proc/cpuinfo": "processor : 0\ncpu MHz\t: 2445.5\n\nprocessor : 1\ncpu MHz\t: 2445.5"})
    monitor = HostMonitor([], tmp_path)
    monitor.read(0.0)
    monitor.read(2.0)
    assert monitor.readings[0]["mhz"] == 2445.5


def archive(other_cores: float) -> Archive:
    pingpong = [
        Measurement("pingpong", (1000.0 + n / 10,) * 4, level="memory", nbytes=n)
        for n in (0, 1, 8, 1024, 65536)
    ]
    kernels = [
        Measurement("kernel", (50.0 * (rank + 1),), name="dgemm", params={"n": 1}, rank=rank)
        for rank in (0, 1)
    ]
    readings = {"here": [{"at_s": 1.0, "mhz": 2000.0, "other_cores": other_cores}]}
    return Archive({"started": "today", "whole_messages": True, "monitor": readings}, (*pingpong, *kernels))


def test_platforms_and_tables_have_the_readings() -> None:
    platform = fit_archive(archive(0.1)).platform
    assert "monitored: 2000 MHz" in platform.source
    assert "not readable: degrees Celsius" in platform.source
    assert not platform.doubts
    assert fit_archive(archive(0.5)).platform.doubts == "other programs used 0.5 cores of here"
    parameters = parameters_of(archive(0.1))
    assert parameters["memory 1024 B, ns"] == pytest.approx(1102.4)
    assert (parameters["dgemm of rank 0, ns"], parameters["dgemm of rank 1, ns"]) == (50, 100)
    assert not any("other_cores" in name for name in parameters)


@pytest.mark.parametrize(
    "header", ['"monitor": 5', '"monitor": {"a": [1]}', '"hosts": 5', '"hosts": {"a": 1}']
)
def test_damaged_headers_are_refused(header: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"format": "scalatrace calibration", "version": 1, {header}}}\n')
    with pytest.raises(FormatError, match=r"line 1: '(monitor|hosts)' must have"):
        read_archive(path)


def test_tables_are_of_equal_campaigns_in_their_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = []
    for started, seed in (("2026-02", 1), ("2026-01", 1), ("2026-03", 2)):
        campaign = archive(0.1)
        campaign.metadata.update(started=started, settings={"seed": seed})
        paths.append(tmp_path / f"{started}.jsonl")
        write_archive(paths[-1], campaign)
    table, platform = tmp_path / "t.csv", tmp_path / "p.toml"
    words = ["-o", str(platform), "--table", str(table)]
    assert main(["calibrate", "--from", *map(str, paths[:2]), *words]) == 0
    assert read_table(table).names == ("2026-01", "2026-02")
    platform.unlink()
    assert main(["calibrate", "--from", *map(str, paths), *words]) == 2
    assert "other options or seeds" in capsys.readouterr().err
    assert not platform.exists()
