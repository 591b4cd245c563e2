"""Routes over the links of topologies, against what the links are; and mistakes in platform files."""

from __future__ import annotations

import re
from collections import deque
from itertools import product
from math import prod
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalatrace.errors import UsageError
from scalatrace.predict.platform import (
    NetworkTopology,
    Platform,
    TopologyLink,
    TopologyShape,
    platform_text,
    read_platform,
)
from scalatrace.predict.platform.engine_arrays import engine_topology

SIZES = st.integers(1, 4)


def fat_trees() -> st.SearchStrategy[NetworkTopology]:
    def tree(levels: list[tuple[int, int, int]]) -> NetworkTopology:
        columns = (",".join(map(str, column)) for column in zip(*levels, strict=True))
        return NetworkTopology("fat-tree", topo_parameters=";".join([str(len(levels)), *columns]))

    level = st.tuples(SIZES, st.integers(1, 3), st.integers(1, 2))
    return st.lists(level, min_size=1, max_size=3).map(tree)


def dragonflies() -> st.SearchStrategy[NetworkTopology]:
    def dragonfly(
        groups: int, chassis: int, more: int, nodes: int, links: tuple[int, int, int]
    ) -> NetworkTopology:
        blue, black, green = links
        text = f"{groups},{blue};{chassis},{black};{groups + more},{green};{nodes}"
        return NetworkTopology("dragonfly", topo_parameters=text)

    return st.builds(dragonfly, SIZES, SIZES, st.integers(0, 2), SIZES, st.tuples(SIZES, SIZES, SIZES))


@st.composite
def graphs(draw: st.DrawFn) -> NetworkTopology:
    nodes = [f"n{i}" for i in range(draw(SIZES))]
    names = nodes + [f"s{i}" for i in range(draw(SIZES))]
    ends = [(name, names[draw(st.integers(0, i))]) for i, name in enumerate(names[1:])]
    pairs = st.tuples(st.sampled_from(names), st.sampled_from(names)).filter(lambda ab: ab[0] != ab[1])
    ends += draw(st.lists(pairs, max_size=4)) if len(names) > 1 else []
    links = tuple(TopologyLink(a, b, per_byte_ns=float(i + 1)) for i, (a, b) in enumerate(ends))
    return NetworkTopology("graph", nodes=tuple(nodes), links=links)


def grids(kind: str) -> st.SearchStrategy[NetworkTopology]:
    dims = st.lists(st.integers(1, 6), min_size=1, max_size=3)
    return dims.map(lambda sizes: NetworkTopology(kind, dims=tuple(sizes)))


TOPOLOGIES = st.one_of(
    grids("torus"), grids("mesh"), fat_trees(), dragonflies(), graphs(), st.just(NetworkTopology("cluster"))
)


def routes_of(shape: TopologyShape) -> dict[tuple[int, int], list[int]]:
    pairs = list(product(range(shape.nnodes), repeat=2))
    offsets, links = engine_topology(shape).routes(*(np.array(ends) for ends in zip(*pairs, strict=True)))
    return {
        pair: links[start:end].tolist()
        for pair, start, end in zip(pairs, offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
    }


def ends_of(shape: TopologyShape, link: int) -> tuple[str, str]:
    start, end = re.sub(r" \(\d+\)$", "", shape.link_name(link)).split(" -> ")
    return start, end


@settings(max_examples=60, deadline=None)
@given(TOPOLOGIES)
def test_routes_connect_their_nodes(topology: NetworkTopology) -> None:
    shape = topology.shape(5 if topology.kind == "cluster" else 1, 1.0)
    routes = routes_of(shape)
    names = shape.names or [f"node {i}" for i in range(shape.nnodes)]
    used = {link for route in routes.values() for link in route}
    assert used <= set(range(engine_topology(shape).count_links()))
    assert all(0 <= shape.class_of(link) < len(shape.per_byte_ns) for link in used)
    ends = {link: ends_of(shape, link) for link in used}
    for (a, b), route in routes.items():
        assert len(set(route)) == len(route) == len(routes[b, a])
        at = names[a]
        for link in route:
            start, end = ends[link]
            if start.startswith("group"):  # its two routers
                groups = start.split()[1], end.split()[1]
                start, end = (f"router {one}.0.{other}" for one, other in (groups, groups[::-1]))
            assert at == start or (start, at.split()[0]) == ("switch", "router") or at == "switch"
            at = end
        assert at == names[b]


@settings(max_examples=30, deadline=None)
@given(st.one_of(grids("torus"), grids("mesh"), graphs()))
def test_routes_are_shortest(topology: NetworkTopology) -> None:
    shape = topology.shape(1, 1.0)
    neighbours: dict[str, set[str]] = {}
    for link in range(engine_topology(shape).count_links()):
        start, end = ends_of(shape, link)
        wraps = shape.kind == "mesh" and not _next(shape.numbers, *(int(n.split()[1]) for n in (start, end)))
        if not wraps:
            neighbours.setdefault(start, set()).add(end)
    names = shape.names or [f"node {i}" for i in range(shape.nnodes)]
    for (a, b), route in routes_of(shape).items():
        assert len(route) == _distance(neighbours, names[a], names[b])


def _next(dims: tuple[int, ...], a: int, b: int) -> bool:
    steps = 0
    for dim in dims:
        steps += abs(a % dim - b % dim)
        a, b = a // dim, b // dim
    return steps == 1


def _distance(neighbours: dict[str, set[str]], a: str, b: str) -> int:
    far, left = {a: 0}, deque([a])
    while b not in far:
        at = left.popleft()
        for name in neighbours.get(at, ()):
            if name not in far:
                far[name] = far[at] + 1
                left.append(name)
    return far[b]


@settings(max_examples=50, deadline=None)
@given(TOPOLOGIES)
def test_rows_have_each_link_once(topology: NetworkTopology) -> None:
    shape = topology.shape(5 if topology.kind == "cluster" else 1, 1.0)
    rows = shape.rows()
    listed = np.concatenate([links for _, links in rows])
    assert sorted(listed.tolist()) == list(range(shape.class_starts[-1]))
    assert len({name for name, _ in rows}) == len(rows)


def test_a_fat_tree_takes_the_port_of_its_destination() -> None:
    shape = NetworkTopology("fat-tree", topo_parameters="2;4,4;1,2;1,2").shape(16, 1.0)
    routes = routes_of(shape)
    assert [shape.link_name(link) for link in routes[1, 14]] == [
        "node 1 -> switch 1.0", "switch 1.0 -> switch 2.0 (1)", "switch 2.0 -> switch 1.3 (1)",
        "switch 1.3 -> node 14",
    ]  # fmt: skip
    assert len(routes[0, 3]) == 2


def test_the_short_form_of_a_fat_tree() -> None:
    topology = NetworkTopology("fat-tree", radix=6, oversubscription=2.5)
    shape = topology.shape(13, 1.0)
    assert (shape.nnodes, shape.numbers) == (18, (6, 3, 1, 2, 1, 1))
    above = shape.per_byte_ns[1] / 2  # both links upwards together
    assert above == pytest.approx(2.5 * shape.per_byte_ns[0] / 6)
    assert topology.shape(6, 1.0).numbers == (6, 1, 1)


def test_a_torus_without_dimensions_holds_the_nodes() -> None:
    for nnodes in (1, 2, 7, 27, 64, 1000):
        dims = NetworkTopology("torus").shape(nnodes, 1.0).numbers
        assert prod(dims) >= nnodes
        assert nnodes not in (27, 64, 1000) or len(set(dims)) == 1


GRAPH = "kind = 'graph'\nnodes = ['a', 'b']\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind = 'x'", "topology: kind is 'x'; known: full, cluster, torus"),
        ("kind = 'fat-tree'", "topology: radix is 0; a fat-tree needs radix"),
        ("kind = 'fat-tree'\nradix = 4\noversubscription = 0.0", "topology: oversubscription is 0.0"),
        ("kind = 'fat-tree'\nradix = 4\ntopo_parameters = '1;2;1;1'", "topology: topo_parameters and radix"),
        ("kind = 'fat-tree'\ntopo_parameters = '2;2;1;1'", "topology: topo_parameters is '2;2;1;1'; exp"),
        ("kind = 'fat-tree'\ntopo_parameters = 'x'", "topology: topo_parameters is 'x'; expected numbers"),
        ("kind = 'dragonfly'", "topology: topo_parameters is ''"),
        ("kind = 'dragonfly'\ntopo_parameters = '3,1;2,1;2,1;1'", "topology: topo_parameters: 3 groups need"),
        ("kind = 'torus'\ndims = [0]", "topology: dims is [0]; each must be 1 or more"),
        ("kind = 'torus'\nradix = 4", "topology: radix is a key of fat-tree, not of torus"),
        ("kind = 'cluster'\nhop_ns = 5", "topology: hop_ns is a key of torus, mesh, fat-tree"),
        ("kind = 'graph'\nnodes = ['a']", "topology: a graph needs links"),
        (
            "kind = 'fat-tree'\ntopo_parameters = '1;4096;67108864;67108864'",
            "topology: the topology (fat-tree) has 36893488147419103232 links; at most 67108864",
        ),
        ("kind = 'torus'\ndims = [400, 400, 400]", "topology: the topology (torus) has 384000000 links"),
        ("kind = 'cluster'\nhop_ns = -1.0", "topology: per_byte_ns and hop_ns must be 0 or more"),
        (GRAPH, "topology: node b: no link names it"),
        (GRAPH + "links = [{a = 'a', b = 's'}, {a = 'b', b = 't'}]", "topology: node b: no way leads there"),
        (GRAPH + "links = [{a = 'a', b = 'a'}]", "topology.links[0]: a is linked to itself"),
        (GRAPH + "links = [{a = 'a'}]", "topology.links[0].b is missing"),
        (GRAPH + "links = [{a = 'a', b = 'b', per_byte_ns = 1.0, bytes_per_s = 1}]", "topology.links[0]: p"),
        ("kind = 'graph'", "topology: nodes must name each node"),
        ("kind = 'graph'\nnodes = [1]", "topology.nodes is [1]; expected array of texts"),
        ("kind = 'torus'\ndims = [100000, 100000]", "topology: the topology (torus) has 10000000000 nodes"),
    ],
)  # fmt: skip
def test_mistakes_name_the_key(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(f"format = 1\n[topology]\n{text}\n")
    with pytest.raises(UsageError) as caught:
        read_platform(path)
    assert str(caught.value).startswith(f"{path}: {message}")


def test_graphs_are_written_and_read(tmp_path: Path) -> None:
    links = (TopologyLink("a", "s", bytes_per_s=1e9), TopologyLink("b", "s", per_byte_ns=0.5, hop_ns=10.0))
    platform = Platform(topology=NetworkTopology("graph", nodes=("a", "b"), links=links), placement="cyclic")
    path = tmp_path / "a.toml"
    path.write_text(platform_text(platform))
    assert read_platform(path) == platform


def test_a_topology_that_is_too_small() -> None:
    with pytest.raises(UsageError, match="has 4 nodes, the run needs 5"):
        Platform(topology=NetworkTopology("torus", (2, 2))).links(5)


def test_placements(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text("b\nb\na\nc\n")
    nodes = {
        placement: Platform(ranks_per_node=2, placement=placement)
        .placed(4, {"ranks-per-host": "3"})
        .nodes_of(4)
        .tolist()
        for placement in ("block", "cyclic", "random:1", "trace", f"file:{hosts}")
    }
    assert (
        nodes.pop("random:1")
        == Platform(ranks_per_node=2, placement="random:1").placed(4).nodes_of(4).tolist()
    )
    assert list(nodes.values()) == [[0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 1], [0, 0, 1, 2]]


@pytest.mark.parametrize(
    ("placement", "message"),
    [
        ("blocks", "placement is 'blocks'; known: block"),
        ("random:x", "placement is 'random:x'"),
        ("trace", "does not say how many ranks a host had"),
        ("file:{}", "has 1 hosts, the run has 2 ranks; write the host of each rank"),
    ],
)
def test_wrong_placements(placement: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("a\n")
    with pytest.raises(UsageError, match=re.escape(message)):
        Platform(placement=placement.format(tmp_path / "hosts")).placed(2)


def test_hosts_are_beside_the_platform_file(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("a\na\nb\n")
    (tmp_path / "p.toml").write_text("format = 1\nplacement = 'file:hosts'\n")
    assert read_platform(tmp_path / "p.toml").placed(3).nodes_of(3).tolist() == [0, 0, 1]


@settings(max_examples=100)
@given(st.one_of(fat_trees(), dragonflies(), graphs()))
def test_links_have_the_numbers_of_the_executor(topology: NetworkTopology) -> None:
    shape = topology.shape(1, 1.0)
    assert shape.class_starts[-1] == engine_topology(shape).count_links()
    assert len(shape.class_starts) == len(shape.per_byte_ns) + 1


def test_lines_of_hosts_count_comments(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("# two hosts\n\na\nx\n")
    graph = NetworkTopology("graph", nodes=("a", "b"), links=(TopologyLink("a", "b"),))
    with pytest.raises(UsageError, match="line 4: the topology has no node x"):
        Platform(topology=graph, placement=f"file:{tmp_path / 'hosts'}").placed(2)


def test_a_file_may_put_several_ranks_on_a_node_with_one_interface(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("a\na\nb\nb\n")
    assert not Platform(interface="node").shares_links
    assert Platform(interface="node", placement=f"file:{tmp_path / 'hosts'}").shares_links


def test_hosts_that_a_graph_does_not_have(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("a\nx\n")
    graph = NetworkTopology("graph", nodes=("a", "b"), links=(TopologyLink("a", "b"),))
    with pytest.raises(UsageError, match="line 2: the topology has no node x"):
        Platform(topology=graph, placement=f"file:{tmp_path / 'hosts'}").placed(2)
