"""Read the output of the OSU micro-benchmarks osu_latency and osu_bw as an archive of measurements.

    # OSU MPI Latency Test v5.9
    # Size          Latency (us)
    0                       1.09

A latency is half of a round trip: the one-way time of a message of that size. A bandwidth is that of a window
of messages, so bytes over bandwidth is the time between two messages of one sender.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from scalatrace.errors import FormatError, UsageError
from scalatrace.files import read_text
from scalatrace.predict.calibrate.archive import Archive, Measurement

__all__ = ["is_osu", "read_osu", "read_osu_table"]

TITLE = re.compile(r"# *OSU MPI\S* +(?P<test>Latency|Bandwidth) Test\b")
KINDS = {"Latency": "pingpong", "Bandwidth": "burst"}


def is_osu(path: str | Path) -> bool:
    """Return whether a file is the output of an OSU benchmark, of any kind. Raises FormatError."""
    return any(line.startswith("# OSU ") for line in read_text(path).splitlines()[:5])


def read_osu(
    network: Sequence[str | Path], node: Sequence[str | Path] = (), ranks_per_node: int = 1
) -> Archive:
    """Return an archive of files of osu_latency and osu_bw. Overheads of sender and receiver are not in it.

    Args:
        network: files of two ranks on two nodes.
        node: files of two ranks on one node.
        ranks_per_node: of the platform; the files do not tell.

    Raises:
        FormatError: a file has another format.
        UsageError: no file between nodes has latencies.
    """
    rows = [*_measurements(network, "network"), *_measurements(node, "memory")]
    for level, files in (("network", network), ("memory", node)):
        if files and not any(row.kind == "pingpong" and row.level == level for row in rows):
            raise UsageError(f"{files[0]}: only bandwidths; give the output of osu_latency, too")
    metadata = {
        "description": f"OSU benchmarks: {', '.join(Path(file).name for file in (*network, *node))}",
        "started": "of OSU benchmarks",
        "whole_messages": True,
        "placement": ["node"] * ranks_per_node,
    }
    return Archive(metadata, tuple(rows))


def _measurements(files: Iterable[str | Path], level: str) -> Iterable[Measurement]:
    for path in files:
        kind, table = read_osu_table(path)
        for nbytes, ns in table:
            yield Measurement(kind, (ns,), level=level, nbytes=nbytes)


def read_osu_table(path: str | Path) -> tuple[str, list[tuple[int, float]]]:
    """Return the kind of measurement and its sizes in bytes with times in ns.

    The kind is `pingpong` with one-way times, or `burst` with times between messages.

    Raises:
        FormatError: the file is not the output of osu_latency or osu_bw, or a line has no two numbers.
    """
    lines = read_text(path).splitlines()
    title = next((match for line in lines if (match := TITLE.match(line))), None)
    if title is None:
        raise FormatError("no output of osu_latency or osu_bw: no line '# OSU MPI Latency Test'", path)
    kind = KINDS[title["test"]]
    table = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        words = line.split()
        try:
            nbytes, value = int(words[0]), float(words[1])
        except (ValueError, IndexError):
            raise FormatError(f"line {number} is no size with a value: {line.strip()[:40]!r}", path) from None
        if nbytes < 0 or not 0 < value < math.inf:
            raise FormatError(f"line {number}: sizes are 0 or more, values above 0", path)
        if kind == "pingpong" or nbytes:
            table.append((nbytes, value * 1e3 if kind == "pingpong" else nbytes / value * 1e3))
    if not table:
        raise FormatError("the file has no sizes", path)
    return kind, table
