"""The short form of `make sanitize`: tests of parts, merge and policies under AddressSanitizer."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from support.mpis import ROOT
from support.running import run
from support.sanitizers import ADDRESS, CXX, SANITIZERS, Sanitizer, compiled, environment, link, obstacle

# The undefined-behaviour sanitizer doubles the time to compile; `make sanitize` has it.
SHORT = replace(ADDRESS, name="address-only", flags=("-fsanitize=address",))
MODULES = ("test_hostile_parts", "test_parts", "test_policy")

FAULTS = {
    "address": "int main(int n, char **) { int *p = new int[4]; delete[] p; return p[n]; }",
    "thread": """\
#include <thread>
int shared;
int main() {
    for (int i = 0; i < 100; ++i) {
        std::thread other([] { shared = 1; });
        shared = 2;
        other.join();
    }
}""",
}


@pytest.mark.slow  # `make sanitize` runs these and more
def test_core_under_address_sanitizer() -> None:
    if reason := obstacle(ADDRESS):
        pytest.skip(reason)
    tests = [f"tests/core/{module}.py" for module in MODULES]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", *tests]
    run(command, env={**os.environ, **environment(SHORT)}, cwd=ROOT, timeout=600).check()


@pytest.mark.parametrize("sanitizer", SANITIZERS.values(), ids=SANITIZERS)
def test_a_fault_is_reported(sanitizer: Sanitizer, tmp_path: Path) -> None:
    """The flags do what these tests need: a program with a fault fails."""
    if reason := obstacle(sanitizer):
        pytest.skip(reason)
    source = tmp_path / "fault.cpp"
    source.write_text(FAULTS[sanitizer.name])
    program = tmp_path / "fault"
    link([*CXX, *sanitizer.flags], compiled([source], list(sanitizer.flags)), program)
    done = run([program], env={**os.environ, **sanitizer.environment})
    assert done.returncode != 0
    assert "Sanitizer" in done.stderr
