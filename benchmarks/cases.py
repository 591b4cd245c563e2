"""Measured programs, each with the numbers of ranks that it accepts."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from support.programs import Sample
from support.workloads import WORKLOADS

Program = TypeVar("Program", bound=Sample)


def cases(chosen: Sequence[Program], ranks: Sequence[int]) -> Iterator[tuple[Program, int, Path]]:
    """Each program with each number of ranks that it runs on, and a folder that is there until the next."""
    for program in chosen:
        for nprocs in ranks:
            if accepts(program, nprocs):
                with tempfile.TemporaryDirectory() as folder:
                    yield program, nprocs, Path(folder)


def accepts(sample: Sample, nprocs: int) -> bool:
    """Whether a program runs on so many ranks; of those that are no workloads, all do."""
    return all(w.accepts(nprocs) for w in WORKLOADS if w.source == sample.source)
