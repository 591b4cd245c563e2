"""Measurements. Programs are started the way the tests start them, so tests/support is borrowed."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
