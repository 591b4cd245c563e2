"""Positions of nodes, switches and routers in the drawing of a machine."""

from __future__ import annotations

import math

import pytest

from scalatrace.predict.engine.link_drawing import vertex_positions
from scalatrace.predict.platform import NetworkTopology, TopologyLink

TOPOLOGIES = [
    NetworkTopology("cluster"),
    NetworkTopology("torus", dims=(4, 3)),
    NetworkTopology("torus", dims=(5,)),
    NetworkTopology("mesh", dims=(3, 2, 2)),
    NetworkTopology("mesh", dims=(2, 3, 2, 3)),
    NetworkTopology("torus", dims=(2, 2, 2, 2, 2)),
    NetworkTopology("fat-tree", radix=4, oversubscription=2.0),
    NetworkTopology("fat-tree", topo_parameters="3;2,2,3;1,2,2;1,2,1"),
    NetworkTopology("dragonfly", topo_parameters="3,1;2,1;3,1;2"),
    NetworkTopology("dragonfly", topo_parameters="1,1;1,1;4,1;2"),
    NetworkTopology(
        "graph", nodes=("a", "b", "c"), links=tuple(TopologyLink(name, "hub") for name in ("a", "b", "c"))
    ),
]


@pytest.mark.parametrize("topology", TOPOLOGIES, ids=lambda topology: topology.kind)
def test_all_ends_of_links_have_a_position_of_their_own(topology: NetworkTopology) -> None:
    shape = topology.shape(1 if topology.kind != "cluster" else 7, 1.0)
    positions = vertex_positions(shape)
    for link in range(shape.class_starts[-1]):
        assert set(shape.ends(link)) <= set(positions)
    places = list(positions.values())
    nearest = min(math.dist(a, b) for i, a in enumerate(places) for b in places[:i])
    assert nearest > 0.2


def test_neighbours_in_a_plane_are_one_apart() -> None:
    shape = NetworkTopology("mesh", dims=(3, 4)).shape(12, 1.0)
    positions = vertex_positions(shape)
    lengths = {
        (math.dist(*(positions[end] for end in shape.ends(link))), shape.leads_around(link))
        for link in range(shape.class_starts[-1])
    }
    assert lengths == {(1.0, False), (2.0, True), (3.0, True)}


def test_levels_of_a_tree_are_above_each_other() -> None:
    shape = NetworkTopology("fat-tree", topo_parameters="2;4,2;1,2;1,1").shape(8, 1.0)
    positions = vertex_positions(shape)
    heights = [positions[name][1] for name in ("node 0", "switch 1.0", "switch 2.0")]
    assert heights == sorted(heights, reverse=True)
