"""Names of files with the numbers of ranks and steps, with and without leading zeros."""

from __future__ import annotations

import pytest

from scalatrace import extrap
from scalatrace.extrap.errors import ExtrapolationError
from scalatrace.extrap.solve.numbered_names import parts_of_name, text_of_name, widths_of
from scalatrace.trace.query.diff import diff
from support.calls import IssuedCall, call
from support.grids import Rank, trace_of

LINES = [(3,), (4,), (5,)]


@pytest.mark.parametrize(
    "name", ["ck_{r:03d}.{k}", "{r}-of-{P:02d}", "run-{k:04d}/rank-{r:02d}.h5", "2024-01-02.{r}", "-{r}"]
)
def test_names_of_files_are_extrapolated(name: str) -> None:
    def body(rank: Rank) -> list[IssuedCall]:
        names = [name.format(r=rank.number, P=rank.dims[0], k=k) for k in range(2)]
        return [call("File_open", 1, filename=one, comm="world") for one in names]

    made = extrap.extrapolate([trace_of(body, dims) for dims in LINES], 12, (12,), dims_of=LINES)
    assert diff(made.trace, trace_of(body, (12,)), ["times"]) == []


def test_names_of_several_widths_are_refused() -> None:
    def body(rank: Rank) -> list[IssuedCall]:
        return [call("File_open", 1, filename="a" + "0" * rank.number + "1", comm="world")]

    with pytest.raises(ExtrapolationError, match="no formula found for filename"):
        extrap.extrapolate([trace_of(body, dims) for dims in LINES], 12, (12,), dims_of=LINES)


def test_widths() -> None:
    names = ["a003.1", "a012.10", "a1000.2", "b7", "b12", "c00", "c000", "d" + "1" * 30]
    widths = widths_of(names)
    assert widths == {("a", ".", ""): (3, 0), ("b", ""): (0,)}
    assert [text_of_name(parts_of_name(name, widths)) for name in names] == names
    assert text_of_name(("a", ("%03d", 20), ".", 5, "")) == "a020.5"
