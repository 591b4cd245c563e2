"""The output of OSU benchmarks: tables, platforms, and wrong files."""

from __future__ import annotations

from pathlib import Path

import pytest

from scalatrace.cli import main
from scalatrace.errors import FormatError
from scalatrace.predict.calibrate import fit_archive
from scalatrace.predict.calibrate.osu import is_osu, read_osu, read_osu_table
from scalatrace.predict.platform import platform_text, read_platform
from support.programs import SAMPLES

OSU = SAMPLES / "osu"
CORES = {"lassen": 44, "quartz": 36}
"""Of a node, tables 4.1 and 4.3 of Dominguez-Trujillo (2021)."""


def files(machine: str, level: str) -> list[str]:
    return [str(OSU / f"{machine}-{level}-{test}.txt") for test in ("latency", "bw")]


def test_tables() -> None:
    kind, latency = read_osu_table(OSU / "lassen-inter-latency.txt")
    assert (kind, len(latency), latency[0], latency[-1]) == ("pingpong", 23, (1, 1090.0), (4194304, 308250.0))
    kind, interval = read_osu_table(OSU / "quartz-intra-bw.txt")
    assert kind == "burst"
    assert interval[-1][1] == pytest.approx(4194304 / 10548.84e6 * 1e9)


@pytest.mark.parametrize("machine", CORES)
def test_installed_platforms_are_those_of_the_tables(machine: str) -> None:
    archive = read_osu(files(machine, "inter"), files(machine, "intra"), CORES[machine])
    assert platform_text(fit_archive(archive, machine).platform) == platform_text(read_platform(machine))


@pytest.mark.parametrize("machine", CORES)
def test_messages_take_the_measured_times(machine: str) -> None:
    fit = fit_archive(read_osu(files(machine, "inter"))).fits["network"]
    assert fit.error < 0.03
    assert fit.worst_error < 0.16


def test_the_newer_columns_and_a_size_of_zero(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text(
        "\n# OSU MPI-CUDA Latency Test v7.3\n# Size     Avg Latency(us)   P50\n0   1.50  1.4\n8  1.60 1.5\n"
    )
    assert is_osu(file)
    assert read_osu_table(file) == ("pingpong", [(0, 1500.0), (8, 1600.0)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# OSU MPI Bidirectional Bandwidth Test\n1 2\n", "no output of osu_latency or osu_bw"),
        ("# OSU MPI Latency Test\n1 fast\n", "line 2 is no size with a value"),
        ("# OSU MPI Latency Test\n1\n", "line 2 is no size with a value"),
        ("# OSU MPI Latency Test\n1 0.0\n", "line 2: sizes are 0 or more, values above 0"),
        ("# OSU MPI Latency Test\n", "no sizes"),
    ],
)
def test_wrong_files(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text(text)
    with pytest.raises(FormatError, match=message):
        read_osu_table(file)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "p.toml"
    assert main(["calibrate", "--from", *files("lassen", "inter"), "-o", str(output)]) == 0
    assert read_platform(output).network.segments[0].latency_ns == pytest.approx(1094.1)
    assert main(["calibrate", "--from", files("lassen", "inter")[1], "-o", str(output)]) == 2
    assert "only bandwidths" in capsys.readouterr().err
    assert main(["calibrate", "--within-node", *files("lassen", "intra"), "-o", str(output)]) == 2
    assert "--within-node needs --from" in capsys.readouterr().err
