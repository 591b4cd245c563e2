"""Commands that simulate, model and export a trace, run as a user does, on the file of a trace."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from scalatrace.cli import main
from scalatrace.predict.export.formats import FORMATS
from scalatrace.trace.io.writer import save
from scalatrace.trace.model.trace import Trace

__all__ = ["COMMANDS"]

MAX_CALLS, MAX_RANKS = 2000, 64
"""Larger traces take more time than a fuzzer has."""

_LINES = {
    "simulate": ["simulate", "{trace}", "--platform", "cluster"],
    "simulate --by rank": ["simulate", "{trace}", "--platform", "cluster", "--by", "rank", "--json"],
    "models": ["models", "--trace", "{trace}", "--platform", "cluster", "--ranks", "64"],
    "variability": ["variability", "{trace}", "--ranks", "4096"],
    "regress": ["regress", *["{trace}"] * 4],
    "report --platform": ["report", "{trace}", "--platform", "cluster", "-o", "{output}", "--no-source"],
    "anonymize": ["anonymize", "{trace}", "-o", "{output}.st"],
    **{
        f"export --to {name}": ["export", "{trace}", "--to", name, "-o", "{output}"]
        for name in FORMATS
        if name != "parquet"  # pyarrow reserves more address space than the limit of a fuzzed process
    },
}  # fmt: skip
"""Command -> its words."""


def _run(words: list[str], trace: Trace) -> None:
    calls = trace.counted()
    if calls is None or calls > MAX_CALLS or trace.nprocs > MAX_RANKS:
        return
    with tempfile.TemporaryDirectory(prefix="fuzz-command-") as folder:
        path, output = Path(folder, "a.st"), Path(folder, "out")
        save(trace, path)
        error = io.StringIO()
        with redirect_stdout(io.StringIO()), redirect_stderr(error):
            status = main([word.format(trace=path, output=output) for word in words])
        if status == 2 and "usage:" in error.getvalue():
            raise AssertionError(error.getvalue())


def _command(words: list[str]) -> Callable[[Trace], None]:
    return lambda trace: _run(words, trace)


COMMANDS = {name: _command(words) for name, words in _LINES.items()}
