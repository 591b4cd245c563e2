"""Chakra traces decoded by the published schema."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from scalatrace.predict.export.chakra import CHAKRA, GROUPS, write_chakra
from scalatrace.predict.lowering import CollectiveAction, RecvMessage, SendMessage, TraceLowering, WaitAction
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.values.vec import Vec
from support.builder import DOUBLE, Builder, Comm, To
from support.lowered import every_kind, on

pytest.importorskip("google.protobuf")
pytest.importorskip("grpc_tools")

SCHEMA = Path(__file__).with_name("data") / "et_def.proto"


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The module that protoc makes of the schema."""
    folder = tmp_path_factory.mktemp("schema")
    paths = [f"-I{SCHEMA.parent}", f"--python_out={folder}", SCHEMA.name]
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", *paths], check=True, timeout=60)
    spec = importlib.util.spec_from_file_location("et_def_pb2", folder / "et_def_pb2.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def decoded(schema: Any, path: Path) -> list[Any]:
    """The nodes of a file."""
    data, at, result = path.read_bytes(), 0, []
    while at < len(data):
        size = shift = 0
        while True:
            byte = data[at]
            at += 1
            size |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                break
        message = schema.Node() if result else schema.GlobalMetadata()
        message.ParseFromString(data[at : at + size])
        result.append(message)
        at += size
    assert result[0].version == "1.0.0"
    return result[1:]


def attributes(node: Any) -> dict[str, Any]:
    return {each.name: getattr(each, each.WhichOneof("value")) for each in node.attr}


def test_decoded(schema: Any, tmp_path: Path) -> None:
    trace = every_kind(6)
    write_chakra(TraceLowering(trace, CHAKRA), tmp_path)
    groups = json.loads((tmp_path / GROUPS).read_text())
    assert sorted(groups.values()) == [[0, 1, 2, 3, 4, 5], [0, 2, 4], [1, 3, 5]]
    for number in range(6):
        nodes = decoded(schema, tmp_path / f"trace.{number}.et")
        actions = [a for a in TraceLowering(trace, CHAKRA).actions(number) if not isinstance(a, WaitAction)]
        assert [node.id for node in nodes] == list(range(1, len(actions) + 1))
        for node, action in zip(nodes, actions, strict=True):
            assert all(dep < node.id for dep in node.data_deps)
            given = attributes(node)
            assert given["is_cpu_op"] is False
            if isinstance(action, CollectiveAction):
                assert node.type == schema.COMM_COLL_NODE
                names = {"allreduce": "ALL_REDUCE", "allgather": "ALL_GATHER", "alltoall": "ALL_TO_ALL"}
                name = names.get(action.shape.operation, "REDUCE_SCATTER")
                assert given["comm_type"] == schema.CollectiveCommType.Value(name)
                assert groups[given["pg_name"]] == list(action.members or range(6))
            else:
                assert isinstance(action, SendMessage | RecvMessage)
                sends = isinstance(action, SendMessage)
                assert node.type == (schema.COMM_SEND_NODE if sends else schema.COMM_RECV_NODE)
                ends = (number, action.peer) if sends else (action.peer, number)
                assert (given["comm_src"], given["comm_dst"]) == ends
                assert (given["comm_tag"], given["comm_size"]) == (action.tag, max(action.nbytes, 1))


def test_sizes_that_a_simulator_takes(schema: Any, tmp_path: Path) -> None:
    """No size is 0, and a receive has the size of its message: ASTRA-sim stops, or waits for ever."""
    b = Builder(2)
    sizes = {"datatype": DOUBLE, "tag": 3, "comm": Comm()}
    trace = b.of(
        b.event("Send", count=2, dest=To(Encoding.RELATIVE, Vec(1)), repeat=on({0: 1}), **sizes),
        b.event("Recv", count=9, source=To(Encoding.RELATIVE, Vec(-1)), repeat=on({1: 1}), **sizes),
        b.event("Barrier", comm=Comm()),
        b.event("Allgather", sendcount=0, sendtype=DOUBLE, recvcount=0, recvtype=DOUBLE, comm=Comm()),
        b.event("Allreduce", count=0, datatype=DOUBLE, op="MPI_SUM", comm=Comm()),
    )
    write_chakra(TraceLowering(trace, CHAKRA), tmp_path)
    by_rank = [decoded(schema, tmp_path / f"trace.{number}.et") for number in range(2)]
    given = [[attributes(node) for node in nodes] for nodes in by_rank]
    assert all(each["comm_size"] > 0 for each in given[0] + given[1])
    channels = [
        Counter(
            tuple(attributes(node)[name] for name in ("comm_src", "comm_dst", "comm_tag", "comm_size"))
            for nodes in by_rank
            for node in nodes
            if node.type == kind
        )
        for kind in (schema.COMM_SEND_NODE, schema.COMM_RECV_NODE)
    ]
    assert channels[0] == channels[1]
    assert (0, 1, 3, 16) in channels[0]
    assert len(channels[0]) == 3, "the barrier's messages are lost"


def test_collectives_have_groups_where_one_has(schema: Any, tmp_path: Path) -> None:
    """ASTRA-sim pairs those without a group by the number of all collectives of a rank, and else hangs."""
    b = Builder(4)
    values = {"count": 8, "datatype": DOUBLE, "op": "MPI_SUM"}
    some = b.family("split", (3,), (0, 1, 2))
    on_all = b.event("Allreduce", comm=Comm(), **values)
    on_some = b.event("Allreduce", comm=some, repeat=on({0: 1, 1: 1, 2: 1}), **values)
    for events, expected in (([on_all], set()), ([on_some, on_all], {(0, 1, 2), (0, 1, 2, 3)})):
        folder = tmp_path / str(len(events))
        folder.mkdir()
        write_chakra(TraceLowering(b.of(*events), CHAKRA), folder)
        groups = json.loads((folder / GROUPS).read_text())
        assert set(map(tuple, groups.values())) == expected
        for number in range(4):
            last = attributes(decoded(schema, folder / f"trace.{number}.et")[-1])
            assert groups.get(last.get("pg_name")) == ([0, 1, 2, 3] if expected else None)


def test_messages_to_itself_have_no_node(schema: Any, tmp_path: Path) -> None:
    """ASTRA-sim stops at them; what waits for one waits for all others that it names."""
    b = Builder(2)
    message = {"count": 2, "datatype": DOUBLE, "tag": 3, "comm": Comm()}
    itself, other = (To(Encoding.MODULO, Vec(step)) for step in (0, 1))
    trace = b.of(
        b.event("Sendrecv", sendcount=1, sendtype=DOUBLE, dest=itself, sendtag=1,
                recvcount=1, recvtype=DOUBLE, source=itself, recvtag=1, comm=Comm()),
        b.event("Irecv", source=itself, **message),
        b.event("Irecv", source=other, **message),
        b.event("Isend", dest=itself, **message),
        b.event("Isend", dest=other, **message),
        b.event("Waitall", requests=(0, 1, 2, 3)),
        b.event("Allreduce", count=8, datatype=DOUBLE, op="MPI_SUM", comm=Comm()),
    )  # fmt: skip
    write_chakra(TraceLowering(trace, CHAKRA), tmp_path)
    for number in range(2):
        received, sent, reduced = decoded(schema, tmp_path / f"trace.{number}.et")
        assert (received.type, sent.type) == (schema.COMM_RECV_NODE, schema.COMM_SEND_NODE)
        assert attributes(received)["comm_src"] == attributes(sent)["comm_dst"] == 1 - number
        assert sorted(reduced.data_deps) == [received.id, sent.id]


def test_a_rank_without_actions_has_a_node(schema: Any, tmp_path: Path) -> None:
    """ASTRA-sim takes a file without nodes for a deadlock."""
    b = Builder(2)
    write_chakra(TraceLowering(b.of(b.event("Comm_rank", comm=Comm())), CHAKRA), tmp_path)
    for number in range(2):
        (node,) = decoded(schema, tmp_path / f"trace.{number}.et")
        assert (node.type, node.duration_micros, list(node.data_deps)) == (schema.COMP_NODE, 0, [])
