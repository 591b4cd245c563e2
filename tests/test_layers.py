"""Imports go downwards only, without cycles, and the heavy packages stay where they belong."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ("replay", "extrap", "codegen", "predict", "grammars")
"""Top-level folders, installed as `scalatrace.<name>` by links in scalatrace/."""

#: Folders and modules by layer, the lowest first: each imports only what stands before it. The longest
#: name that fits counts.
LOWEST = ("arrays", "errors", "escapes", "garbage", "operations", "launched", "spelling")
BASE = (
    "ranks",
    "grammars",
    "formula",
    "stats",
    "entry_points",
    "files",
    "predefined",
    "scaling",
    "cache",
    "compilers",
)
TRACE = ("trace.views", "trace.values", "trace.symbolic", "trace.model", "trace.io", "trace.query")
TRACE += ("trace.exchange",)
TRACE += ("trace.phases", "trace.consistency", "trace.anonymize", "trace", "")
NATIVE = ("core", "pmpi", "executor")
REPLAY = ("common", "transport", "timing", "engine", "calls", "probabilistic", "start", "tune", "")
EXTRAP = ("refusal", "errors", "workers", "choices", "solve", "grid", "search", "formatting", "timing")
EXTRAP += ("alignment", "fit", "instantiate", "advice")
EXTRAP += ("message_sizes", "matching", "proofs", "provenance", "extrapolate", "suggest", "lossy", "")
PREDICT = ("platform", "kernels", "models", "variability", "regress", "calibrate")
PREDICT += ("lowering", "engine", "timeline", "export", "")
CODEGEN = ("foreign", "errors", "program", "timing", "conceptual.errors", "conceptual.words")
CODEGEN += ("conceptual.spelling", "conceptual.tree")
CODEGEN += ("conceptual.names", "conceptual.parser", "conceptual.printer", "conceptual.checks")
CODEGEN += ("conceptual.values", "conceptual.lowering", "conceptual.compiler", "conceptual.run")
CODEGEN += (
    "matching.diagnosis",
    "matching.alignment",
    "matching",
    "builders",
    "passes",
    "emit",
    "",
)


def _layers() -> dict[str, int]:
    """Layer of each name; tools beside each other have the same ones, but may not import each other."""
    layers: dict[str, int] = {}

    def stack(start: int, prefix: str, names: tuple[str, ...]) -> int:
        for number, name in enumerate(names, start):
            layers[".".join(filter(None, ("scalatrace", prefix, name)))] = number
        return start + len(names)

    layers |= {f"scalatrace.{name}": 0 for name in LOWEST}
    top = stack(stack(stack(1, "", BASE), "", TRACE), "", NATIVE)
    ends = [
        stack(top, *tool)
        for tool in (("replay", REPLAY), ("extrap", EXTRAP), ("codegen", CODEGEN), ("predict", PREDICT))
    ]
    layers |= {"scalatrace.record": top, "scalatrace.report": top, "scalatrace.symbols": top}
    layers["scalatrace.convert"] = top
    stack(max(ends), "", ("auto", "cli", "__main__"))
    return layers


LAYERS = _layers()

BESIDE = ("replay", "extrap", "codegen", "predict", "record", "report", "symbols", "convert")
"""Parts that do not import each other: what two of them need belongs lower."""

#: Who may import what at all, at the top of a module or inside a function.
RESERVED = {
    "mpi4py": (
        "scalatrace.replay",
        "scalatrace.codegen",
        "scalatrace.auto",
        "scalatrace.ranks",
        "scalatrace.predict",
    ),
    "scipy": ("scalatrace.stats",),
    "sympy": ("scalatrace.formula", "scalatrace.predict.models"),
    "z3": ("scalatrace.formula",),
    "lark": ("scalatrace.grammars", "scalatrace.trace", "scalatrace.codegen", "scalatrace.extrap"),
    "rich": ("scalatrace.report", "scalatrace.cli"),
    "jinja2": ("scalatrace.report",),
}


class Contents(NamedTuple):
    """What matters of a module.

    Attributes:
        top: imports at its top.
        typing: these, and those under `if TYPE_CHECKING`.
        executed: also those inside functions, but not those for type checking.
        every: all imports.
        classes: names of the classes at its top.
    """

    top: list[ast.AST]
    typing: list[ast.AST]
    executed: list[ast.AST]
    every: list[ast.AST]
    classes: list[str]


@cache
def contents(path: Path) -> Contents:
    """Parse a module; parsing all of them takes two seconds."""
    tree = ast.parse(path.read_text())
    parts = (top_level(tree.body, False), top_level(tree.body, True), executed(tree.body), ast.walk(tree))
    imports = [[node for node in part if isinstance(node, ast.Import | ast.ImportFrom)] for part in parts]
    return Contents(*imports, [node.name for node in tree.body if isinstance(node, ast.ClassDef)])


@cache
def modules() -> dict[str, Path]:
    """Dotted name -> file, of every module of ours."""
    result = {}
    for folder in ("scalatrace", *TOOLS):
        for path in (ROOT / folder).rglob("*.py"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            parts = parts if parts[0] == "scalatrace" else ("scalatrace", *parts)
            if parts[1] not in TOOLS or folder != "scalatrace":  # not again by a link
                result[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return result


def top_level(body: list[ast.stmt], typing: bool) -> Iterator[ast.stmt]:
    """Statements of a module, `typing`: those under `if TYPE_CHECKING` too."""
    for node in body:
        yield node
        if typing and isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from node.body


def executed(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Nodes of a module that may be executed, those of functions too: not what is for type checking."""
    for statement in body:
        if not (isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING"):
            yield from ast.walk(statement)


def imported(path: Path, known: dict[str, Path], inner: bool, typing: bool = False) -> Iterator[str]:
    """Modules that a file imports.

    Args:
        inner: include imports inside functions and for type checking.
        typing: include imports for type checking.
    """
    found = contents(path)
    yield from _targets(path, found.every if inner else found.typing if typing else found.top, known)


def _targets(path: Path, nodes: Iterable[ast.AST], known: dict[str, Path]) -> Iterator[str]:
    for node in nodes:
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


def test_no_cycles_through_functions() -> None:
    """An import inside a function starts something later, but does not reach upwards."""
    known = modules()
    graph = {
        module: {t for t in _targets(path, contents(path).executed, known) if t in known}
        for module, path in known.items()
    }
    assert set(TopologicalSorter(graph).static_order()) == set(known)  # CycleError names the cycle


@pytest.mark.parametrize("package", ["scalatrace.codegen"])
def test_no_cycles_of_imports_for_type_checking(package: str) -> None:
    """Imports inside functions and for type checking count here, too."""
    known = {m: path for m, path in modules().items() if m.startswith(package)}
    graph = {m: {t for t in imported(path, known, inner=True) if t in known} for m, path in known.items()}
    assert set(TopologicalSorter(graph).static_order()) == set(known)  # CycleError names the cycle


@pytest.mark.parametrize("folder", ["scalatrace.codegen.emit.conceptual", "scalatrace.codegen.matching"])
def test_folders_do_not_import_each_other_in_both_directions(folder: str) -> None:
    """Files of sub-folders: what two folders need of each other belongs lower."""
    known = {m: path for m, path in modules().items() if m.startswith(folder)}
    arrows = {
        (module.rsplit(".", 1)[0], target.rsplit(".", 1)[0])
        for module, path in known.items()
        for target in imported(path, known, inner=True)
        if target in known and path.name != "__init__.py"
    }
    assert [(a, b) for a, b in sorted(arrows) if a < b and (b, a) in arrows] == []


TYPE_CIRCLES = ("scalatrace.replay",)
"""Tools in which modules may name each other's types."""


def test_no_cycles_of_type_imports() -> None:
    """A type belongs below the modules that name it."""
    known = {name: path for name, path in modules().items() if not name.startswith(TYPE_CIRCLES)}
    graph = {
        name: {target for target in imported(path, known, inner=False, typing=True) if target in known}
        for name, path in known.items()
    }
    assert set(TopologicalSorter(graph).static_order()) == set(known)  # CycleError names the cycle


def test_tools_do_not_import_each_other() -> None:
    known = modules()

    def tool(module: str) -> str:
        return module.split(".")[1] if "." in module else ""

    across = [
        f"{module} imports {target}"
        for module, path in known.items()
        for target in imported(path, known, inner=True)
        if {tool(module), tool(target)} <= set(BESIDE) and tool(module) != tool(target)
    ]
    assert across == []


def test_tools_are_imported_by_their_full_names() -> None:
    """`import replay` works in this folder only."""
    folders = ("scalatrace", *TOOLS, "benchmarks", "samples", "tests")
    bare = [
        f"{path}: {target}"
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        for target in imported(path, {}, inner=True)
        if target.split(".")[0] in TOOLS
    ]
    assert bare == []


def test_folders_hold_few_files() -> None:
    """A reader can take in a folder at once; those of one kind of file are named here."""
    counts = {path.parent for path in modules().values()}
    large = {
        str(folder.relative_to(ROOT)): n
        for folder in counts
        if (n := len([path for path in folder.glob("*.py") if path.name != "__init__.py"])) > 15
    }
    assert sorted(large) == ["scalatrace/cli"]  # one file per command


def test_heavy_packages_stay_where_they_belong() -> None:
    known = modules()
    strays = [
        f"{module} imports {target}"
        for module, path in known.items()
        for target in imported(path, known, inner=True)
        if (package := target.split(".")[0]) in RESERVED and not home(module).startswith(RESERVED[package])
    ]
    assert strays == []


def test_scipy_is_imported_where_a_fit_runs() -> None:
    """Its import takes longer than most commands."""
    known = modules()
    early = [m for m, path in known.items() for target in imported(path, known, False) if "scipy" in target]
    assert early == []


def test_public_class_names_are_unique() -> None:
    names: Counter[str] = Counter()
    for path in modules().values():
        names.update(name for name in contents(path).classes if name[0] != "_")
    assert {name for name, count in names.items() if count > 1} == set()
