"""`scalatrace report`: the file it writes, its options, and its messages."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Any

import pytest

import scalatrace
from scalatrace.cli import main
from scalatrace.trace.io.writer import save
from support.drawing import json_of
from support.reported import extrapolate_rings, ring, timed


@pytest.fixture
def traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Names of two traces in the current folder."""
    monkeypatch.chdir(tmp_path)
    save(ring(4), "a.st")
    save(ring(6), "b.st")
    return "a.st", "b.st"


def test_page(traces: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", traces[0]]) == 0
    text = Path("report.html").read_text()
    assert text.startswith("<!doctype html>")
    assert capsys.readouterr().out == f"report.html: {len(text.encode()):,} bytes\n"


def test_two_traces(traces: tuple[str, str]) -> None:
    assert main(["report", *traces, "-o", "both.html"]) == 0
    assert "Differences" in Path("both.html").read_text()


def test_open(traces: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    assert main(["report", traces[0], "-o", "odd name#.html", "--open"]) == 0
    assert opened == [(Path.cwd() / "odd name#.html").as_uri()]


def test_json(traces: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    data = json_of(capsys, "report", *traces)
    assert [one["summary"]["nprocs"] for one in data["traces"]] == [4, 6]
    assert data["comparison"]["figures"][0]["name"] == "ranks"
    assert not Path("report.html").exists()


def test_ranks_and_window(traces: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--ranks", "2-3,0,2", "--window", "0.00002-0.00005")
    timeline = json_of(capsys, "report", traces[0], *words)["traces"][0]["timeline"]
    assert [line["rank"] for line in timeline["lines"]] == [2, 3, 0]
    starts = [bar[0] for line in timeline["lines"] for bar in line["items"]]
    assert 16_000 <= min(starts) <= max(starts) <= 50_000


def test_no_source(tmp_path: Path, traces: tuple[str, str]) -> None:
    source = tmp_path / "ring.py"
    source.write_text("# secret line\n" * 20)
    trace = ring(4)
    trace.frames = [frame.replace("ring.py", str(source)) for frame in trace.frames]
    save(trace, "c.st")
    assert main(["report", "c.st"]) == 0
    assert "secret line" in Path("report.html").read_text()
    assert main(["report", "c.st", "--no-source"]) == 0
    assert "secret line" not in Path("report.html").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["a.st", "--ranks", "1-"], "--ranks 1-: '1-' is no rank and no range of ranks; give such as 0-7,12"),
        (["a.st", "--ranks", ""], "--ranks : '' is no rank"),
        (["a.st", "--ranks", "3-1"], "'3-1' is no rank and no range"),
        (["a.st", "--ranks", "0-99999999999"], "--ranks 0-99999999999: more than 64 ranks; give fewer"),
        (["a.st", "--ranks", "4"], "rank 4 is not in the trace; give one of its ranks: 0 to 3"),
        (["a.st", "--window", "x"], "--window 'x' is not a window of time"),
        (["a.st", "-o", "none/x.html"], "-o none/x.html: there is no folder"),
        (["none.st"], "none.st: cannot read: No such file or directory"),
        (["a.st", "--model", "a.st"], "a.st: a trace, not formulas"),
    ],
)
def test_mistakes(
    traces: tuple[str, str], options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", *options]) in (1, 2)
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not Path("report.html").exists()


def test_model(tmp_path: Path, traces: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    extrapolate_rings()
    capsys.readouterr()
    provenance = json_of(capsys, "report", "big.st", "--model", "ring.stx")["traces"][0]["provenance"]
    assert "4, 6, 8 ranks" in provenance["origin"]
    assert any("dest" in line and "mod size" in line for line in provenance["model"])
    fit = provenance["fits"][0]
    assert [point[0] for point in fit["points"]] == [4, 6, 8]
    assert fit["curve"][-1][0] == 64
    assert fit["ranks"] == ""
    assert any(one["after"].startswith("Send  ring.py:") for one in provenance["fits"])
    assert all(low <= mean <= high for _, mean, low, high in fit["curve"])
    assert provenance["sizes"] == [4, 6, 8, 64]
    sums = {"all calls", "in MPI", "computation"}
    assert {one["op"] for one in provenance["growth"]} == sums | {"Irecv", "Send", "Wait", "Allreduce"}
    site_models = {one["op"]: one["model"] for one in provenance["growth"]}
    longest = next(one for one in provenance["fits"] if one["op"] == "Send")
    assert site_models["Send"]["formula"] == f"{longest['formula']} ns"
    assert site_models["Send"]["error"] == longest["error"]
    assert main(["report", "ring.stx"]) == 2
    assert "ring.stx holds formulas for any number of ranks: give -P N" in capsys.readouterr().err


@pytest.mark.usefixtures("traces")
def test_pages_of_extrapolated_traces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--report` makes the page of `report --model`."""
    inputs = [f"r{nprocs}.st" for nprocs in (4, 6, 8)]
    for nprocs, path in zip((4, 6, 8), inputs, strict=True):
        save(ring(nprocs), path)
    assert main(["extrapolate", *inputs, "--symbolic", "-o", "ring.stx"]) == 0
    assert main(["extrapolate", *inputs, "-P", "64", "-o", "big.st", "--report", "one.html"]) == 0
    assert "one.html: " in capsys.readouterr().out
    assert main(["report", "big.st", "--model", "ring.stx", "-o", "two.html"]) == 0
    assert main(["instantiate", "ring.stx", "-P", "64", "-o", "big.st", "--report", "three.html"]) == 0
    pages = [(tmp_path / f"{name}.html").read_text() for name in ("one", "two", "three")]
    assert pages[0] == pages[1] == pages[2]
    assert "What grows with the number of ranks" in pages[0]
    capsys.readouterr()
    assert main(["extrapolate", *inputs, "--symbolic", "-o", "x.stx", "--report", "x.html"]) == 2
    assert "--report shows the trace that is made" in capsys.readouterr().err
    assert main(["instantiate", "ring.stx", "-P", "64", "-o", "no.st", "--report", "no/x.html"]) != 0
    assert "no/x.html" in capsys.readouterr().err
    assert not (tmp_path / "no.st").exists()


def provenance(capsys: pytest.CaptureFixture[str], *argv: str) -> list[dict[str, Any]]:
    capsys.readouterr()
    return [one["provenance"] for one in json_of(capsys, "report", *argv)["traces"]]


def rings(*sizes: int) -> list[str]:
    """Save rings whose times grow with the number of ranks."""
    for nprocs in sizes:
        save(timed(ring(nprocs), nprocs), f"r{nprocs}.st")
    return [f"r{nprocs}.st" for nprocs in sizes]


@pytest.mark.usefixtures("traces")
def test_pages_have_the_timing_model_of_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    inputs = rings(4, 6, 8)
    words = ["extrapolate", *inputs, "-P", "64", "-o", "big.st", "--timing-model", "linear"]
    assert main([*words, "--report", "one.html"]) == 0
    assert main(["extrapolate", *inputs, "--symbolic", "-o", "ring.stx"]) == 0
    (linear,) = provenance(capsys, "big.st", "--model", "ring.stx")
    assert main(["extrapolate", *inputs, "-P", "64", "-o", "big.st", "--timing-model", "constant"]) == 0
    (constant,) = provenance(capsys, "big.st", "--model", "ring.stx")
    assert {one["formula"] for one in linear["fits"]} != {one["formula"] for one in constant["fits"]}
    assert not any("p" in one["formula"] for one in constant["fits"])


@pytest.mark.usefixtures("traces")
def test_a_page_replaces_no_trace(capsys: pytest.CaptureFixture[str]) -> None:
    inputs = rings(4, 6, 8)
    for words in (
        ["extrapolate", *inputs, "-P", "64", "-o", "big.st", "--report", "./big.st"],
        ["extrapolate", *inputs, "-P", "64", "-o", "big.st", "--report", inputs[1]],
    ):
        assert main(words) == 2
        assert "this is the file of a trace" in capsys.readouterr().err
    assert not Path("big.st").exists()
    scalatrace.load(inputs[1])


@pytest.mark.usefixtures("traces")
def test_recorded_traces_with_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    inputs = rings(4, 6, 8)
    assert main(["extrapolate", *inputs, "--symbolic", "-o", "ring.stx"]) == 0
    assert main(["extrapolate", *inputs, "-P", "4096", "-o", "big.st"]) == 0
    for words, at in ((["big.st", "r4.st"], 0), (["r4.st", "big.st"], 1)):
        found = provenance(capsys, *words, "--model", "ring.stx")
        guess = ["guess" in " ".join(one["notes"]) for one in found]
        assert guess[at]
        assert not guess[1 - at]
        assert found[at]["growth"]
        assert not found[1 - at]["growth"]
        assert found[1 - at]["fits"][0]["curve"][-1][0] == 8
    assert main(["report", "r4.st", "--model", "ring.stx"]) == 0
    assert "What grows with the number of ranks" not in Path("report.html").read_text()


@pytest.mark.usefixtures("traces")
def test_inputs_with_the_parameters_of_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    inputs = []
    for nprocs in (4, 6, 8):
        for n, steps in ((1, 10), (2, 20)):
            trace = timed(ring(nprocs, steps), n)
            trace.meta["param.n"] = str(n)
            inputs.append(f"r{nprocs}.{n}.st")
            save(trace, inputs[-1])
    assert main(["extrapolate", *inputs, "--symbolic", "-o", "ring.stx"]) == 0
    for n in ("1", "2"):
        assert main(["extrapolate", *inputs, "-P", "64", "-o", "big.st", "--param", f"n={n}"]) == 0
        (found,) = provenance(capsys, "big.st", "--model", "ring.stx")
        assert found["parameters"] == ["", "", "", ""]
        send = next(one for one in found["growth"] if one["op"] == "Send")
        means = [comm_ns / timed_calls for _, comm_ns, _, timed_calls in send["sizes"][:3]]
        assert means == pytest.approx([3000 * int(n)] * 3)
    assert main(["extrapolate", *inputs, "-P", "64", "-o", "big.st", "--param", "n=3"]) == 0
    (found,) = provenance(capsys, "big.st", "--model", "ring.stx")
    assert found["parameters"] == ["n = 2", "n = 2", "n = 2", "n = 3"]
