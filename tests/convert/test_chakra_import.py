"""Chakra traces that were exported, imported and exported again are equal; errors name the byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalatrace
from scalatrace import Trace
from scalatrace.convert.schedules.chakra import MEMORY, MISSING
from scalatrace.convert.sources import convert
from scalatrace.errors import FormatError, ScalatraceError
from scalatrace.predict.export.chakra import CHAKRA, MIN_GATHER_BYTES, types, write_chakra
from scalatrace.predict.lowering import CollectiveAction, Computation, RecvMessage, SendMessage, TraceLowering
from support.builder import stencil
from support.lowered import every_kind

pytest.importorskip("google.protobuf")


def exported(trace: Trace, folder: Path) -> Path:
    folder.mkdir()
    write_chakra(TraceLowering(trace, CHAKRA), folder)
    return folder


def imported(folder: Path) -> Trace:
    convert(folder, folder.parent / "a.st")
    return scalatrace.load(folder.parent / "a.st")


def actions_of(trace: Trace, rank: int) -> list[tuple[Any, ...]]:
    """Messages and collectives, in order; a size of 0 is that of the export."""
    result: list[tuple[Any, ...]] = []
    for action in TraceLowering(trace, CHAKRA).actions(rank):
        match action:
            case SendMessage() | RecvMessage():
                result.append((type(action).__name__, action.peer, action.tag, max(action.nbytes, 1)))
            case CollectiveAction():
                smallest = MIN_GATHER_BYTES if action.shape.operation == "allgather" else 1
                result.append((action.shape.operation, max(action.shape.nbytes, smallest), action.members))
    return result


def computed_ns(trace: Trace) -> float:
    lowering = TraceLowering(trace, CHAKRA)
    actions = (action for rank in range(trace.nprocs) for action in lowering.actions(rank))
    return sum(action.ns for action in actions if isinstance(action, Computation))


@pytest.mark.parametrize("trace", [stencil(), every_kind(4), every_kind(6)])
def test_exported_and_imported(trace: Trace, tmp_path: Path) -> None:
    again = imported(exported(trace, tmp_path / "et"))
    for rank in range(trace.nprocs):
        assert actions_of(again, rank) == actions_of(trace, rank)
    assert computed_ns(again) == pytest.approx(computed_ns(trace), rel=0.05, abs=1000 * trace.nprocs)


def write_nodes(folder: Path, ranks: list[list[dict[str, Any]]]) -> Path:
    """Write nodes: `id`, `type`, `data_deps`, `duration_micros`, and attributes."""
    folder.mkdir(exist_ok=True)
    for rank, nodes in enumerate(ranks):
        data = b"\x07\x0a\x050.0.4"
        for given_fields in nodes:
            fields = dict(given_fields)
            attributes = fields.pop("attr", {})
            node = types().node(**fields)
            for name, value in attributes.items():
                kind = "string_val" if isinstance(value, str) else "int64_val"
                node.attr.add(name=name, **{kind: value})
            message = node.SerializeToString()
            assert len(message) < 128
            data += bytes((len(message),)) + message
        (folder / f"app.{rank}.et").write_bytes(data)
    return folder


def test_groups_computation_and_independent_nodes(tmp_path: Path) -> None:
    """A collective that nothing waits for overlaps the computation after it; ids are in any order."""
    bcast = {"comm_type": 5, "comm_size": 64, "pg_name": "7"}
    nodes = [
        {"id": 9, "type": 4, "duration_micros": 30},
        {"id": 3, "type": 7, "attr": bcast},
        {"id": 5, "type": 4, "duration_micros": 50, "data_deps": [9, 3]},
        {"id": 4, "type": 7, "data_deps": [5], "attr": {"comm_type": 0, "comm_size": 8}},
    ]
    outside = [{"id": 1, "type": 7, "attr": {"comm_type": 0, "comm_size": 8}}]
    folder = write_nodes(tmp_path / "et", [nodes, nodes, outside])
    (folder / "groups.json").write_text(json.dumps({"7": [1, 0]}))
    trace = imported(folder)
    assert [call.op for call in trace.walk(0)] == ["Ibcast", "Wait", "Allreduce"]
    assert [call.op for call in trace.walk(2)] == ["Allreduce"]
    calls = {call.op: call for call in trace.walk(0)}
    assert tuple(calls["Ibcast"].comm.members) == (1, 0)
    times = [calls[op].stat("compute_ns") for op in ("Ibcast", "Wait", "Allreduce")]
    assert [t.mean for t in times if t is not None] == pytest.approx([0, 30_000, 50_000], rel=0.01)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([{"id": 1, "type": 5, "attr": {"comm_dst": 1}}], r"app.0.et: a node lacks the attribute comm_size"),
        ([{"id": 1, "type": 5, "attr": {"comm_dst": 8, "comm_size": 1}}], r"rank 8 is not one of 2 ranks"),
        (
            [{"id": 1, "type": 5, "attr": {"comm_dst": 1, "comm_size": -1}}],
            r"attribute comm_size is -1, less than 0",
        ),
        (
            [{"id": 1, "type": 5, "attr": {"comm_dst": 1, "comm_size": 1, "comm_tag": -1}}],
            r"attribute comm_tag is -1, less than 0",
        ),
        (
            [{"id": 1, "type": 7, "attr": {"comm_type": 0, "comm_size": -8}}],
            r"attribute comm_size is -8, less than 0",
        ),
        (
            [{"id": 1, "type": 7, "attr": {"comm_type": 0, "pg_name": "1"}}],
            r"group '1' is named, and there is no groups.json",
        ),
        ([{"id": 1, "type": 4}, {"id": 1, "type": 4}], r"two nodes have the id 1"),
        ([{"id": 1, "type": 9}], r"nodes have the types 0 to 7, not 9"),
        (
            [{"id": 1, "type": 7, "attr": {"comm_type": 0}}],
            r"rank 0: 'Allreduce of 0 bytes' is not called by",
        ),
        ([{"id": 1, "type": 7, "attr": {"comm_type": 12}}], r"collectives have the types 0 to 9, not 12"),
        ([{"id": 1, "type": 4, "data_deps": [1]}], r"rank 0: 'calc 0' never begins"),
    ],
)
def test_errors_name_the_byte(nodes: list[dict[str, Any]], message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=message):
        imported(write_nodes(tmp_path / "et", [nodes, []]))


def test_groups_without_the_named_one(tmp_path: Path) -> None:
    folder = write_nodes(tmp_path / "et", [[{"id": 1, "type": 7, "attr": {"comm_type": 0, "pg_name": "1"}}]])
    (folder / "groups.json").write_text("{}")
    with pytest.raises(FormatError, match=r"group '1' is named, and groups.json does not have it \(byte 8"):
        imported(folder)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ((0, 0), (9, 0), r"app.1.et: rank 1 calls Barrier, and rank 0 of its group Allreduce"),
        (
            (5, 0),
            (5, 1),
            r"app.1.et: rank 1 calls Bcast with root 1, and rank 0 of its group Bcast with root 0",
        ),
    ],
)
def test_collectives_that_differ(
    first: tuple[int, int], second: tuple[int, int], message: str, tmp_path: Path
) -> None:
    ranks = [
        [{"id": 1, "type": 7, "attr": {"comm_type": kind, "comm_size": 8, "comm_root": root}}]
        for kind, root in (first, second)
    ]
    with pytest.raises(FormatError, match=rf"{message} \(byte 8 "):
        imported(write_nodes(tmp_path / "et", ranks))


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ('{"1": [0, 5]}', r"group '1' is no list of different ranks"),
        ("[]", r"no groups"),
        ("{", r"no groups"),
    ],
)
def test_groups_that_are_none(groups: str, message: str, tmp_path: Path) -> None:
    folder = write_nodes(tmp_path / "et", [[], []])
    (folder / "groups.json").write_text(groups)
    with pytest.raises(FormatError, match=message):
        imported(folder)


def test_nodes_of_the_host_and_missing_nodes(tmp_path: Path) -> None:
    """As in traces of PyTorch: the host starts a collective, and converters drop nodes."""
    start = {"id": 2, "type": 7, "duration_micros": 20, "data_deps": [1], "attr": {"is_cpu_op": 1}}
    reduction = {"comm_type": 0, "comm_size": 8, "is_cpu_op": 0}
    nodes = [start, {"id": 3, "type": 7, "data_deps": [2], "attr": reduction}, {"id": 4, "type": 2}]
    folder = write_nodes(tmp_path / "et", [nodes, nodes])
    assert convert(folder, tmp_path / "a.st")[1] == {MISSING: 2, MEMORY: 2}
    trace = scalatrace.load(tmp_path / "a.st")
    assert [call.op for call in trace.walk(1)] == ["Allreduce"]
    times = next(trace.walk(1)).stat("compute_ns")
    assert times is not None
    assert times.mean == 20_000


def test_missing_files(tmp_path: Path) -> None:
    folder = write_nodes(tmp_path / "et", [[], [], []])
    (folder / "app.1.et").unlink()
    with pytest.raises(FormatError, match=r"there is no file app\.1\.et"):
        imported(folder)
    (folder / "run.meta").write_text("numprocs=1\n")
    with pytest.raises(FormatError, match="the folder has both"):
        imported(folder)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damaged_files(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("chakra") / "et"
    reduction = {"id": 2, "type": 7, "data_deps": [1], "attr": {"comm_type": 0, "comm_size": 8}}
    write_nodes(folder, [[{"id": 1, "type": 4, "duration_micros": 3}, reduction]])
    raw = bytearray((folder / "app.0.et").read_bytes())
    for _ in range(data.draw(st.integers(0, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    (folder / "app.0.et").write_bytes(bytes(raw[: data.draw(st.integers(0, len(raw)))]))
    try:
        imported(folder)
    except ScalatraceError as error:
        assert str(folder) in str(error)  # noqa: PT017
