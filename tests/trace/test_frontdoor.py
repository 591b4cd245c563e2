"""The front door: short, quick to import, and complete."""

from __future__ import annotations

import subprocess
import sys

import pytest

import scalatrace
from scalatrace.errors import FormatError, ScalatraceError, TextError, UsageError
from scalatrace.trace.model.callsite import short_frame, split_frame

HEAVY = ("numpy", "lark", "rich", "mpi4py", "msgpack", "sympy")


def imported(names: str, watched: tuple[str, ...]) -> str:
    """Which of the watched modules an import of modules (`a, b`) brings along."""
    code = f"import sys, {names}; print([m for m in {watched} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_import_is_light() -> None:
    assert imported("scalatrace", HEAVY) == "[]"


def test_the_start_of_a_traced_rank_is_light() -> None:
    """`scalatrace record` starts once per rank: modules that only some runs need are imported there."""
    slow = (*HEAVY, "concurrent.futures", "ctypes.util", "multiprocessing", "tomllib")
    started = "scalatrace.cli.dispatch, scalatrace.cli.budget, scalatrace.record.launch"
    assert imported(started, slow) == "[]"


def test_everything_promised_is_there() -> None:
    assert all(hasattr(scalatrace, name) for name in scalatrace.__all__)


def test_errors_know_their_exit_status() -> None:
    assert (ScalatraceError.exit_status, UsageError.exit_status, FormatError("x").exit_status) == (1, 2, 1)
    assert str(FormatError("bad", "a.st", 7)) == "a.st: bad (byte 7 of the file)"
    assert str(TextError("bad", "a.txt", 3, 4)) == "a.txt:3:4: bad"


@pytest.mark.parametrize(
    ("frame", "parts", "short"),
    [
        ("/a/b.py:12:main", ("/a/b.py", 12, "main"), "b.py:12:main"),
        ("C:x.py:3:<module>", ("C:x.py", 3, "<module>"), "C:x.py:3:<module>"),
        ("/usr/lib/libx.so+0x1f", ("/usr/lib/libx.so", 0, "0x1f"), "libx.so+0x1f"),
        ("strange", ("strange", 0, ""), "strange"),
        ("a/b/", ("a/b/", 0, ""), "a/b/"),
    ],
)
def test_frames(frame: str, parts: tuple[str, int, str], short: str) -> None:
    assert tuple(split_frame(frame)) == parts
    assert short_frame(frame) == short
