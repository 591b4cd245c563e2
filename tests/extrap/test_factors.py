"""Ranks that are divided by the prime factors of their number, one after the other, into communicators."""

from __future__ import annotations

from itertools import accumulate
from math import prod
from pathlib import Path

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from scalatrace import Trace
from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.program.grid_shape import shape_of
from scalatrace.extrap.errors import ExtrapolationError, UndeterminedError
from scalatrace.extrap.extrapolate import model_of, of_model
from scalatrace.extrap.formatting import lines
from scalatrace.formula.functions import cofactor, prime_factors
from scalatrace.trace.io.reader import load_symbolic
from scalatrace.trace.io.writer import save
from scalatrace.trace.query.diff import diff
from support.calls import Groups, IssuedCall, call, record

SIZES = [4, 6, 9, 12, 16, 20]


def factors(n: int, rising: bool) -> list[int]:
    """The prime factors of a number in order."""
    return sorted((p for p, times in sympy.factorint(n).items() for _ in range(times)), reverse=not rising)


def splitting(nprocs: int, rising: bool = False, more: int = 0) -> Trace:
    """The trace of a program that splits communicators by prime factors; in each, ranks sum up.

    The counts are the parts that ranks belong to. A last communicator is made from the world.
    """
    sizes = [nprocs // by for by in accumulate([*factors(nprocs, rising), *[1] * more], int.__mul__)]
    members: Groups = {}
    for i, size in enumerate(sizes):
        name = f"c{i}<c{i - 1}" if i else "c0"
        members[name] = [list(range(first, first + size)) for first in range(0, nprocs, size)]
    members["later"] = [list(range(nprocs))]

    def calls(rank: int) -> list[IssuedCall]:
        within = zip([nprocs, *sizes], sizes, strict=False)
        colors = [rank % outer // inner for outer, inner in within]
        made = [call("Allreduce", 1, count=1 + color, comm=f"c{i}") for i, color in enumerate(colors)]
        return [*made, call("Allreduce", 2, count=7, comm="later"), call("Barrier", 3, comm="world")]

    return record([calls(rank) for rank in range(nprocs)], members)


@pytest.mark.parametrize("rising", [False, True])
@pytest.mark.parametrize("nprocs", [18, 30, 35, 64, 96])
def test_as_many_communicators_as_prime_factors(rising: bool, nprocs: int) -> None:
    model = model_of([splitting(n, rising) for n in SIZES])[1]
    made = of_model(model, nprocs).trace
    assert diff(made, splitting(nprocs, rising), ["times"]) == []


def test_sizes_of_two_factors_show_no_rule() -> None:
    """Each trace has two communicators: always, or since the numbers of ranks have two prime factors."""
    model = model_of([splitting(n) for n in (4, 6, 9, 15)])[1]
    assert diff(of_model(model, 35).trace, splitting(35), ["times"]) == []
    with pytest.raises(UndeterminedError, match=r"cannot tell 2 from prime_factors\(P\)"):
        of_model(model, 12)


def test_halving_is_not_told_from_prime_factors() -> None:
    """Of 6, 12, 24 and 48 ranks, halves of halves are what is left without the smallest prime factors."""
    model = model_of([splitting(n, rising=True) for n in (6, 12, 24, 48)])[1]
    assert diff(of_model(model, 96).trace, splitting(96, rising=True), ["times"]) == []
    with pytest.raises(UndeterminedError, match=r"cannot tell log2\(X\) from prime_factors\(P\)"):
        of_model(model, 54)


def test_saved_and_shown(tmp_path: Path) -> None:
    model = model_of([splitting(n) for n in SIZES])[1]
    save(model, tmp_path / "split.stx")
    made = of_model(load_symbolic(tmp_path / "split.stx"), 30).trace
    assert diff(made, splitting(30), ["times"]) == []
    text = "\n".join(lines(model))
    assert "communicator split#3: prime_factors(P) times, each from the one before" in text


def test_scalable_programs_are_refused() -> None:
    with pytest.raises(GenerateError, match="prime factors"):
        shape_of(model_of([splitting(n) for n in SIZES])[1])


def test_other_numbers_of_communicators_are_refused() -> None:
    """Communicators are split once more than there are prime factors on 9 ranks only."""
    traces = [splitting(n) for n in SIZES]
    traces[SIZES.index(9)] = splitting(9, more=1)
    with pytest.raises(ExtrapolationError, match="no formula found"):
        model_of(traces)


@given(st.integers(-5, 10**12), st.integers(-9, 9))
def test_factors_of_numbers(n: int, i: int) -> None:
    known = factors(n, rising=i < 0) if n > 1 else []
    assert prime_factors(n) == len(known)
    assert cofactor(n, i) == (prod(known[abs(i) :]) if n > 1 else n)


def test_factors_of_a_large_prime() -> None:
    assert prime_factors((1 << 61) - 1) == 1
