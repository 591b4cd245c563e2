"""A public class name has one meaning in the project."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("scalatrace", "replay", "extrap", "codegen", "predict")

LANGUAGE = "codegen/conceptual/tree"
"""Nodes of the coNCePTuaL tree have the names of the grammar, by which printer and compiler find methods."""

KNOWN = {
    "Call",
    "Collectives",
    "Columns",
    "Group",
    "Memory",
    "Messages",
    "Place",
    "Places",
    "Points",
    "Run",
    "Sequence",
    "Sizes",
    "Sources",
    "Stat",
    "State",
    "Summary",
    "Times",
}
"""Names that still have several meanings; one that has not any more leaves this set."""


def _modules() -> list[Path]:
    paths = (path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return [path for path in paths if not any(each.is_symlink() for each in (path, *path.parents))]


def test_public_class_names_are_unique() -> None:
    names: Counter[str] = Counter()
    for path in _modules():
        if path.relative_to(ROOT).as_posix().startswith(LANGUAGE):
            continue
        body = ast.parse(path.read_text()).body
        names.update({node.name for node in body if isinstance(node, ast.ClassDef) and node.name[0] != "_"})
    assert {name for name, count in names.items() if count > 1} == KNOWN
