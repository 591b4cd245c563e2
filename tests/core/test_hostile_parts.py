"""Parts that claim more values than they hold: one clear error, at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack
import pytest

from scalatrace.core.binding import COMM_WORLD, Core
from scalatrace.errors import FormatError, UsageError
from scalatrace.trace.model.tables import Kind
from support.filled import new_core
from support.parts import fields_of, packed, uncountable

NPROCS, TABLES, NODES = 2, 13, 19
"""Where the fields stand in a packed core: its ranks, the first table, the nodes."""
ARRAYS = TABLES + 3
HUGE = 1 << 40
Change = Callable[[list[Any]], None]


def fields_of_arrays() -> list[Any]:
    """The fields of a packed core: one call, 100 times, with one of two arrays in turn."""
    core = Core(0, 2)
    core.define_comm(COMM_WORLD, 0, "world", range(2))
    op = core.define_op("Startall", [("requests", Kind.ARRAY)])
    for i in range(100):
        core.append(op, [core.array([i % 2, 7, 3])])
    core.finish()
    return fields_of(core)


def refused(fields: list[Any], path: Path) -> str:
    """The error of reading, merging and writing a part with these fields."""
    Core(0, 2).write_packed(packed(fields), path)
    with pytest.raises(FormatError) as caught, Core.read_part(path) as part:
        part.write(path.with_suffix(".st"))
    return str(caught.value)


def _ranks(fields: list[Any]) -> None:
    fields[NPROCS] = 1 << 30


def _negative_number_of_calls(fields: list[Any]) -> None:
    fields[NPROCS + 1] = -1


def _negative_count(fields: list[Any]) -> None:
    fields[NPROCS + 3] = ["Iprobe", -65524]


def _array_length(fields: list[Any]) -> None:
    fields[ARRAYS][0][1] = 1 << 31


def _array_values(fields: list[Any]) -> None:
    fields[ARRAYS][0][2][0] = HUGE


def _more_values_than_terms(fields: list[Any]) -> None:
    _values(fields)[0] = HUGE


def _more_terms_than_values(fields: list[Any]) -> None:
    _values(fields)[3] = HUGE


def _overflowing_values(fields: list[Any]) -> None:
    _values(fields)[3] = (1 << 64) - 1


def _deep_values(fields: list[Any]) -> None:
    terms: Any = [0]
    for _ in range(40):
        terms = [[1, 0, terms]]
    _values(fields)[:] = [1, 0, 0, 0, msgpack.packb(terms)]


def _deep_nodes(fields: list[Any]) -> None:
    node = fields[NODES][0]
    for _ in range(100):
        node = [1, 0, None, [[[2, 1]], node]]
    fields[NODES] = [node]


def _values(fields: list[Any]) -> list[Any]:
    """The vector of the parameter: [values, goes on, matched, count, terms]."""
    node = fields[NODES][0]
    while len(node) == 4:
        node = node[3][1]
    slot = node[6][0]
    return next(part for part in slot if isinstance(part, list) and len(part) == 5)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_ranks, "too many"),
        (_negative_number_of_calls, "negative"),
        (_negative_count, "negative"),
        (_array_length, "array"),
        (_array_values, "length"),
        (_more_values_than_terms, "length"),
        (_more_terms_than_values, "length"),
        (_overflowing_values, "too many values"),
        (_deep_values, "too deeply"),
        (_deep_nodes, "too deeply"),
    ],
)
def test_a_part_that_claims_too_much(
    change: Callable[[list[Any]], None], reason: str, tmp_path: Path
) -> None:
    fields = fields_of_arrays()
    change(fields)
    assert reason in refused(fields, tmp_path / "rank-0.part")


def test_a_part_whose_values_cannot_be_merged_in_time(tmp_path: Path) -> None:
    """A histogram takes the values one by one; both lengths of the vectors agree."""
    for rank in (0, 1):
        Core(rank, 2).write_packed(uncountable(rank), tmp_path / f"rank-{rank}.part")
    with (
        Core.read_part(tmp_path / "rank-0.part") as whole,
        Core.read_part(tmp_path / "rank-1.part") as other,
        pytest.raises(FormatError, match="too many values to be merged one by one"),
    ):
        whole.merge_core(other)


def fields_of_three_ranks() -> list[Any]:
    """The fields of the merged cores of three ranks: one call, three times, with a count for each rank."""
    whole = _sending(0)
    for rank in (1, 2):
        whole.merge(_sending(rank).pack())
    return fields_of(whole)


def _sending(rank: int, **limits: int) -> Core:
    core = new_core(rank, 4, limits)
    op = core.define_op("Send", [("count", Kind.INT), ("datatype", Kind.TYPE), ("counts", Kind.ARRAY)])
    for i in range(3):
        core.append(op, [10 + rank, core.define_type("MPI_INT", 4, 4), core.array([i, 5])])
    core.finish()
    return core


@pytest.mark.parametrize(
    ("groups", "reason"),
    [
        ([[], [3, 10], [[1, 2]], [3, 11]], "empty or out of order"),
        ([[[1, 1]], [3, 10], [[0, 0]], [3, 11]], "empty or out of order"),
        ([[[0, 2]], [3, 10], [[1, 1]], [3, 11]], "overlap"),
        ([[[0, 0]], [3, 10], [[1, 3]], [3, 11]], "that its node does not have"),
    ],
)
def test_a_part_with_groups_of_no_run(groups: list[Any], reason: str, tmp_path: Path) -> None:
    fields = fields_of_three_ranks()
    fields[NODES][0][6][0] = groups
    assert reason in refused(fields, tmp_path / "rank-0.part")


@pytest.mark.parametrize("ranks", [[], [[1, 3]]])
def test_a_part_with_a_node_of_no_rank(ranks: list[Any], tmp_path: Path) -> None:
    fields = fields_of_three_ranks()
    fields[NODES][0][2] = ranks
    assert "damaged ranks of a node" in refused(fields, tmp_path / "rank-0.part")


@pytest.mark.parametrize(("slot", "limit"), [(1, 4), (0, -4), (2, -4)])
def test_a_part_with_limits_of_no_run(slot: int, limit: int, tmp_path: Path) -> None:
    fields = fields_of_three_ranks()
    slots = fields[NODES][0][6]
    slots[slot] = [limit, slots[slot], None, None, None]
    assert "a limit of a parameter that has none" in refused(fields, tmp_path / "rank-0.part")


def test_a_part_with_averages_of_endless_arrays(tmp_path: Path) -> None:
    fields = fields_of(_sending(0, counts=1))
    slot = fields[NODES][0][6][2]
    assert len(slot) == 3  # limit, histogram, sum of lengths
    slot[2] = 1e300
    assert "a damaged length of arrays" in refused(fields, tmp_path / "rank-0.part")


@pytest.mark.parametrize("resolution", [0.0, 1e31, float("inf"), float("nan")])
def test_no_statistic_has_a_resolution_beyond_all_numbers(resolution: float) -> None:
    with Core(0, 1) as core, pytest.raises(UsageError, match="resolution"):
        core.define_stat("mine", resolution)


def test_a_part_with_numbers_that_no_run_gives(tmp_path: Path) -> None:
    """They would be merged into a trace that no reader accepts."""
    corpus = Path(__file__).parent.parent / "corpus" / "part" / "found"
    reasons = set()
    for name in ("01dbc07428", "202e853562", "8c5a81200b", "d02a48ab81"):
        for number, part in enumerate(msgpack.unpackb((corpus / f"{name}.parts").read_bytes())):
            Core(0, 2).write_packed(part, path := tmp_path / f"{name}-{number}.part")
            try:
                Core.read_part(path).close()
            except FormatError as error:
                reasons.add(error.reason.split(" at byte ")[0])
    assert reasons == {"a damaged histogram", "a negative repeat", "a damaged resolution"}
