"""Run many commands in children of one process that has imported what they need: half a second less for each.

test                               server                          child
one JSON line: words, limits ----> fork -------------------------> limits, `scalatrace` with these words
one JSON line: status <----------- wait for the child <----------- output in two files
"""

from __future__ import annotations

import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
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
    """Runs `scalatrace` commands with limits, each in a process of its own.

    Args:
        max_bytes: memory of a command.
        max_seconds: processor time of a command.
    """

    def __init__(self, max_bytes: int, max_seconds: int) -> None:
        self._limits = max_bytes, max_seconds
        path = os.pathsep.join(filter(None, (str(TESTS), os.environ.get("PYTHONPATH"))))
        self._server = subprocess.Popen(
            [sys.executable, "-m", "support.forked"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
            text=True,
        )

    def run(self, words: Sequence[object]) -> Run:
        """Run one command; its status is negative where a signal ended it."""
        assert self._server.stdin
        assert self._server.stdout
        with tempfile.TemporaryDirectory() as folder:
            paths = [f"{folder}/out", f"{folder}/error"]
            request = [list(map(str, words)), *self._limits, *paths]
            print(json.dumps(request), file=self._server.stdin, flush=True)
            status = int(self._server.stdout.readline())
            return Run(status, *(Path(path).read_bytes().decode(errors="replace") for path in paths))

    def close(self) -> None:
        """End the server."""
        self._server.communicate()


def serve() -> None:
    """Run commands until no more come; return in each child, which then runs its own."""
    for line in sys.stdin:
        words, max_bytes, max_seconds, *paths = json.loads(line)
        child = os.fork()
        if child:
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
            continue
        for number, name in ((0, os.devnull), (1, paths[0]), (2, paths[1])):
            os.dup2(os.open(name, os.O_RDWR | os.O_CREAT), number)
        resource.setrlimit(resource.RLIMIT_DATA, (max_bytes, max_bytes))
        resource.setrlimit(resource.RLIMIT_CPU, (max_seconds, max_seconds + 1))
        sys.argv[:] = ["scalatrace", *words]
        os._exit(run_command())


def run_command() -> int:
    """Run the command line of this process, and return the status with which the interpreter would end."""
    try:
        status = import_module("scalatrace.__main__").run()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return int(status)


if __name__ == "__main__":
    for module in PRELOADED:
        import_module(module)
    gc.freeze()  # or each child copies all of it when it searches for garbage
    serve()
