"""Libraries are built once: without locks of the file system, and after builders that were killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from scalatrace.compilers import build as building

NO_FLOCK = """\
#include <errno.h>
int flock(int fd, int op) { (void)fd; (void)op; errno = ENOSYS; return -1; }
"""
SLOW = """
import signal, sys, time
from scalatrace.compilers.build import built_once
signal.signal(signal.SIGINT, signal.default_int_handler)  # which shells ignore in the background
def build(folder):
    (folder / "half.o").write_text("half")
    print(flush=True)
    time.sleep(float(sys.argv[1]))
    return b"a library"
print(built_once("lib.so", "a library", build))
"""


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("SCALATRACE_CACHE", str(folder))
    folder.mkdir(mode=0o700)
    return folder


def start(seconds: float, **env: str) -> subprocess.Popen[str]:
    """Start a process that builds, and wait until it does."""
    command = [sys.executable, "-c", SLOW, str(seconds)]
    builder = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **env})
    assert builder.stdout is not None
    builder.stdout.readline()
    return builder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def own(folder: Path) -> bytes:
    assert (folder / "owner").exists()
    return b"own"


def test_file_systems_without_locks(cached: Path, tmp_path: Path) -> None:
    source, library = tmp_path / "noflock.c", tmp_path / "noflock.so"
    source.write_text(NO_FLOCK)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    with start(0, LD_PRELOAD=str(library)) as builder:
        assert builder.wait(60) == 0
    assert names(cached) == ["lib.so"]


def test_others_wait(cached: Path) -> None:
    with start(0.5) as builder:
        assert building.built_once("lib.so", "a library", own).read_bytes() == b"a library"
        builder.wait(60)
    assert names(cached) == ["lib.so"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_builders_that_were_killed(cached: Path, number: signal.Signals) -> None:
    with start(60) as builder:
        builder.send_signal(number)
        builder.wait(60)
    if number == signal.SIGKILL:
        assert names(cached) == ["lib.so.building"]
    else:
        assert not names(cached)
    start_s = time.monotonic()
    assert building.built_once("lib.so", "a library", own).read_bytes() == b"own"
    assert time.monotonic() - start_s < 10
    assert names(cached) == ["lib.so"]


@pytest.mark.parametrize("owner", [None, "node7/pid:[1] 1 1"])
def test_builders_of_other_machines(cached: Path, monkeypatch: pytest.MonkeyPatch, owner: str | None) -> None:
    """They are gone where the time of their folder does not change."""
    monkeypatch.setattr(building, "ABANDONED_S", 0.5)
    claim = cached / "lib.so.building"
    claim.mkdir()
    if owner:
        (claim / "owner").write_text(owner)
    start_s = time.monotonic()
    assert building.built_once("lib.so", "a library", own).read_bytes() == b"own"
    assert time.monotonic() - start_s >= 0.5
    assert names(cached) == ["lib.so"]


def test_builders_of_other_machines_that_are_alive(cached: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "ABANDONED_S", 0.3)
    claim, looks = cached / "lib.so.building", 0
    claim.mkdir()
    (claim / "owner").write_text("node7/pid:[1] 1 1")

    def look(_: float, wait: Callable[[float], None] = time.sleep) -> None:
        nonlocal looks
        looks += 1
        os.utime(claim)
        if looks == 20:
            (cached / "lib.so").write_bytes(b"theirs")
        wait(0.05)

    monkeypatch.setattr(building.time, "sleep", look)
    assert building.built_once("lib.so", "a library", own).read_bytes() == b"theirs"


def test_a_folder_that_another_process_took_over_stays(cached: Path) -> None:
    claim = cached / "lib.so.building"
    claim.mkdir()
    (claim / "owner").write_text("the new one")
    building._remove_abandoned(claim, "the old one")
    assert names(cached) == ["lib.so.building"]
    assert building._read_owner(claim) == "the new one"
