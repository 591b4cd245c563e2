"""C and C++ files include downwards only: folders are layers, and the headers have no cycle."""

from __future__ import annotations

import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

SCALATRACE = Path(__file__).resolve().parents[1] / "scalatrace"

#: Folders of each library, the lowest first; files on top of them may include all.
SHIM = ("base", "events", "stacks", "plugins", "handles", "recording", "process")
CORE = ("io", "values", "tree", "fold", "merge", "core")
LIBRARIES = [(SCALATRACE / "pmpi", SHIM), (SCALATRACE / "core/src", CORE), (SCALATRACE / "front", ())]

libraries = pytest.mark.parametrize(("root", "folders"), LIBRARIES, ids=["pmpi", "core", "front"])


def sources(root: Path) -> list[Path]:
    return [p for p in root.rglob("*") if p.suffix in (".c", ".h", ".cpp", ".hpp")]


def included(path: Path, root: Path) -> Iterator[Path]:
    """Files of the same library that a file includes; generated headers are none."""
    for name in re.findall(r'^#include "(.+)"', path.read_text(), re.MULTILINE):
        if (root / name).exists():
            yield root / name


@libraries
def test_folders_are_layers(root: Path, folders: tuple[str, ...]) -> None:
    def layer(path: Path) -> int:
        folder = path.relative_to(root).parts[0]
        return folders.index(folder) if path.parent != root else len(folders)

    upwards = [(p.name, q.name) for p in sources(root) for q in included(p, root) if layer(q) > layer(p)]
    assert not upwards


@libraries
def test_includes_have_no_cycle(root: Path, folders: tuple[str, ...]) -> None:
    TopologicalSorter({p: set(included(p, root)) for p in sources(root)}).prepare()


@libraries
def test_sources_call_no_source_that_calls_them(root: Path, folders: tuple[str, ...]) -> None:
    """A source depends on the sources whose headers it includes."""

    def implementation(header: Path) -> Path:
        return header.with_suffix(".c" if header.suffix == ".h" else ".cpp")

    graph = {
        p: {implementation(h) for h in included(p, root) if h.with_suffix("") != p.with_suffix("")}
        for p in sources(root)
        if p.suffix in (".c", ".cpp")
    }
    TopologicalSorter(graph).prepare()


@libraries
def test_object_files_have_different_names(root: Path, folders: tuple[str, ...]) -> None:
    """All objects of the shim are compiled into one folder."""
    stems = [p.stem for p in sources(root) if p.suffix in (".c", ".cpp")]
    assert len(stems) == len(set(stems))
