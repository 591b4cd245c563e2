"""CPU seconds of each command on given traces, and of the compiler on their generated C programs.

python -m benchmarks.commands nwchem.st examl.st [--keep]
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.given import table_of_traces
from scalatrace import load

COLUMNS = (
    "trace", "nodes", "info", "show", "stats", "matrix", "check", "diff", "generate", "lines", "longest line",
    "mpicc -O2",
)  # fmt: skip
TITLE = "CPU seconds of commands on large traces; lines of generated C programs"
READING = ("info", "show", "stats", "matrix", "check")

LIMIT_S = 600
"""Seconds of one command."""


def main() -> int:
    """Measure and print; 2 if an argument is no file."""
    rows = table_of_traces(__doc__, "commands", TITLE, COLUMNS, _row)
    return 2 if rows is None else 0


def _row(trace: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "scalatrace"]
    yield trace.name
    yield f"{load(trace).nnodes:,}"
    for name in READING:
        yield _cpu_s([*command, name, str(trace)])
    yield _cpu_s([*command, "diff", str(trace), str(trace)])
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "bench.c", Path(folder) / "bench"
        yield _cpu_s([*command, "generate", str(trace), "--to", "c", "-o", str(source)])
        lines = source.read_text().splitlines()
        yield f"{len(lines):,}"
        yield f"{max(map(len, lines)):,}"
        yield _cpu_s(["mpicc", "-O2", str(source), "-o", str(program)])


def _cpu_s(command: list[str]) -> str:
    """Return the CPU time of a command in seconds, or why there is none; `check` may have findings."""
    before = _used_s()
    try:
        done = subprocess.run(command, timeout=LIMIT_S, stdout=subprocess.DEVNULL, check=False)
    except subprocess.TimeoutExpired:
        return f"> {LIMIT_S}"
    return f"{_used_s() - before:.1f}" if done.returncode in (0, 1) else f"status {done.returncode}"


def _used_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    sys.exit(main())
