"""Check the documentation: paths, modules, commands, options and links exist."""

from __future__ import annotations

import argparse
import importlib
import itertools
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from benchmarks.registry import NAMES, find_study
from scalatrace.cli.dispatch import parser_of
from scalatrace.cli.registry import COMMANDS, chosen_mode, find

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / name
    for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "benchmarks/README.md", "SECURITY.md")
]
PAGES += sorted((ROOT / "docs").rglob("*.md"))

MAX_WORDS = 32
"""In a sentence."""

page = pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))


def spans(text: str) -> list[str]:
    """Return what stands between backticks, code blocks aside."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))


def code(text: str) -> list[str]:
    """Return the lines of code blocks, indented or fenced, with continued lines joined."""
    fenced = re.findall(r"^```\w*\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    indented = re.findall(r"^    .*", text, flags=re.MULTILINE)
    return "\n".join([*fenced, *indented]).replace("\\\n", " ").splitlines()


@page
def test_paths_exist(path: Path) -> None:
    def exists(name: str) -> bool:
        return any(next(iter(base.glob(name.rstrip("/"))), None) is not None for base in (ROOT, path.parent))

    named = [span for span in spans(path.read_text()) if re.fullmatch(r"\w[\w.*-]*(/[\w.*-]+)+/?|\w+/", span)]
    tops = {name: name.split("/")[0] for name in named if not name.startswith("build/")}  # built, or not
    ours = [name for name, top in tops.items() if any((base / top).is_dir() for base in (ROOT, path.parent))]
    assert [name for name in ours if not exists(name)] == []


def missing(name: str) -> bool:
    """Return whether no module, and nothing in one, has this dotted name."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[length:]:
            if not hasattr(found, attribute):
                return True
            found = getattr(found, attribute)
        return False
    return True


@page
def test_modules_exist(path: Path) -> None:
    text = path.read_text()
    names = [
        m[0]
        for span in spans(text)
        if (m := re.match(r"(?:scalatrace|benchmarks)(?:\.\w+)+(?![/\w-])", span))
    ]
    for line in code(text):
        names += re.findall(r"\bimport (scalatrace(?:\.\w+)*)", line)
        if match := re.match(r"\s*from (scalatrace[\w.]*) import ([\w, ]+)", line):
            names += [f"{match[1]}.{name.strip()}" for name in match[2].split(",")]
    groups = {"scalatrace.extrap.plugins", "scalatrace.codegen.emitters"}  # of entry points
    assert sorted({name for name in names if name not in groups and missing(name)}) == []


@cache
def options(command: str) -> dict[str, frozenset[str]]:
    """Return the options of a command or mode: by subcommand, or under "" if it has none."""
    entry = find(command)
    assert entry is not None
    parser = parser_of(entry)[1]
    nested = [a.choices for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    parsers = nested[0] if nested else {"": parser}
    return {name: frozenset(one._option_string_actions) for name, one in parsers.items()}


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Return command lines of scalatrace: the command, and what follows it."""
    names = "|".join(command.name for command in COMMANDS)
    for line in (*spans(text), *code(text)):
        for part in re.split(r"&&|[|;]| -- ", line.split("#")[0]):
            called = re.search(r"\bscalatrace (?!\.)([a-z]\w*)\b(?![:=/])(.*)", part)
            if match := called or re.match(rf"({names}) (-.*)", part.strip()):
                yield match[1], match[2]


@page
def test_commands_exist(path: Path) -> None:
    wrong = []
    for command, rest in commands(path.read_text()):
        if command not in {entry.name for entry in COMMANDS}:
            wrong.append(command)
            continue
        entry = find(command)
        assert entry is not None
        mode, words = chosen_mode(entry, rest.split())
        known = options(mode.name)
        accepted = known[""] if "" in known else known.get(words[0], frozenset()) if words else frozenset()
        if command == "ncptl" and words[:1] == ["run"]:
            words = words[: next((i for i, w in enumerate(words) if w.endswith(".ncptl")), len(words))]
        flags = [m[0] for word in words if (m := re.match(r"--?[a-zA-Z][\w-]*", word))]
        wrong += [f"{command} {flag}" for flag in flags if flag not in accepted]
    assert wrong == []


@page
def test_studies_exist(path: Path) -> None:
    """Each command line of a benchmark is one that its study accepts."""
    text, wrong = path.read_text(), []
    for line in (*spans(text), *code(text)):
        if (match := re.match(r"\s*python -m (benchmarks\S*)((?: +[\w./-]+)*)", line.split("#")[0])) is None:
            continue
        words = match[2].split("  ")[0].split()
        studies = list(itertools.takewhile(NAMES.__contains__, words))
        if match[1] != "benchmarks" or not (studies or words[:1] == ["--list"]):
            wrong.append(line)
        flags = {word for word in words if word.startswith("--")} - {"--help", "--list", "--keep", "--quick"}
        known = {f"--{option.replace('_', '-')}" for name in studies for option in find_study(name).options}
        wrong += sorted(flags - known)
    assert wrong == []


@page
def test_make_targets_exist(path: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    text = path.read_text()
    named = [m[1] for line in (*spans(text), *code(text)) if (m := re.match(r"\s*make ([a-z-]+)", line))]
    assert [name for name in named if name not in targets] == []


@page
def test_python_is_valid(path: Path) -> None:
    for block in re.findall(r"^```python\n(.*?)^```", path.read_text(), flags=re.DOTALL | re.MULTILINE):
        compile(block, str(path), "exec")


def anchors(path: Path) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)", path.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@page
def test_links_lead_somewhere(path: Path) -> None:
    wrong = []
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
        name, _, anchor = target.partition("#")
        linked = path.parent / name if name else path
        if name.startswith("http"):
            continue
        if not linked.exists() or (anchor and anchor not in anchors(linked)):
            wrong.append(target)
    assert wrong == []


def sentences(text: str) -> Iterator[str]:
    """Return the sentences of paragraphs, lists and cells of tables; code counts as one word."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^ {4}.*", "", text, flags=re.MULTILINE)
    text = re.sub(r"`[^`\n]+`", "CODE", re.sub(r"\]\([^)]*\)", "]", text))
    text = re.sub(r"^(\s*([-*]|\d+\.)\s|#|\|)", r"\n\n\1", text, flags=re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n|\|", text):
        yield from re.split(r"(?<=[.!?])[)\"*]*\s+(?=[\"(]*[A-Z]|[\[*])", " ".join(paragraph.split()))


@page
def test_sentences_are_short(path: Path) -> None:
    long = [s for s in sentences(path.read_text()) if len(re.findall(r"[\w'-]+", s)) > MAX_WORDS]
    assert long == []
