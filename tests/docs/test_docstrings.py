"""Docstrings of public functions begin with an imperative verb: in each package at least this share."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SHARES = {
    "codegen": 52,
    "extrap": 92,
    "predict": 97,
    "replay": 73,
    "scalatrace/cli": 100,
    "scalatrace/convert": 100,
    "scalatrace/core": 85,
    "scalatrace/files": 100,
    "scalatrace/formula": 100,
    "scalatrace/record": 51,
    "scalatrace/report": 96,
    "scalatrace/symbols": 46,
    "scalatrace/trace": 100,
}
"""Package -> percentage of its public functions with an imperative docstring; it may only grow."""

NO_VERB = re.compile(
    "A|All|An|As|At|By|Each|Every|For|From|How|In|It|No|None|Of|One|Some|So|That|The|This|Those|What|When|"
    "Where|Whether|Which|Who|.*[^s]s"
)
"""First words of other docstrings: also plurals, and verbs in the third person."""


def is_imperative(docstring: str) -> bool:
    """Return whether the first word may be a verb in the imperative."""
    word = docstring.split()[0].rstrip(".,:;")
    return re.fullmatch("[A-Z][a-z]+", word) is not None and NO_VERB.fullmatch(word) is None


def public_functions(package: str) -> Iterator[tuple[str, str]]:
    """Yield place and docstring of functions and methods; properties are described by nouns."""
    for path in sorted((ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
                continue
            is_property = any("property" in ast.unparse(decorator) for decorator in node.decorator_list)
            if (docstring := ast.get_docstring(node)) and not is_property:
                yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name}", docstring


@pytest.mark.parametrize("package", SHARES)
def test_docstrings_are_imperative(package: str) -> None:
    functions = list(public_functions(package))
    others = [place for place, docstring in functions if not is_imperative(docstring)]
    share = 100 * (len(functions) - len(others)) // len(functions)
    assert share >= SHARES[package], "\n".join(others)
