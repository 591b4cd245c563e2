"""Reduce a program that fails, by leaving out phases."""

from __future__ import annotations

from collections.abc import Callable

from consumers.program import Program


def reduced(program: Program, fails: Callable[[Program], bool]) -> Program:
    """Return a program without the phases that are not needed for it to fail."""
    index = 0
    while index < len(program.phases) > 1:
        smaller = program.without(index)
        if fails(smaller):
            program = smaller
        else:
            index += 1
    return program
