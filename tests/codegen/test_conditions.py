"""Conditions on ranks: exactly the set, and in the words a person would use."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalatrace.codegen.emit.c.emitter import CEmitter
from scalatrace.codegen.emit.formula_printer import Infix
from scalatrace.codegen.program.conditions import among
from scalatrace.codegen.program.interpret import EvaluationSetting, holds
from scalatrace.trace.values.ranklist import RankList


def nobody(_: int) -> tuple[int, int]:
    raise AssertionError("no communicator is asked for")


@given(st.sets(st.integers(0, 40)), st.sets(st.integers(0, 40), min_size=1))
def test_holds_for_the_set_and_for_nobody_else(some: set[int], universe: set[int]) -> None:
    ranks, everyone = RankList(some & universe), RankList(universe)
    cond = among(ranks, everyone, 41)
    assert [r for r in everyone if holds(cond, EvaluationSetting({"rank": r}, nobody))] == list(ranks)


def written(chosen: Callable[[int], bool], nprocs: int) -> str:
    ranks = RankList(r for r in range(nprocs) if chosen(r))
    infix = Infix(CEmitter().notation, lambda values: f"{{{values}}}", str, str, str)
    return infix.cond(among(ranks, RankList.all(nprocs), nprocs))


@pytest.mark.parametrize(
    ("chosen", "nprocs", "text"),
    [
        (lambda r: True, 16, "1"),
        (lambda r: r == 3, 16, "rank == 3"),
        (lambda r: r != 15, 16, "rank != 15"),
        (lambda r: r >= 4, 16, "rank >= 4"),
        (lambda r: 0 < r < 7, 16, "rank != 0 && rank < 7"),
        (lambda r: r % 4 != 3, 16, "rank % 4 != 3"),
        (lambda r: r % 4 in (1, 2), 16, "rank % 4 != 0 && rank % 4 != 3"),
        (lambda r: r % 4 == 3 and 4 <= r < 12, 16, "rank % 4 == 3 && rank >= 4 && rank < 12"),
        (lambda r: r % 4 == 0 or r < 4, 16, "rank % 4 == 0 || rank < 4"),
        (lambda r: r // 3 % 3 == 1, 27, "rank % 9 >= 3 && rank % 9 < 6"),
        (lambda r: r in (0, 15), 16, "rank == 0 || rank == 15"),
        (lambda r: r % 32 == 5, 1024, "rank % 32 == 5"),
    ],
)
def test_as_a_person_would_write_it(chosen: Callable[[int], bool], nprocs: int, text: str) -> None:
    assert written(chosen, nprocs) == text


def test_ranks_that_cannot_come_do_not_count() -> None:
    even = RankList(range(0, 16, 2))
    infix = Infix(CEmitter().notation, str, str, str, str)
    assert infix.cond(among(RankList([8, 10, 12, 14]), even, 16)) == "rank >= 8"
