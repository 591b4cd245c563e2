"""Measurements. They start programs with the helpers of tests/support."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
