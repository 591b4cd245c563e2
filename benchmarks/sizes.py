"""Bytes of a traced run: trace, plain logs, gzip of the plain logs."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

#: Several ranks per core are slow enough without threads in each.
SINGLE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Sizes:
    """Bytes and number of events of one recorded run."""

    calls: int
    trace: int
    log: int
    gzipped: int


def measure(trace: Path, logs: Path, gzip_level: int = 6) -> Sizes:
    """Sizes of a trace and of the folder of its plain logs, in bytes."""
    files = sorted(logs.glob("rank-*.log"))
    return Sizes(
        calls=sum(_events(file) for file in files),
        trace=trace.stat().st_size,
        log=sum(file.stat().st_size for file in files),
        gzipped=_gzipped(files, gzip_level),
    )


def _events(log: Path) -> int:
    """The number in a log's closing line, `# end N events`."""
    with log.open("rb") as stream:
        stream.seek(max(0, log.stat().st_size - 100))
        words = stream.read().split(b"\n")[-2].split()
    if words[:2] != [b"#", b"end"]:
        raise ValueError(f"{log}: no closing line")
    return int(words[2])


def _gzipped(files: list[Path], level: int) -> int:
    """Bytes of all logs, one after the other, through gzip; none of them is held in memory."""
    cat = subprocess.Popen(["cat", *files], stdout=subprocess.PIPE)
    gzip = subprocess.Popen(["gzip", f"-{level}", "-c"], stdin=cat.stdout, stdout=subprocess.PIPE)
    assert gzip.stdout is not None
    total = sum(len(block) for block in iter(lambda: gzip.stdout.read(1 << 16), b""))  # type: ignore[union-attr]
    if cat.wait() or gzip.wait():
        raise OSError("cat or gzip failed")
    return total
