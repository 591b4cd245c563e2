"""A topology for a number of nodes: its links as the executor numbers them, and their names."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["TopologyShape"]


@dataclass(frozen=True)
class TopologyShape:
    """A topology for a number of nodes, as the executor reads it.

    Attributes:
        kind: its name.
        nnodes: that it holds.
        nvertices: of a graph, with the switches.
        numbers: see `st_sim_topology`.
        per_byte_ns, hop_ns: of each class of links.
        own_hop_ns: part of a route's latency that is in the network's.
    """

    kind: str
    nnodes: int
    numbers: tuple[int, ...]
    per_byte_ns: tuple[float, ...]
    hop_ns: tuple[float, ...]
    own_hop_ns: float = 0.0
    nvertices: int = 0
    names: tuple[str, ...] = ()

    def class_of(self, link: int) -> int:
        """Return the class of a link: index into `per_byte_ns`."""
        if self.kind == "graph":
            return link // 2
        if self.kind == "fat-tree":
            return self._level(link)[0]
        if self.kind == "dragonfly" and link >= 2 * self.nnodes:
            groups, chassis, routers, _ = self.numbers
            green = 2 * self.nnodes + groups * chassis * routers * routers
            return 1 if link < green else 2 if link < green + groups * routers * chassis * chassis else 3
        return 0

    def link_name(self, link: int) -> str:
        """Return what a link connects, in its direction."""
        if self.kind in ("torus", "mesh"):
            node, dim = divmod(link // 2, len(self.numbers))
            scale, size = math.prod(self.numbers[:dim]), self.numbers[dim]
            other = node + ((node // scale + 1) % size - node // scale % size) * scale
            ends = f"node {node}", f"node {other}"
            return _arrow(*ends[::-1]) if link % 2 else _arrow(*ends)
        if self.kind == "graph":
            return _arrow(*(self.names[self.numbers[end]] for end in (link, link ^ 1)))
        if self.kind == "fat-tree":
            return self._tree_link(link)
        if self.kind == "dragonfly" and link >= 2 * self.nnodes:
            return self._dragonfly_link(link - 2 * self.nnodes)
        node_name = f"node {link // 2}"
        return _arrow("switch", node_name) if link % 2 else _arrow(node_name, "switch")

    def _level(self, link: int) -> tuple[int, int]:
        """Return the level of a link in a fat tree, and its number in this."""
        levels = len(self.numbers) // 3
        downs, ups, cables = (self.numbers[i * levels : (i + 1) * levels] for i in range(3))
        below, level = math.prod(downs), 0
        while link >= 2 * below * ups[level] * cables[level]:
            link -= 2 * below * ups[level] * cables[level]
            below = below // downs[level] * ups[level]
            level += 1
        return level, link

    def _tree_link(self, link: int) -> str:
        levels = len(self.numbers) // 3
        downs, ups, cables = (self.numbers[i * levels : (i + 1) * levels] for i in range(3))
        level, link = self._level(link)
        child, port = divmod(link // 2, ups[level] * cables[level])
        scale = math.prod(ups[:level])
        low, high = child % scale, child // scale
        parent = low + scale * (port % ups[level]) + scale * ups[level] * (high // downs[level])
        name = f"node {child}" if level == 0 else f"switch {level}.{child}"
        ends = name, f"switch {level + 1}.{parent}"
        cable = f" ({port // ups[level]})" if cables[level] > 1 else ""
        return (_arrow(*ends[::-1]) if link % 2 else _arrow(*ends)) + cable

    def _dragonfly_link(self, link: int) -> str:
        groups, chassis, routers, _ = self.numbers

        def name(group: int, one_chassis: int, router: int) -> str:
            return f"router {group}.{one_chassis}.{router}"

        green = groups * chassis * routers * routers
        if link < green:
            at, other = divmod(link, routers)
            (group, one), router = divmod(at // routers, chassis), at % routers
            return _arrow(name(group, one, router), name(group, one, other))
        link -= green
        if link < groups * routers * chassis * chassis:
            at, other = divmod(link, chassis)
            (group, router), one = divmod(at // chassis, routers), at % chassis
            return _arrow(name(group, one, router), name(group, other, router))
        link -= groups * routers * chassis * chassis
        return _arrow(f"group {link // groups}", f"group {link % groups}")


def _arrow(a: str, b: str) -> str:
    return f"{a} -> {b}"
