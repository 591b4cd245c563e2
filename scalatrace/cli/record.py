"""Record an MPI program. Put this between the launcher and the program; the process becomes the program."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from scalatrace.cli.parsing import further
from scalatrace.errors import FormatError
from scalatrace.record.__main__ import arguments as record_arguments
from scalatrace.record.__main__ import options_of
from scalatrace.record.launch import RecordOptions, launch
from scalatrace.record.refusal import refused_together
from scalatrace.trace.model.sites import Range

LINES_S = 60.0
"""Seconds to find the offsets of the lines that `--only-sites` names."""

EXAMPLE = (
    "mpiexec -n 16 scalatrace record -o app.st -- python app.py --steps 100\n"
    "  mpiexec -n 16 scalatrace record --resolve -o app.st -- ./solver input.txt\n"
    "  srun -n 64 scalatrace record --stacks none -- ./solver input.txt"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments, which `python -m scalatrace.record` has too."""
    record_arguments(parser, partial(further, parser))


def run(args: argparse.Namespace) -> int:
    """Become the program."""
    words = args.program[1:] if args.program[:1] == ["--"] else args.program
    with refused_together(words):
        launch(_with_offsets(options_of(args), words), words)


def _with_offsets(options: RecordOptions, words: list[str]) -> RecordOptions:
    """Add the offsets of source lines to a selection by call sites: native frames are offsets in the run."""
    policy = options.policy
    selection = policy.selection
    program = shutil.which(words[0]) if words else None
    if program is None or not (selection.only_sites or selection.except_sites):
        return options
    only = [*selection.only_sites, *_offsets(program, selection.only_sites)]
    excluded = [*selection.except_sites, *_offsets(program, selection.except_sites)]
    selection = replace(selection, only_sites=only, except_sites=excluded)
    return replace(options, policy=replace(policy, selection=selection))


def _offsets(program: str, sites: Sequence[Range]) -> list[Range]:
    from scalatrace.symbols.module import offsets_of
    from scalatrace.symbols.time_limit import TimeUpError, time_limit

    try:
        with time_limit(LINES_S):
            return [offsets for site in sites for offsets in offsets_of(program, site)]
    except (FormatError, TimeUpError):  # a script, or too much debug information
        return []
