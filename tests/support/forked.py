"""Run many commands in children of one process that has imported what they need: it saves most of their time.

test                               server                          child
one JSON line: words, limits ----> fork -------------------------> limits, `scalatrace` with these words
one JSON line: status <----------- wait for the child <----------- output in two files
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).resolve().parents[1]
PRELOADED = ("fuzz.exercise", "scalatrace.cli.dispatch", "scalatrace.extrap", "scalatrace.symbols")
"""Modules that import what most commands need."""


class Run(NamedTuple):
    """Exit status and output of a command."""

    status: int
    out: str
    error: str


class CommandServer:
    """Runs `scalatrace` commands, each in a process of its own.

    Args:
        max_bytes: memory of a command; 0: as much as there is.
        max_seconds: processor time of a command; 0: any.
    """

    def __init__(self, max_bytes: int = 0, max_seconds: int = 0) -> None:
        self._limits = max_bytes, max_seconds
        path = os.pathsep.join(filter(None, (str(TESTS), os.environ.get("PYTHONPATH"))))
        self._server = subprocess.Popen(
            [sys.executable, "-m", "support.forked"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
            cwd=TESTS.parent,
            text=True,
        )

    def run(
        self,
        words: Sequence[object],
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        timeout: float = 0,
    ) -> Run:
        """Run one command; its status is negative where a signal ended it.

        Args:
            env: environment; None: that of this process.
            timeout: seconds after which a signal ends it; 0: none.
        """
        assert self._server.stdin
        assert self._server.stdout
        with tempfile.TemporaryDirectory() as folder:
            paths = f"{folder}/out", f"{folder}/error"
            place = str(cwd or Path.cwd()), dict(os.environ if env is None else env)
            request = [list(map(str, words)), *self._limits, timeout, *place, *paths]
            print(json.dumps(request), file=self._server.stdin, flush=True)
            status = int(self._server.stdout.readline())
            return Run(status, *(Path(path).read_bytes().decode(errors="replace") for path in paths))

    def close(self) -> None:
        """End the server."""
        self._server.communicate()


def serve() -> None:
    """Run commands, each in a child, until no more come."""
    for line in sys.stdin:
        child = os.fork()
        if child:
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        else:
            status = 1
            try:
                status = run_command(*json.loads(line))
                sys.stdout.flush()
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(status)


def run_command(
    words: list[str], max_bytes: int, max_seconds: int, timeout: float, cwd: str, env: dict[str, str],
    out: str, error: str,
) -> int:  # fmt: skip
    """Run a command in this process, and return the status with which the interpreter would end."""
    os.setsid()
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    for number, name in ((0, os.devnull), (1, out), (2, error)):
        os.dup2(os.open(name, os.O_RDWR | os.O_CREAT), number)
    if max_bytes:
        resource.setrlimit(resource.RLIMIT_DATA, (max_bytes, max_bytes))
    if max_seconds:
        resource.setrlimit(resource.RLIMIT_CPU, (max_seconds, max_seconds + 1))
    signal.setitimer(signal.ITIMER_REAL, timeout)
    sys.argv[:] = ["scalatrace", *words]
    try:
        return int(import_module("scalatrace.__main__").run())
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)


if __name__ == "__main__":
    for module in PRELOADED:
        import_module(module)
    gc.freeze()  # or each child copies all of it when it searches for garbage
    serve()
