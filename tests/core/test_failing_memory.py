"""Each allocation of the core fails once: the call reports it, nothing leaks or is lost silently."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.running import run
from support.sanitizers import ADDRESS, build_driver, obstacle

NATIVE = Path(__file__).with_name("native")
WRAPPED = ("malloc", "calloc", "realloc", "free", "realpath")


@pytest.fixture(scope="module")
def driver() -> Path:
    """Build a session of three ranks that repeats with each allocation failing, under AddressSanitizer."""
    if reason := obstacle(ADDRESS):
        pytest.skip(reason)
    sources = [NATIVE / "session.c", NATIVE / "failing_memory.cpp"]
    return build_driver(ADDRESS, sources, [f"-Wl,--wrap={name}" for name in WRAPPED])


@pytest.mark.slow
@pytest.mark.parametrize("mode", [(), ("sticky",)], ids=["each", "each-and-all-later"])
def test_an_allocation_fails(driver: Path, tmp_path: Path, mode: tuple[str, ...]) -> None:
    environment = {"ASAN_OPTIONS": "detect_leaks=1", "UBSAN_OPTIONS": "print_stacktrace=1"}
    done = run([driver, tmp_path, "0", "1", *mode], env=environment, timeout=600).check()
    first, *_, last = done.stdout.splitlines()
    assert int(first.split()[0]) > 4000  # the session uses the whole interface
    assert ", 0 wrong," in last, done.stdout
