"""Commands as users type them, on files of each kind.

Commands that start ranks of MPI (record, replay, fixpoint, sweep, calibrate, tune) are left out.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from scalatrace.cli import main
from scalatrace.errors import ScalatraceError, UsageError
from scalatrace.predict.export.formats import FORMATS
from scalatrace.trace.io.writer import save
from scalatrace.trace.model.trace import Trace

__all__ = [
    "FAMILY_COMMANDS", "LOG_COMMANDS", "MODEL_COMMANDS", "PLATFORM_COMMANDS", "TABLE_COMMANDS",
    "TRACE_COMMANDS", "run",
]  # fmt: skip

MAX_CALLS, MAX_RANKS = 2000, 64
"""Larger traces take more time than a fuzzer has."""

CLUSTER = "--platform cluster"

_OF_TRACES = {
    "simulate": f"simulate INPUT {CLUSTER}",
    "simulate --by rank": f"simulate INPUT {CLUSTER} --by rank --json",
    "study": f"study INPUT {CLUSTER} --workers 1",
    "simulate --path": f"simulate INPUT {CLUSTER} --path --repeat 3",
    "variability": "variability INPUT --ranks 4096",
    "regress": "regress INPUT INPUT INPUT INPUT INPUT",
    "report --platform": f"report INPUT {CLUSTER} -o OUTPUT --no-source",
    "anonymize": "anonymize INPUT -o OUTPUT.st",
    "resolve": "resolve INPUT -o OUTPUT.st --time-limit 1",
    **{f"export --to {name}": f"export INPUT --to {name} -o OUTPUT" for name in FORMATS},
}
MODEL_COMMANDS = {
    "show": "show INPUT",
    "check": "check INPUT --ranks 6 --prove 0",
    "instantiate": "instantiate INPUT -P 6 -o OUTPUT.st",
    "generate --to c": "generate INPUT --to c -o OUTPUT.c",
    "generate --to python": "generate INPUT --to python -o OUTPUT.py",
    "generate --to conceptual": "generate INPUT --to conceptual -o OUTPUT.ncptl",
    "models --trace": f"models --trace INPUT {CLUSTER} --ranks 16",
    "anonymize": "anonymize INPUT -o OUTPUT.stx",
}
PLATFORM_COMMANDS = {
    "simulate --platform": "simulate SEED --platform INPUT",
    "simulate --path": "simulate SEED --platform INPUT --path --repeat 3",
    "models": "models --platform INPUT allreduce message --ranks 64",
    "report --platform": "report SEED --platform INPUT -o OUTPUT --no-source",
    "export --to simgrid": "export SEED --to simgrid --platform INPUT -o OUTPUT",
    "export --to goal": "export SEED --to goal --platform INPUT -o OUTPUT",
}
FAMILY_COMMANDS = {
    "extrapolate": "extrapolate INPUT SEEDS -P 12 -o OUTPUT.st",
    "extrapolate --symbolic": "extrapolate INPUT SEEDS --symbolic -o OUTPUT.stx",
    "extrapolate --lossy": "extrapolate INPUT SEEDS -P 12 --lossy -o OUTPUT.st",
    "diff": "diff INPUT SEED",
    "report": "report INPUT SEED -o OUTPUT --no-source",
    "regress": "regress SEED SEED SEED SEED SEED INPUT",
    "export --to extrap": "export INPUT SEEDS --to extrap -o OUTPUT",
}
LOG_COMMANDS = {"import": "import FOLDER -o OUTPUT.st"}
TABLE_COMMANDS = {
    "variability --times": "variability --times INPUT -P 64",
    "regress --table": "regress --table INPUT",
}


def run(line: str, given: Path, *seeds: Path) -> None:
    """Run the command of a line on a file. Raises ScalatraceError where it refuses what it reads."""
    with tempfile.TemporaryDirectory(prefix="fuzz-command-") as folder:
        places = {
            "INPUT": [str(given)],
            "FOLDER": [str(given.parent)],
            "SEED": [str(seed) for seed in seeds[:1]],
            "SEEDS": [str(seed) for seed in seeds],
        }
        output = str(Path(folder, "out"))
        words = [each.replace("OUTPUT", output) for word in line.split() for each in places.get(word, [word])]
        error = io.StringIO()
        with redirect_stdout(io.StringIO()), redirect_stderr(error):
            status = main(words)
    said = error.getvalue()
    if status == 2 and "usage:" in said:
        raise AssertionError(said)
    if "out of memory" in said:
        raise MemoryError(said)
    if status and (at := said.find("scalatrace: ")) >= 0:
        raise UsageError(said[at:].split("\n")[0])  # that of `extrapolate` goes on with cause and next step


def _on_traces(line: str) -> Callable[[Trace], None]:
    def command(trace: Trace) -> None:
        calls = trace.counted()
        if calls is None or calls > MAX_CALLS or trace.nprocs > MAX_RANKS:
            raise ScalatraceError("larger than a fuzzer has time for")
        with tempfile.TemporaryDirectory(prefix="fuzz-trace-") as folder:
            save(trace, path := Path(folder, "a.st"))
            run(line, path)

    return command


TRACE_COMMANDS = {name: _on_traces(line) for name, line in _OF_TRACES.items()}
