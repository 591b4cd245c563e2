"""The metafile of a DUMPI trace, which is a text of KEY=VALUE lines, and the files of its ranks."""

from __future__ import annotations

import re
from pathlib import Path

from scalatrace.errors import FormatError

__all__ = ["meta_file", "rank_files"]

MAX_RANKS = 1 << 20

_RANK = re.compile(r"-(\d+)\.bin$")


def meta_file(path: Path) -> Path:
    """Return the metafile: the path, or the only one of a folder. Raises FormatError if there are several."""
    if not path.is_dir():
        return path
    files = sorted(path.glob("*.meta"))
    if len(files) != 1:
        raise FormatError(f"the folder has {len(files)} metafiles (.meta): give one of them", path)
    return files[0]


def rank_files(path: Path) -> list[Path]:
    """Return the binary files of all ranks, in order: PREFIX-RANK.bin beside the metafile.

    Raises:
        FormatError: the metafile lacks numprocs, or a file is missing.
    """
    values: dict[str, str] = {}
    for line in path.read_text("utf-8", "replace").splitlines():
        key, separator, value = line.partition("=")
        if separator:
            values[key.strip()] = value.strip()
    count = values.get("numprocs", "")
    if not count.isdecimal() or not 1 <= int(count) <= MAX_RANKS:
        raise FormatError(f"no DUMPI metafile: numprocs is {count!r}, expected 1 to {MAX_RANKS}", path)
    # A metafile may have been renamed together with its files.
    for prefix in dict.fromkeys((Path(values.get("fileprefix", "")).name, path.stem)):
        files = {}
        for file in path.parent.iterdir():
            if file.name.startswith(prefix) and (match := _RANK.fullmatch(file.name[len(prefix) :])):
                files[int(match[1])] = file
        if files:
            break
    missing = next((rank for rank in range(int(count)) if rank not in files), None)
    if missing is not None:
        raise FormatError(
            f"there is no file of rank {missing}: expected {prefix}-{missing:04d}.bin beside it", path
        )
    return [files[rank] for rank in range(int(count))]
