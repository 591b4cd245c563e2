"""Files of a release agree with pyproject.toml: Spack recipes, container file, citation."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import scalatrace

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PACKAGES = ROOT / "packaging/spack/packages"


def recipe(name: str, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], list[str]]:
    """Run a recipe with substitutes of Spack's directives: keyword arguments by package, versions."""
    needed: dict[str, Any] = {}
    versions: list[str] = []
    spack = ModuleType("spack.package")
    vars(spack).update(
        depends_on=lambda spec, **options: needed.update({spec: options}),
        license=lambda name: None,
        variant=lambda name, **options: None,
        version=lambda name, **options: versions.append(name),
    )
    python = ModuleType("spack_repo.builtin.build_systems.python")
    vars(python)["PythonPackage"] = type("PythonPackage", (), {})
    for module in (spack, python):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile((PACKAGES / name / "package.py").read_text(), name, "exec"), {})
    return needed, versions


def requirement(text: str) -> tuple[str, tuple[int, ...]]:
    """Return name and lower bound of a requirement of pip; zeros at the end do not count."""
    name, bound = text.split(">=")
    numbers = [int(n) for n in bound.split(".")]
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    return name, tuple(numbers)


def spec(text: str) -> tuple[str, tuple[int, ...]]:
    name, bound = text.removeprefix("py-").split("@")
    return name, tuple(int(n) for n in bound.rstrip(":").split("."))


def test_spack_recipe_has_all_dependencies(monkeypatch: pytest.MonkeyPatch) -> None:
    needed, versions = recipe("py_scalatrace", monkeypatch)
    always = {spec(s) for s, how in needed.items() if "when" not in how and "run" in how["type"] and "@" in s}
    wanted = {requirement(r) for r in PROJECT["project"]["dependencies"]}
    assert always - {("python", (3, 11))} == wanted
    assert PROJECT["project"]["requires-python"] == ">=3.11"
    built_with = {spec(s) for s, how in needed.items() if how["type"] == "build" and "@" in s}
    assert {requirement(r) for r in PROJECT["build-system"]["requires"]} <= built_with
    assert ("cmake", (3, 21)) in built_with
    assert PROJECT["project"]["version"] in versions
    extras = PROJECT["project"]["optional-dependencies"]
    for variant in ("plot", "pandas"):
        chosen = {spec(s) for s, how in needed.items() if how.get("when") == f"+{variant}"}
        assert chosen == {requirement(r) for r in extras[variant]}


def test_spack_recipe_of_the_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    needed, versions = recipe("py_pympistandard", monkeypatch)
    assert versions == ["0.2.0"]
    assert "py-pdm-backend" in needed


def test_container_installs_existing_extras() -> None:
    text = (ROOT / "packaging/Containerfile").read_text()
    (extras,) = re.findall(r"'/source\[([\w,]+)\]'", text)
    assert set(extras.split(",")) <= set(PROJECT["project"]["optional-dependencies"])


def test_citation_is_of_this_project() -> None:
    text = (ROOT / "CITATION.cff").read_text()
    assert f'repository-code: "{PROJECT["project"]["urls"]["Source"]}"' in text
    assert "license: BSD-3-Clause" in text
    assert not re.search(r"^version:", text, re.MULTILINE)  # pyproject.toml has it
    for title in re.findall(r"^- .*: \*(.+?)\*", (ROOT / "README.md").read_text(), re.MULTILINE):
        assert title.rstrip(".") in text


def test_version_is_in_one_place() -> None:
    version = PROJECT["project"]["version"]
    assert scalatrace.__version__ in (version, "unknown")
    sources = [
        path for kind in ("py", "c", "h", "cpp", "hpp") for path in ROOT.glob(f"scalatrace/**/*.{kind}")
    ]
    assert [path for path in sources if version in path.read_text()] == []
