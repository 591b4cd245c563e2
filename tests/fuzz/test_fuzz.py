"""Files from elsewhere are harmless: a minute of fuzzing, and every input that failed once."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from fuzz.campaign import FINDING, OK, judge
from fuzz.mutate import mutated_bytes, mutated_text, mutated_tree
from fuzz.steps import REFUSED, Step, Table, printed, refuse, stage
from fuzz.targets import CORPUS, TARGETS, TESTS
from scalatrace.errors import UsageError

SECONDS = 12
MAX_INPUT_BYTES = 100_000
USED_BY_ALL_COMMANDS = ["trace", "stx"]


def fuzzer(*words: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m fuzz` in a process of its own, which forks."""
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    return subprocess.run(
        [sys.executable, "-m", "fuzz", *words], env=environment, text=True, capture_output=True, check=False
    )


def test_mutated_files_are_read_or_refused(tmp_path: Path) -> None:
    run = fuzzer("--seconds", str(SECONDS), "--findings", str(tmp_path))
    assert run.returncode == 0, run.stdout + run.stderr
    assert all(re.search(rf"^{name} +[1-9]", run.stdout, re.MULTILINE) for name in TARGETS), run.stdout


@pytest.mark.slow
def test_inputs_that_failed_once() -> None:
    run = fuzzer("--run", *map(str, sorted(CORPUS.glob("*/found/*"))))
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize(
    "names",
    [
        [name for name in TARGETS if name not in USED_BY_ALL_COMMANDS],
        pytest.param(USED_BY_ALL_COMMANDS, marks=pytest.mark.slow),
    ],
    ids="+".join,
)
def test_seeds_are_accepted(names: list[str]) -> None:
    paths = [
        str(path)
        for name in names
        for path in sorted((CORPUS / name / "seeds").glob(f"*{TARGETS[name].ending}"))
    ]
    run = fuzzer("--run", *paths)
    assert [line.rsplit(": ", 1) for line in run.stdout.splitlines()] == [[path, OK] for path in paths]


def test_inputs_are_small() -> None:
    assert all(path.stat().st_size < MAX_INPUT_BYTES for path in CORPUS.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", TARGETS)
def test_inputs_follow_from_seed_and_number(name: str) -> None:
    target = TARGETS[name]
    numbers = range(len(target.seeds), len(target.seeds) + 20)
    made = [target.make(1, number) for number in numbers]
    assert made == [target.make(1, number) for number in reversed(numbers)][::-1]
    assert made != [target.make(2, number) for number in numbers]


def test_mutations_change_something() -> None:
    texts = {mutated_text("a b\nc 12\n", ["x y\n"], Random(i)) for i in range(50)}
    data = {mutated_bytes(b"0123456789", [b"abc"], Random(i)) for i in range(50)}
    trees = {str(mutated_tree({"a": [1, [2, "x"]], "b": b"y"}, [[1]], Random(i))) for i in range(50)}
    assert min(map(len, (texts, data, trees))) > 25


def test_outcomes() -> None:
    def refuses(data: bytes) -> None:
        raise UsageError(data.decode())

    def works(data: bytes) -> None:
        while data:
            pass

    assert judge(lambda data: None, b"").outcome == OK
    assert judge(refuses, b"not a trace").outcome == REFUSED
    assert judge(refuses, b"two\nlines").outcome == FINDING
    assert judge(lambda data: data[5], b"").outcome == FINDING
    assert judge(works, b"for ever", 0.1).key.startswith("OverTime")


def test_steps_are_counted_by_their_outcomes() -> None:
    def works(data: bytes) -> None:
        stage("info")
        stage("export")
        refuse()
        stage("report")
        assert data

    table = Table()
    for data in (b"x", b""):
        result = judge(works, data)
        assert [step[:2] for step in result.steps[:3]] == [
            ("read", "loaded"), ("info", "loaded"), ("export", "refused")
        ]  # fmt: skip
        table.add(result.steps)
    table.add([Step("info", "signal", 7)])
    rows = {name: numbers[:6] for name, numbers in table.rows()}
    assert rows["info"] == [3, 2, 0, 0, 1, 0]
    assert rows["export"] == [2, 0, 2, 0, 0, 0]
    assert rows["report"] == [2, 1, 0, 1, 0, 0]
    assert printed([("trace", table)]).count("\n") == 4


def test_a_process_that_dies_is_a_finding() -> None:
    script = (
        "import os, signal\n"
        "from fuzz.campaign import _in_child\n"
        "def run(data):\n"
        "    if data == b'abort': os.abort()\n"
        "    if data == b'memory': bytearray(1 << 31)\n"
        "print([r.outcome + r.key[:7] for r in _in_child(run, [b'', b'memory', b'abort', b'never'], 1e9)])\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    run = subprocess.run([sys.executable, "-c", script], env=environment, text=True, capture_output=True)
    assert run.stdout == "['ok', 'findingMemoryE', 'findingSIGABRT']\n", run.stderr
