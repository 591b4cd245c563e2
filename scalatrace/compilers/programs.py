"""Start programs that the user did not name: this interpreter, compilers, launchers, tools of the system.

The current folder may hold files of somebody else. So no module, and no program of the PATH, is taken from
it: relative entries of PATH are left out, and Python does not import from the folder (`-P`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["IMPORT_NOTHING_HERE", "find_program", "own_python", "run_tool"]

IMPORT_NOTHING_HERE = "import sys; sys.path[:] = [path for path in sys.path if path]; "
"""First statements of `python -c` for interpreters before 3.11, which do not know `-P`."""


def own_python(*words: str | Path) -> list[str]:
    """Return a command of this interpreter, such as `-m scalatrace`, that imports nothing from the folder."""
    return [sys.executable, "-P", *map(str, words)]


def find_program(name: str) -> str | None:
    """Return the path of a program on the PATH, without PATH's relative entries; None: there is none."""
    return shutil.which(name, path=_absolute_path())


def run_tool(
    command: Sequence[str | Path],
    cwd: Path | None = None,
    timeout_s: float | None = None,
    variables: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command without input; return its exit status and output.

    Args:
        command: program and arguments; programs that it starts are looked up without relative entries, too.
        variables: more variables of its environment.

    Raises:
        OSError: it cannot be started.
        subprocess.TimeoutExpired: it took more than `timeout_s` seconds, and was killed.
    """
    return subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, "PATH": _absolute_path(), **(variables or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout_s,
        check=False,
    )


def _absolute_path() -> str:
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(filter(os.path.isabs, entries))
