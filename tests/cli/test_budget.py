"""Budgets: a command that exceeds one ends with one line that names it, and leaves no limit behind."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from scalatrace.cli import budget, registry
from scalatrace.cli.dispatch import main
from scalatrace.trace.io.writer import save
from support.builder import Builder


@pytest.fixture
def trace(tmp_path: Path) -> str:
    """A small trace."""
    path = tmp_path / "a.st"
    b = Builder(2)
    save(b.of(b.event("Barrier")), path)
    return str(path)


def replaced_load(monkeypatch: pytest.MonkeyPatch, work: Any) -> None:
    """Let `work` run where a command loads its trace."""
    monkeypatch.setattr("scalatrace.trace.io.reader.load_any", lambda path: work())


def test_time(trace: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    replaced_load(monkeypatch, lambda: time.sleep(20))
    handler = signal.getsignal(signal.SIGALRM)
    assert main(["info", "--max-time", "0.05", trace]) == 1
    assert capsys.readouterr().err == (
        "scalatrace: info: not done after 0.05 s, the budget of --max-time; give more, or a smaller input\n"
    )
    assert signal.getsignal(signal.SIGALRM) is handler


def test_handlers_of_errors_do_not_catch_it(trace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = []

    def swallows() -> None:
        for turn in range(100):
            with suppress(Exception):
                time.sleep(0.2)
            turns.append(turn)

    replaced_load(monkeypatch, swallows)
    assert main(["info", "--max-time", "0.05", trace]) == 1
    assert len(turns) < 100


def test_memory(trace: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    replaced_load(monkeypatch, lambda: bytearray(3 << 30))
    before = resource.getrlimit(resource.RLIMIT_DATA)
    assert main(["info", "--max-memory", "2G", trace]) == 1
    assert capsys.readouterr().err == (
        "scalatrace: info: out of memory, the budget of --max-memory 2G; use a smaller input or fewer ranks\n"
    )
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


def test_memory_of_the_machine_is_the_default(trace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = []
    replaced_load(monkeypatch, lambda: limits.append(resource.getrlimit(resource.RLIMIT_DATA)[0]) or 1 / 0)
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for option, holds in (
        ([], lambda n: 0 < n < machine),
        (["--max-memory", "0"], lambda n: n < 0 or n > machine),
    ):
        with pytest.raises(ZeroDivisionError):
            main(["info", *option, trace])
        assert holds(limits[-1])


@pytest.mark.parametrize("words", [["1"], ["-3"], ["x"], ["12Q"], ["100M"]])
def test_sizes_that_are_none(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", f"--max-memory={words[0]}", "a.st"]) == 2
    assert "--max-memory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "nbytes"),
    [
        ("2G", 2 << 30),
        ("0.5GiB", 1 << 29),
        ("300 M", 300 << 20),
        ("0", 0),
        ("99999999T", budget.MAX_MEMORY),
        ("9" * 400, budget.MAX_MEMORY),
    ],
)
def test_sizes(text: str, nbytes: int) -> None:
    assert budget.size(text) == nbytes


def test_native_code_that_does_not_return_is_ended() -> None:
    program = (
        "import argparse, ctypes\n"
        "from scalatrace.cli import budget\n"
        "budget.GRACE_S = 0.1\n"
        "with budget.enforced(argparse.Namespace(max_time=0.1, max_memory=0)):\n"
        "    libc = ctypes.CDLL(None)\n"
        "    while libc.sleep(60) >= 0: pass\n"  # as native code that restarts after a signal
    )
    # The handler cannot run before sleep() returns at the signal, so it is blocked.
    blocked = "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])\n"
    done = subprocess.run(
        [sys.executable, "-c", blocked + program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("scalatrace: not done after 0.1 s, the budget of --max-time")


def test_commands_that_run_programs_have_none(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (*registry.COMMANDS, *registry.MODES):
        with pytest.raises(SystemExit):
            main([*command.name.split(), "--help-all"])
        assert ("--max-memory" in capsys.readouterr().out) == (command.max_seconds is not None), command.name


def test_time_in_which_a_pager_reads_nothing_does_not_count() -> None:
    program = (
        "import argparse, sys\n"
        "from scalatrace.cli import budget\n"
        "budget.GRACE_S = 0.1\n"
        "with budget.enforced(argparse.Namespace(max_time=0.3, max_memory=0)):\n"
        "    sys.stdout.write('x' * 300_000)\n"
        "    sys.stdout.flush()\n"
    )
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(3)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, len(out), err) == (0, 300_000, b"")
