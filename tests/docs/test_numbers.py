"""Check that each quantity in README and guides has a source: a session, a benchmark, a constant, or a fact.

A quantity is a number with a unit, with a decimal point, or of at least 100. Numbers of sessions that the
tests run, and of code in the same paragraph, need no more. Each other one needs a line in numbers.toml, which
describes the sources.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from support.sessions import blocks_of

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / name for name in ("README.md", "docs/comparison.md", "docs/evaluation.md", "docs/tutorial.md")
]
PAGES += sorted((ROOT / "docs/guide").glob("*.md"))
SOURCES: dict[str, dict[str, str]] = tomllib.loads((Path(__file__).parent / "numbers.toml").read_text())
ANY_PAGE = "any page"

LARGE = 100
"""Numbers from here on are quantities, also without a unit."""

NUMBER = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
UNIT = r"(?:%|(?:x|times|[nµm]?s|seconds?|minutes?|hours?|days?|[kMG]i?B|B|bytes?|bits?|million)\b)"
QUANTITY = re.compile(
    rf"(?<![\w.^-])(?:{NUMBER}(?:, | and | or | to ))*{NUMBER} ?{UNIT}|(?<![\w.^-]){NUMBER}(?![A-Za-z])"
)
REFERENCE = re.compile(
    r"(?:Figures?|Tables?|Algorithms?|[Cc]hapters?|[Vv]ersions? before|§) ?[\d.]+(?:,? (?:and|to) §?[\d.]+)?"
    r"|\b(?:19|20)\d\d\b(?! ?\w*s\b)"
)
"""Parts of a publication, and years."""

FACTORS = (1, 100, *(10.0**k for k in (-9, -6, -3, 3, 6, 9)), *(2.0**-k for k in (10, 20, 30)))
"""Between the unit of a constant and that of a page: shares and %, ns and s, bytes and MiB."""


def prose(line: str) -> str:
    """Return a paragraph without code, targets of links, and references to publications."""
    line = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "CODE", line))
    return REFERENCE.sub("REFERENCE", line)


def lines_of(path: Path) -> list[str]:
    """Return the paragraphs, items of lists and rows of tables of a page, each as one line."""
    text = re.sub(r"^```.*?^```|<!--.*?-->|^ {4}.*?$", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    parts = re.split(r"\n\s*\n|\n(?=\||#)|\n\s*(?:[-*]|\d+\.) ", text)
    return [line for part in parts if (line := " ".join(part.split()))]


def is_quantity(text: str) -> bool:
    values = [number.replace(",", "") for number in re.findall(NUMBER, text)]
    return bool(re.search(UNIT, text)) or any("." in v or float(v) >= LARGE for v in values)


def is_shown(quantity: str, code: str) -> bool:
    """Return whether code has the quantity; a number of at least 100 may have another unit there."""
    if not is_quantity(re.sub(UNIT, "", quantity)):
        return re.search(rf"(?<![\d.,]){re.escape(quantity)}", code) is not None
    return all(n.replace(",", "") in numbers_in(code) for n in re.findall(NUMBER, quantity))


def numbers_in(code: str) -> set[str]:
    return {number.replace(",", "") for number in re.findall(NUMBER, code)}


def without_source(path: Path) -> list[str]:
    """Return the quantities of a page that neither code nor numbers.toml has, each with its line."""
    sessions = "\n".join(b.text for b in blocks_of(path.read_text()) if b.commands and b.reason is None)
    quotes = [*SOURCES[ANY_PAGE], *SOURCES.get(str(path.relative_to(ROOT)), ())]
    missing = []
    for line in lines_of(path):
        text = prose(line)
        covered = {i for quote in quotes for m in places(quote, text) for i in range(*m.span())}
        spans = numbers_in(" ".join(re.findall(r"`[^`]*`", line)))
        for match in QUANTITY.finditer(text):
            numbers = {number.replace(",", "") for number in re.findall(NUMBER, match[0])}
            if not is_quantity(match[0]) or numbers <= spans or set(range(*match.span())) <= covered:
                continue
            if not is_shown(match[0], sessions):
                missing.append(f"{match[0]}: {line}")
    return missing


def places(quote: str, text: str) -> Iterator[re.Match[str]]:
    return re.finditer(rf"(?<![\d.,]){re.escape(quote)}(?![\d]|[.,]\d)", text)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_each_quantity_has_a_source(path: Path) -> None:
    assert without_source(path) == [], "add a line to tests/docs/numbers.toml"


def value_of(match: re.Match[str]) -> float:
    """Return the value of `1 << 20`, `2**31 - 1`, `50_000` or `1,024`."""
    if match["power"]:
        return 2.0 ** int(match["power"]) - (1 if match["less"] else 0)
    return float(match["plain"].replace("_", "").replace(",", ""))


@cache
def values_of(text: str) -> tuple[float, ...]:
    power = r"(?:\b1\}? << |\b2\*\*)(?P<power>\d+)(?P<less> - 1)?"
    plain = r"(?<![\w.])(?P<plain>\d[\d_,]*(?:\.\d+)?(?:e[+-]?\d+)?)"
    pattern = f"{power}|{plain}"
    return tuple(value_of(match) for match in re.finditer(pattern, text))


def follows(number: str, source: str) -> bool:
    """Return whether a number of a page rounds one of its source, or of the excerpt that the source names."""
    name, _, excerpt = source.partition(": ")
    text = " ".join((ROOT / name).read_text().split())
    assert " ".join(excerpt.split()) in text, f"{name} no longer has: {excerpt}"
    digits = len(number.partition(".")[2])
    given = float(number.replace(",", ""))
    if excerpt:
        return any(round(v * factor, digits) == given for v in values_of(excerpt) for factor in FACTORS)
    return any(given in (round(v, digits), round(100 * abs(v - 1), digits)) for v in values_of(text))


@pytest.mark.parametrize("page", SOURCES)
def test_numbers_are_those_of_their_sources(page: str) -> None:
    for quote, source in SOURCES[page].items():
        where = [ROOT / page] if page != ANY_PAGE else PAGES
        assert any(next(places(quote, prose(line)), None) for path in where for line in lines_of(path)), (
            f"{page} no longer has: {quote}"
        )
        kind, _, text = source.partition(": ")
        if kind in ("example", "fact"):
            assert text
        else:
            wrong = [number for number in re.findall(NUMBER, quote) if not follows(number, source)]
            assert not wrong, f"{page}: {quote}: not in {source}"


def test_a_quantity_without_source_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        "It takes 17 ms in 3 steps, 95 % of it in MPI, `-P 1024` means 1,024 ranks. See §3.2.4 (2021).\n"
        "The trace has 5,250 bytes, not 5,251.\n\n    $ scalatrace info a.st\n    5,250 bytes\n"
    )
    assert [text.partition(":")[0] for text in without_source(page)] == ["17 ms", "5,251"]


@pytest.mark.parametrize(
    ("number", "source", "is_right"),
    [
        ("50,000", "scalatrace/cli/replay_engine.py: MIN_EVENTS = 50_000", True),
        ("51,000", "scalatrace/cli/replay_engine.py: MIN_EVENTS = 50_000", False),
        ("20", "scalatrace/report/predictions/verdict.py: MAX_SURE = 0.2", True),
        ("64", "scalatrace/trace/exchange/type_addresses.py: MAX_GAP_NBYTES = 1 << 36", True),
        ("139", "benchmarks/results/overhead.md", True),
        ("138", "benchmarks/results/overhead.md", False),
    ],
)
def test_sources(number: str, source: str, is_right: bool) -> None:
    assert follows(number, source) == is_right
