"""The pictures of the concept pages are those that docs/pictures draws, and pages show them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs/images"


def test_pictures_are_up_to_date(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "docs/pictures/concepts.py", tmp_path], check=True, timeout=120)
    drawn = {path.name: path.read_text() for path in tmp_path.glob("*.svg")}
    assert drawn
    assert {name: (IMAGES / name).read_text() for name in drawn} == drawn


def test_pictures_are_shown() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    text = "\n".join(page.read_text() for page in pages)
    assert [path.name for path in IMAGES.iterdir() if f"images/{path.name})" not in text] == []
