"""Find out of which kind a file or folder is, and convert it."""

from __future__ import annotations

import os
import re
from collections import Counter
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory

from scalatrace.convert.dumpi.calls import convert_dumpi
from scalatrace.convert.dumpi.metadata import meta_file, rank_files
from scalatrace.convert.flat_logs import convert_logs
from scalatrace.convert.otf2_archive import convert_otf2
from scalatrace.convert.schedules.calls import write_schedule
from scalatrace.convert.schedules.chakra import read_chakra
from scalatrace.convert.schedules.goal_binary import GOAL_MAGICS, read_goal_binary
from scalatrace.convert.schedules.goal_text import read_goal_text
from scalatrace.errors import FormatError, UsageError
from scalatrace.files import write_file
from scalatrace.trace.io.reader import loads
from scalatrace.trace.io.textparse import load_text
from scalatrace.trace.io.writer import dumps, save
from scalatrace.trace.model.trace import Trace

__all__ = ["KINDS", "convert", "kind_of"]

KINDS = {
    "otf2": "OTF2 archive (.otf2)",
    "dumpi": "DUMPI trace (.meta file, or its folder)",
    "goal": "GOAL schedule (text, or binary of txt2bin)",
    "chakra": "folder with a Chakra execution trace (NAME.RANK.et)",
    "logs": "folder with flat logs (rank-R.log)",
    "text": "text form of a trace (of `scalatrace show --text`)",
}
"""Supported sources, by kind: text for users."""

TEXT_FORM = re.compile(rb"(?:\s|#[^\n]*\n)*scalatrace\s+trace\s")
"""The first words of a trace's text form, which comments may precede."""

MAX_HEAD_BYTES = 1 << 16
"""Bytes in which a text that is a GOAL schedule says so; comments may come first."""


def kind_of(source: str | PathLike[str]) -> str:
    """Return the key in `KINDS`. Raises FormatError if it is none of them, or a folder of several kinds."""
    path = Path(source)
    if path.is_dir():
        patterns = {"dumpi": "*.meta", "chakra": "*.et", "logs": "rank-*.log", "otf2": "*.otf2"}
        kinds = [kind for kind, pattern in patterns.items() if any(path.glob(pattern))]
        if len(kinds) > 1:
            raise FormatError(f"the folder has both a {KINDS[kinds[0]]} and a {KINDS[kinds[1]]}", path)
        if kinds == ["otf2"]:
            archive = min(path.glob("*.otf2")).name
            raise FormatError(f"give the archive's file: {path / archive}", path)
        if kinds:
            return kinds[0]
    else:
        if path.suffix in (".otf2", ".meta"):
            return {".otf2": "otf2", ".meta": "dumpi"}[path.suffix]
        with open(path, "rb") as file:
            head = file.read(MAX_HEAD_BYTES)
        if head[:8] in GOAL_MAGICS or b"num_ranks" in head:
            return "goal"
        if TEXT_FORM.match(head):
            return "text"
        if path.suffix == ".et":
            raise FormatError("give the folder with the files of all ranks", path)
    raise FormatError(f"it is none of: {'; '.join(KINDS.values())}", path)


def convert(
    source: str | PathLike[str], output: str | PathLike[str], *, compress: bool = True
) -> tuple[Trace, Counter[str]]:
    """Write the trace of a file or folder. Return it, and what was left out, such as MPI calls, how often.

    The trace is checked as when it is loaded; the output appears when it is complete.

    Args:
        compress: deflate the file.

    Raises:
        FormatError, TextError: it is of no known kind, or damaged.
        UsageError: a package that its kind needs is not installed, or the output is a file of the source.
    """
    path = Path(source)
    kind = kind_of(path)
    _check_different(kind, path, Path(output))
    with TemporaryDirectory(prefix="scalatrace-import-") as folder:
        temporary = Path(folder) / "trace.st"
        left_out = _convert(kind, path, temporary)
        data = temporary.read_bytes()
    try:
        trace = loads(data)
    except FormatError as error:
        raise FormatError(f"no trace can have its calls: {error.reason}", path) from None
    write_file(output, data if compress else dumps(trace, compress=False))
    return trace, left_out


def _check_different(kind: str, path: Path, output: Path) -> None:
    """Check that an output that exists is no file of the source. Raises UsageError."""
    if not output.is_file():
        return
    match kind:
        case "dumpi":
            files = [meta_file(path), *rank_files(meta_file(path))]
        case "otf2":
            files = [path, path.with_suffix(".def"), *path.with_suffix("").glob("*")]
        case "chakra" | "logs":
            files = [*path.iterdir()] if output.resolve().parent == path.resolve() else []
            files = [file for file in files if file.suffix in (".et", ".json", ".log")]
        case _:
            files = [path]
    if any(file.exists() and os.path.samefile(file, output) for file in files):
        raise UsageError(f"{output}: the output is a file of the source; give another path")


def _convert(kind: str, path: Path, output: Path) -> Counter[str]:
    match kind:
        case "otf2":
            return convert_otf2(path, output)
        case "dumpi":
            return convert_dumpi(meta_file(path), output)
        case "goal":
            with open(path, "rb") as file:
                is_binary = file.read(8) in GOAL_MAGICS
            schedule = read_goal_binary(path) if is_binary else read_goal_text(path)
            write_schedule(schedule, output, {"program": f"GOAL schedule {path.name}"})
        case "chakra":
            schedule = read_chakra(path)
            write_schedule(schedule, output, {"program": f"Chakra trace in {path.name}"})
            return schedule.left_out
        case "text":
            save(load_text(path), output)
        case _:
            convert_logs(path, output)
    return Counter()
