"""SECURITY.md: what is guaranteed for untrusted files has tests that check it."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_each_guarantee_names_its_tests() -> None:
    text = (ROOT / "SECURITY.md").read_text()
    section = text.split("## What the tools guarantee for untrusted files")[1].split("\n## ")[0]
    _, *entries = re.split(r"^- ", section, flags=re.MULTILINE)
    assert len(entries) > 5
    for entry in entries:
        named = re.findall(r"`(tests/[\w/]+\.py)`", entry)
        assert named, entry
        assert all((ROOT / path).exists() for path in named), entry
