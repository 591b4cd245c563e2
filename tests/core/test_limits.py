"""Smaller forms of the study `limits`: many call sites, communicators and types, wide values, odd names."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.record.limits import CASES, differences, record_case

NUMBERS = {
    "call sites": 5_000,
    "iterations": 20_000,
    "communicators in the core": 5_000,
    "datatypes in the core": 1_000,
    "64-bit counts": 1_000,
    "names of 255 bytes": 100,
}


@pytest.mark.parametrize("case", CASES)
def test_trace_equals_what_was_recorded(case: str, tmp_path: Path) -> None:
    record_case(case, NUMBERS[case], tmp_path / "a.st")
    assert differences(case, NUMBERS[case], tmp_path / "a.st") == 0
