"""Links between the nodes of a machine: which nodes they connect, and how fast they are.

The executor has the routes (`native/topology.hpp`): those of SimGrid for fat trees, tori and dragonflies, so
that results can be compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from scalatrace.errors import UsageError
from scalatrace.predict.platform.topology_shape import TopologyShape

__all__ = ["FULL", "TOPOLOGIES", "NetworkTopology", "TopologyLink"]

TOPOLOGIES = ("full", "cluster", "torus", "mesh", "fat-tree", "dragonfly", "graph")

OWN_KEYS = {
    "dims": ("torus", "mesh"),
    "radix": ("fat-tree",),
    "oversubscription": ("fat-tree",),
    "topo_parameters": ("fat-tree", "dragonfly"),
    "nodes": ("graph",),
    "links": ("graph",),
    "hop_ns": ("torus", "mesh", "fat-tree", "dragonfly", "graph"),
}
"""Keys of some kinds only."""

_SIZE_KEYS = {
    "torus": "dims", "mesh": "dims", "fat-tree": "topo_parameters", "dragonfly": "topo_parameters",
    "graph": "nodes",
}  # fmt: skip
"""Key that decides the number of nodes."""

DIMENSIONS = 3
"""Of a torus or mesh whose platform does not state them."""
MAX_LEVELS = 16
MAX_NODES = 1 << 26
MAX_LINKS = 1 << 26
MAX_VERTICES = 1 << 14
"""Of a graph: the executor keeps a link for each pair."""


@dataclass(frozen=True)
class TopologyLink:
    """A link of a graph between two nodes or switches, with the same speed in both directions.

    Attributes:
        a, b: their names.
        per_byte_ns: gap per byte; 0: the topology's.
        bytes_per_s: the same as a bandwidth.
        hop_ns: latency that it adds.
    """

    a: str
    b: str
    per_byte_ns: float = 0.0
    bytes_per_s: float = 0.0
    hop_ns: float = 0.0

    def __post_init__(self) -> None:
        if not all(0 <= value < math.inf for value in (self.per_byte_ns, self.bytes_per_s, self.hop_ns)):
            raise UsageError("per_byte_ns, bytes_per_s and hop_ns must be 0 or more")
        if self.per_byte_ns and self.bytes_per_s:
            raise UsageError("per_byte_ns and bytes_per_s say the same: give one of them")
        if self.a == self.b:
            raise UsageError(f"{self.a} is linked to itself")


@dataclass(frozen=True)
class NetworkTopology:
    """Links that messages of several nodes share.

    Attributes:
        kind: "full" (no shared link), "cluster" (one link of each node to a switch), "torus", "mesh",
            "fat-tree", "dragonfly" or "graph".
        dims: nodes in each dimension of a torus or mesh; (): as many as needed, in three dimensions.
        radix: ports to nodes of a leaf switch, in a fat tree of two levels.
        oversubscription: bandwidth of a leaf switch's nodes over that of its links upwards.
        topo_parameters: as in SimGrid. Fat tree: "levels;children;parents;links" of each level, from the
            nodes on; dragonfly: "groups,links;chassis,links;routers,links;nodes".
        nodes: names of the nodes of a graph; other names in `links` are switches.
        links: of a graph.
        per_byte_ns: gap per byte of one link; 0: the network's.
        hop_ns: latency of each further link than the fewest between two nodes.
    """

    kind: str = "full"
    dims: tuple[int, ...] = ()
    radix: int = 0
    oversubscription: float = 1.0
    topo_parameters: str = ""
    nodes: tuple[str, ...] = ()
    links: tuple[TopologyLink, ...] = ()
    per_byte_ns: float = 0.0
    hop_ns: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in TOPOLOGIES:
            raise UsageError(f"kind is {self.kind!r}; known: {', '.join(TOPOLOGIES)}")
        if not all(0 <= value < math.inf for value in (self.per_byte_ns, self.hop_ns)):
            raise UsageError("per_byte_ns and hop_ns must be 0 or more")
        for key, kinds in OWN_KEYS.items():
            if self.kind not in kinds and getattr(self, key) != type(self).__dataclass_fields__[key].default:
                raise UsageError(f"{key} is a key of {', '.join(kinds)}, not of {self.kind}")
        if self.kind in ("torus", "mesh") and any(dim < 1 for dim in self.dims):
            raise UsageError(f"dims is {list(self.dims)}; each must be 1 or more")
        if self.kind == "fat-tree":
            self._check_tree()
        elif self.kind == "dragonfly":
            self._dragonfly()
        elif self.kind == "graph":
            self._check_graph()
        if self.kind != "full":
            self.shape(1, 1.0)  # raises UsageError

    def _check_tree(self) -> None:
        if self.topo_parameters:
            if self.radix or self.oversubscription != 1:
                raise UsageError(
                    "topo_parameters and radix with oversubscription both describe the tree: give one"
                )
            self._levels()
        elif self.radix < 1:
            raise UsageError(f"radix is {self.radix}; a fat-tree needs radix (1 or more) or topo_parameters")
        elif not 0 < self.oversubscription < math.inf:
            raise UsageError(f"oversubscription is {self.oversubscription}; it must be above 0")

    def _check_graph(self) -> None:
        if not self.nodes or len(set(self.nodes)) != len(self.nodes):
            raise UsageError("nodes must name each node of the graph once")
        if len(self._vertices()) > MAX_VERTICES:
            raise UsageError(f"a graph has at most {MAX_VERTICES} nodes and switches")
        linked: dict[str, list[str]] = {}
        for link in self.links:
            linked.setdefault(link.a, []).append(link.b)
            linked.setdefault(link.b, []).append(link.a)
        reached, pending = {self.nodes[0]}, [self.nodes[0]]
        while pending:
            for name in linked.get(pending.pop(), ()):
                if name not in reached:
                    reached.add(name)
                    pending.append(name)
        for name in self.nodes:
            if name not in reached:
                why = f"no way leads there from {self.nodes[0]}" if name in linked else "no link names it"
                raise UsageError(f"node {name}: {why}")
        if not self.links:
            raise UsageError("a graph needs links")

    def _vertices(self) -> list[str]:
        ends = [name for link in self.links for name in (link.a, link.b)]
        return list(dict.fromkeys([*self.nodes, *ends]))

    def scaled(self, latency: float, per_byte: float) -> NetworkTopology:
        """Return the topology with factors on latencies and on times per byte."""
        return replace(
            self,
            per_byte_ns=self.per_byte_ns * per_byte,
            hop_ns=self.hop_ns * latency,
            links=tuple(
                replace(
                    link,
                    per_byte_ns=link.per_byte_ns * per_byte,
                    bytes_per_s=link.bytes_per_s / per_byte,
                    hop_ns=link.hop_ns * latency,
                )
                for link in self.links
            ),
        )

    def shape(self, nnodes: int, per_byte_ns: float) -> TopologyShape:
        """Return the topology for a number of nodes.

        Args:
            nnodes: that a run needs.
            per_byte_ns: of links that do not state it: the network's.

        Raises:
            UsageError: it has fewer nodes, or more nodes or links than the executor can hold.
        """
        per_byte = self.per_byte_ns or per_byte_ns
        shape = self._builders()[self.kind](nnodes, per_byte)
        if shape.nnodes < nnodes and nnodes > 1:
            raise UsageError(
                f"the topology ({self.kind}) has {shape.nnodes} nodes, the run needs {nnodes}; "
                f"change {_SIZE_KEYS[self.kind]}, or put more ranks on a node by ranks_per_node"
            )
        for counted, limit, name in (
            (shape.nnodes, MAX_NODES, "nodes"),
            (shape.class_starts[-1], MAX_LINKS, "links"),
        ):
            if counted > limit:
                raise UsageError(
                    f"the topology ({self.kind}) has {counted} {name}; at most {limit} are possible"
                )
        return shape

    def _builders(self) -> dict[str, Callable[[int, float], TopologyShape]]:
        return {
            "full": self._cluster,
            "cluster": self._cluster,
            "torus": self._grid,
            "mesh": self._grid,
            "fat-tree": self._tree,
            "dragonfly": self._groups,
            "graph": self._graph,
        }

    def _cluster(self, nnodes: int, per_byte: float) -> TopologyShape:
        return TopologyShape("cluster", nnodes, (), (per_byte,), (0.0,))

    def _grid(self, nnodes: int, per_byte: float) -> TopologyShape:
        dims = self.dims or _cubic(nnodes)
        return TopologyShape(self.kind, math.prod(dims), dims, (per_byte,), (self.hop_ns,), self.hop_ns)

    def _tree(self, nnodes: int, per_byte: float) -> TopologyShape:
        downs, ups, cables, factor = self._levels(nnodes)
        levels = len(downs)
        per_level = [per_byte] + [per_byte * factor] * (levels - 1)
        hops = [0.0] + [self.hop_ns] * (levels - 1)
        return TopologyShape(
            self.kind, math.prod(downs), (*downs, *ups, *cables), tuple(per_level), tuple(hops)
        )

    def _levels(self, nnodes: int = 1) -> tuple[list[int], list[int], list[int], float]:
        """Return children, parents and parallel links of each level; a factor on times above the first."""
        if not self.topo_parameters:
            leaves = -(-nnodes // self.radix)
            if leaves == 1:
                return [self.radix], [1], [1], 1.0
            spines = max(round(self.radix / self.oversubscription), 1)
            return [self.radix, leaves], [1, spines], [1, 1], spines * self.oversubscription / self.radix
        parts = _numbers(self.topo_parameters)
        levels = parts[0][0] if len(parts) == 4 and len(parts[0]) == 1 else 0
        if not 1 <= levels <= MAX_LEVELS or any(len(part) != levels for part in parts[1:]):
            raise UsageError(
                f"topo_parameters is {self.topo_parameters!r}; expected "
                "'LEVELS;CHILDREN,..;PARENTS,..;LINKS,..' with a number for each of the levels, at most "
                f"{MAX_LEVELS}"
            )
        return parts[1], parts[2], parts[3], 1.0

    def _dragonfly(self) -> list[list[int]]:
        parts = _numbers(self.topo_parameters)
        if [len(part) for part in parts] != [2, 2, 2, 1]:
            raise UsageError(
                f"topo_parameters is {self.topo_parameters!r}; expected "
                "'GROUPS,LINKS;CHASSIS,LINKS;ROUTERS,LINKS;NODES'"
            )
        if parts[0][0] > parts[2][0]:
            raise UsageError(
                f"topo_parameters: {parts[0][0]} groups need as many routers in a chassis, "
                f"which has {parts[2][0]}"
            )
        return parts

    def _groups(self, nnodes: int, per_byte: float) -> TopologyShape:
        (groups, blue), (chassis, black), (routers, green), (nodes,) = self._dragonfly()
        numbers = (groups, chassis, routers, nodes)
        times = (per_byte, per_byte / green, per_byte / black, per_byte / blue)
        return TopologyShape(self.kind, math.prod(numbers), numbers, times, (0.0, *[self.hop_ns] * 3))

    def _graph(self, nnodes: int, per_byte: float) -> TopologyShape:
        names = self._vertices()
        number = {name: i for i, name in enumerate(names)}
        ends = [number[name] for link in self.links for name in (link.a, link.b)]
        times = [
            1e9 / link.bytes_per_s if link.bytes_per_s else link.per_byte_ns or per_byte
            for link in self.links
        ]
        hops = tuple(link.hop_ns or self.hop_ns for link in self.links)
        return TopologyShape(
            self.kind, len(self.nodes), tuple(ends), tuple(times), hops, 0.0, len(names), tuple(names)
        )


def _cubic(nnodes: int) -> tuple[int, ...]:
    """Return dimensions, as equal as possible, that hold the nodes."""
    first = math.ceil(round(nnodes ** (1 / DIMENSIONS), 9))
    second = math.ceil(round(math.sqrt(nnodes / first), 9))
    return first, second, -(-nnodes // (first * second))


def _numbers(text: str) -> list[list[int]]:
    """Return the numbers of `a;b,c;d`. Raises UsageError."""
    try:
        parts = [[int(number) for number in part.split(",")] for part in text.split(";")]
    except ValueError:
        parts = []
    if not parts or any(number < 1 or number > MAX_NODES for part in parts for number in part):
        raise UsageError(f"topo_parameters is {text!r}; expected numbers from 1 on, as in '2;4,4;1,2;1,1'")
    return parts


FULL = NetworkTopology()
"""No links that messages share."""
