"""Places of a grid with equal values of formulas, against the value vectors of each place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scalatrace.arrays import Ints
from scalatrace.trace.model.formulas import Formulas
from scalatrace.trace.model.rank_classes import equal_places, rank_classes
from scalatrace.trace.symbolic.field import INDEXED, LOOPED, Part
from scalatrace.trace.symbolic.grid import Grid
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec
from support.formulas import part

LOOPS = (Vec(3), Vec(2))
RANKS = 100


def places(parts: list[Part], loops: tuple[Vec, ...] | None = LOOPS, **more: Any) -> tuple[Ints, Ints] | None:
    """Those of a row of ranks."""
    place = {"P": RANKS, "X": RANKS, "x": np.arange(RANKS), "r": np.arange(RANKS), **more}
    return equal_places(parts, place, np.zeros(RANKS, dtype=np.int64), [loops], RANKS)


@pytest.mark.parametrize(
    ("parts", "nclasses"),
    [
        ([part("1", None, ("5",))], 1),
        ([part("1", None, ("x%3",))], 3),
        ([part("x<2", None, ("1",)), part("x>97", None, ("2",)), part("1", None, ("3",))], 3),
        ([part("x<2", None, ("1",))], 2),
        ([part("1", None, None)], 1),
        ([part("1", LOOPED, ("2", "(x>0)*(i1==1)+(x<X-1)*(i2==2)"))], 3),
        ([part("1", LOOPED, ("1", "i1*(x%2)"))], 2),
        ([part("1", INDEXED, ("1+x%2", "i+x%3"))], 6),
        ([part("x==0", None, ("-1000000001",)), part("1", None, ("x%2",))], 3),
        ([part("1", None, ("(x%2)*9223372036854775807-(1-x%2)*9223372036854775807",))], 2),
    ],
)
def test_places_with_equal_values_are_one_class(parts: list[Part], nclasses: int) -> None:
    found = places(parts)
    assert found is not None
    first, number = found
    assert len(first) == nclasses
    value = Formulas(RankList.all(RANKS), Grid((RANKS,)), (), parts, LOOPS)
    assert [value.at(int(first[n])) for n in number] == [value.at(rank) for rank in range(RANKS)]


@pytest.mark.parametrize(
    ("parts", "loops"),
    [
        ([part("1", None, ("1//x",))], LOOPS),
        ([part("1", None, ("x",))], LOOPS[:1]),
        ([part("1", LOOPED, ("2", "i1+x"))], (Vec(3), Vec((2, 1)))),
        ([part("1", LOOPED, ("1", "i1+x"))], (Vec(-2),)),
        ([part("1", LOOPED, ("1", "i1+x"))], (Vec(1 << 30),)),
        ([part("1", INDEXED, ("(1<<40)+0*x", "i+x"))], LOOPS),
    ],
)
def test_no_classes_where_they_cannot_be_found_in_time(parts: list[Part], loops: tuple[Vec, ...]) -> None:
    place = {"P": RANKS, "X": RANKS, "x": np.arange(RANKS)}
    assert equal_places(parts, place, np.zeros(RANKS, dtype=np.int64), [loops], RANKS - 1) is None


def test_parameters_have_precedence_over_coordinates() -> None:
    """As in the value vectors of single ranks."""
    value = Formulas(RankList.all(RANKS), Grid((RANKS,)), (("x", 0),), [part("1", None, ("(x==0)*r",))])
    found = {rank: vec for ranks, vec in rank_classes(value, RankList.all(RANKS), RANKS) for rank in ranks}
    assert found == {rank: Vec(rank) for rank in range(RANKS)}
