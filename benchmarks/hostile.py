"""Run commands on crafted files; show how they end, their CPU time and memory, beside another version.

python -m benchmarks.hostile [--only bomb.st ...] [--before PYTHON] [--keep]

The files are those of tests/hostile, without policies and snippets. `--before` names the interpreter of an
environment that has another version of the package. The exit status is 1 if a command of this version ends
with a traceback or a signal.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.table import keep, printed, show
from hostile.crafted import CRAFTED

TITLE = "Commands on crafted files"
COLUMNS = ("file", "command", "result", "CPU, s", "MB")
BEFORE = ("before", "CPU, s", "MB")
MAX_SECONDS, MAX_BYTES = 60, 2 << 30
READING = (
    "info", "show --limit 1", "stats", "stats --by rank", "matrix", "generate --to c --skip-unsupported",
)  # fmt: skip
STOPPED = f"stopped after {MAX_SECONDS} s"
WORDS = {".st": READING, ".parts": ("merge",), ".ncptl": ("ncptl compile",), ".txt": ("pack -o /dev/null",)}
"""By ending of the file, the commands."""


def main() -> int:
    """Run all commands on all files, show, keep."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", metavar="FILE", help="of the crafted files")
    parser.add_argument("--before", metavar="PYTHON", help="interpreter with another version of the package")
    parser.add_argument("--before-is", default="another version", help="what it is, for the table")
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/hostile.md")
    args = parser.parse_args()
    pythons = [sys.executable, *([args.before] if args.before else [])]
    columns = (*COLUMNS, *(BEFORE if args.before else ()))
    with tempfile.TemporaryDirectory() as folder:
        rows = list(printed(_rows(Path(folder), args.only, pythons)))
    show(TITLE, columns, rows)
    if args.keep:
        keep("hostile", TITLE, columns, rows, *([f"Before: {args.before_is}."] if args.before else []))
    return int(any(row[2].startswith(("traceback", "signal")) for row in rows))


def _rows(folder: Path, only: Sequence[str] | None, pythons: Sequence[str]) -> Iterator[list[str]]:
    for name, make in CRAFTED.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(make())
    for name in sorted({name.split("/")[0] for name in CRAFTED}):
        if only and name not in only:
            continue
        for words in WORDS.get(Path(name).suffix, ()):
            results = [_result(python, words, folder / name) for python in pythons]
            yield [name, words, *(text for result in results for text in result)]


def _result(python: str, words: str, path: Path) -> tuple[str, str, str]:
    """How a command ends, its CPU seconds and megabytes."""
    with tempfile.TemporaryFile("w+") as errors, tempfile.TemporaryDirectory() as here:
        process = subprocess.Popen(
            [python, "-m", "scalatrace", *words.split(), str(path)],
            cwd=here,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            preexec_fn=_limit,
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        text = errors.read()
    seconds = used.ru_utime + used.ru_stime
    return _outcome(process.returncode, text), f"{seconds:.1f}", f"{used.ru_maxrss / 1024:.0f}"


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_SECONDS, MAX_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_DATA, (MAX_BYTES, MAX_BYTES))


def _outcome(status: int, errors: str) -> str:
    """How a command ended, in a few words."""
    if status == 0:
        return "done"
    if "Traceback" in errors:
        return f"traceback: {errors.splitlines()[-1][:60]}"
    if status < 0:
        return STOPPED if -status in (signal.SIGXCPU, signal.SIGKILL) else f"signal {-status}"
    return "one line" if errors.count("\n") == 1 else f"{errors.count(chr(10))} lines"


if __name__ == "__main__":
    sys.exit(main())
