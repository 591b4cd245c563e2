"""Imports go downwards only, without cycles, and the heavy packages stay where they belong."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("scalatrace", "replay", "extrap", "codegen", "grammars")

#: Layer of a folder or module; the longest name that fits counts. "scalatrace" itself is the front door.
LAYERS = {"scalatrace.errors": 0, "scalatrace.ops": 0, "scalatrace.launched": 0, "grammars": 0}
LAYERS |= {"scalatrace.files": 1, "scalatrace.cache": 2, "scalatrace.trace": 5, "scalatrace": 6}
LAYERS |= {"scalatrace.core": 6, "scalatrace.pmpi": 6, "scalatrace.record": 7, "scalatrace.report": 7}
LAYERS |= {"replay": 7, "extrap": 7, "codegen": 7, "scalatrace.auto": 8, "scalatrace.cli": 8}
LAYERS |= {"scalatrace.__main__": 9}

#: Who may import what at all, at the top of a module or inside a function.
RESERVED = {
    "mpi4py": ("replay", "codegen", "scalatrace.record", "scalatrace.auto"),
    "lark": ("scalatrace.trace", "codegen", "extrap"),
    "rich": ("scalatrace.report", "scalatrace.cli"),
}


def modules() -> dict[str, Path]:
    """Dotted name -> file, of every module of ours."""
    found = {}
    for path in (path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(path: Path, known: dict[str, Path], inner: bool) -> Iterator[str]:
    """Modules that a file imports, `inner`: inside functions too; those for type checking do not count."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree) if inner else tree.body:
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: imports are absolute here"
            names = [f"{node.module}.{name.name}" for name in node.names]
            yield from (name if name in known else node.module for name in names)


def home(module: str) -> str:
    """The entry of LAYERS that a module belongs to."""
    fitting = [name for name in LAYERS if module == name or module.startswith(name + ".")]
    assert fitting, f"{module} belongs to no layer: give it one in LAYERS"
    return max(fitting, key=len)


def test_imports_go_downwards() -> None:
    known = modules()
    upwards = [
        f"{module} ({LAYERS[home(module)]}) imports {target} ({LAYERS[home(target)]})"
        for module, path in known.items()
        for target in imported(path, known, inner=False)
        if target in known and home(target) != home(module) and LAYERS[home(target)] >= LAYERS[home(module)]
    ]
    assert upwards == []


def test_no_import_cycles() -> None:
    known = modules()
    graph = {m: {t for t in imported(path, known, inner=False) if t in known} for m, path in known.items()}
    assert set(TopologicalSorter(graph).static_order()) == set(known)  # CycleError names the cycle


def test_heavy_packages_stay_where_they_belong() -> None:
    known = modules()
    strays = [
        f"{module} imports {target}"
        for module, path in known.items()
        for target in imported(path, known, inner=True)
        if (package := target.split(".")[0]) in RESERVED and not home(module).startswith(RESERVED[package])
    ]
    assert strays == []
