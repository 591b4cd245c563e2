"""What is not recorded in full: options, the file with them, and a traced program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import scalatrace as package
from record.conftest import Traced
from scalatrace.errors import UsageError
from scalatrace.record.__main__ import arguments, options_of
from scalatrace.record.policy import RecordingPolicy, from_toml, parse_limit, parse_parameters
from scalatrace.trace.model.elastic import Summary
from scalatrace.trace.model.sites import parse_ranges
from support.mpis import Mpi
from support.programs import SAMPLES
from support.running import run, scalatrace

FILE = """
[parameters]
count = "histogram"
"Alltoallv.sendcounts" = "drop"
tag = "keep"
[signatures]
tolerance = 2
ranges = ["solver.py:10-40", "libx.so:0x10-0x20"]
"""


def test_file(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(FILE)
    policy = from_toml(tmp_path / "p.toml")
    assert policy.parameters == {"count": 8, "Alltoallv.sendcounts": -1, "tag": 0}
    assert (policy.tolerance, policy.ranges) == (2, [("solver.py", 10, 40), ("libx.so", 16, 32)])
    assert policy.meta()["parameters"] == "count=histogram:8 Alltoallv.sendcounts=drop tag=keep"
    assert policy.environment()["SCALATRACE_CORE_OPTIONS"] == "signature_tolerance=2"
    assert not any(RecordingPolicy().environment().values())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[parameters", "Expected"),
        ("[other]", "unknown table"),
        ("[signatures]\nlines = 3", "has an unknown key; give ranges or tolerance"),
        ("[signatures]\ntolerance = 'x'", "integer"),
        ("[parameters]\ncount = 3", "3 is not a way to record a parameter; give keep"),
        ('[parameters]\n"a b" = "keep"', "is not a parameter; give a name"),
        ('[signatures]\nranges = ["x:9-3"]', "FILE:FIRST-LAST"),
    ],
)
def test_mistakes_in_the_file(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(content)
    with pytest.raises(UsageError, match=message) as raised:
        from_toml(tmp_path / "p.toml")
    assert "p.toml" in str(raised.value)


@pytest.mark.parametrize("word", ["histogram:0", "histogram:x", "some", "keep:3", ""])
def test_mistakes_in_options(word: str) -> None:
    with pytest.raises(UsageError):
        parse_limit(word)
    with pytest.raises(UsageError):
        parse_parameters([f"count={word}"])
    with pytest.raises(UsageError):
        parse_ranges(["a=b.py:1-2"])


def test_options_go_before_the_file(tmp_path: Path) -> None:
    import argparse

    (tmp_path / "p.toml").write_text(FILE)
    parser = argparse.ArgumentParser()
    arguments(parser)
    words = ["--policy", str(tmp_path / "p.toml"), "--parameter", "count=keep", "--histograms", "3", "app"]
    policy = options_of(parser.parse_args(words)).policy
    assert (policy.parameters["count"], policy.parameters["dest"], policy.tolerance) == (0, 3, 2)


@pytest.mark.mpi
def test_a_program_with_irregular_counts(openmpi: Mpi, traced: Callable[..., Traced], tmp_path: Path) -> None:
    sizes = []
    for steps in (20, 80):
        argv = [str(openmpi.python), SAMPLES / "npb" / "is.py", "--steps", str(steps)]
        done = traced(openmpi, 4, argv, "--histograms", "4")
        done.finished.check()
        assert "not compared" in scalatrace(openmpi, "verify", done.trace, done.logs).check().stdout
        sizes.append(done.trace.stat().st_size)
    assert abs(sizes[1] - sizes[0]) < 0.1 * sizes[0]
    trace = package.load(done.trace)
    (leaf,) = (leaf for leaf in trace.leaves() if trace.ops[leaf.op].name == "Alltoallv")
    assert isinstance(leaf.params[0], Summary)
    shown = scalatrace(openmpi, "show", done.trace).check().stdout
    assert "320 values" in shown
    volume = sum(sum(call["sendcounts"]) for call in trace.walk(0) if call.op == "Alltoallv")
    assert volume == 80 * 128  # each rank sends all of its keys


def test_a_usage_error_before_the_program_runs(tmp_path: Path) -> None:
    import sys

    done = run([sys.executable, "-m", "scalatrace.record", "--parameter", "count=some", "--", "true"])
    assert done.returncode == 2
    assert "give keep, drop" in done.stderr
