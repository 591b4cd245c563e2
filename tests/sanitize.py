"""Run tests of the native code under sanitizers: `make sanitize`.

    python tests/sanitize.py [address] [thread]

Core and shim are built with AddressSanitizer and UndefinedBehaviorSanitizer, then with ThreadSanitizer. The
exit status is 1 if a test fails or a sanitizer reports something.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from support.mpis import ROOT
from support.sanitizers import SANITIZERS, Sanitizer, environment, obstacle

NO_TESTS = 5
"""Exit status of pytest where nothing was selected."""
CORE_TESTS = ("tests/core", "tests/trace/test_binding.py")
RECORD_TESTS = tuple(
    f"tests/record/test_{name}.py"
    for name in ("families", "threads", "endings", "worlds", "copies", "live", "times", "selection")
)
#: By sanitizer, the arguments of pytest runs. One MPI is enough: the code is the same.
RUNS: dict[str, tuple[Sequence[str], ...]] = {
    "address": (
        (
            *CORE_TESTS,
            "-m",
            "not slow",
            "--deselect",
            "tests/core/test_sanitizers.py",
            "--deselect",
            "tests/core/test_failing_memory.py",
        ),
        (*RECORD_TESTS, "-m", "mpi and not slow", "-k", "openmpi and not debian and not mpich"),
    ),
    # Open MPI 5 ends with a segmentation fault under ThreadSanitizer, also without the tracer.
    "thread": (("tests/record/test_threads.py", "-k", "communicators and debian or checkpoints and debian"),),
}


def sanitized(sanitizer: Sanitizer) -> int:
    """Run the tests of one sanitizer; return 1 when they fail."""
    if reason := obstacle(sanitizer):
        print(f"{sanitizer.name}: skipped: {reason}")
        return 0
    status = 0
    with tempfile.TemporaryDirectory() as cache:
        # The cache keeps shims of this build apart; the processes of MPI find it by this variable.
        env = {**os.environ, **environment(sanitizer), "SCALATRACE_CACHE": cache}
        for arguments in RUNS[sanitizer.name]:
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
            print(f"{sanitizer.name}: {' '.join(arguments)}", flush=True)
            code = subprocess.run(command, env=env, cwd=ROOT, check=False).returncode
            status |= code not in (0, NO_TESTS)
    return status


def main(names: Sequence[str]) -> int:
    """Run the tests of the named sanitizers, or of all."""
    if unknown := [name for name in names if name not in SANITIZERS]:
        print(f"{unknown[0]}: no such sanitizer; give some of {', '.join(SANITIZERS)}", file=sys.stderr)
        return 2
    return max([sanitized(SANITIZERS[name]) for name in names or SANITIZERS])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
