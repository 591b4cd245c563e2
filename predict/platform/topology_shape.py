"""A topology for a number of nodes: its links as the executor numbers them, and their names."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np

from scalatrace.arrays import Ints

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

    @cached_property
    def class_starts(self) -> tuple[int, ...]:
        """The first link of each class, and the number of all links, one for each direction."""
        return (0, *accumulate(self._count_by_class()))

    def class_of(self, link: int) -> int:
        """Return the class of a link: index into `per_byte_ns`."""
        return bisect_right(self.class_starts, link) - 1

    def link_name(self, link: int) -> str:
        """Return what a link connects, in its direction, and which of parallel ones it is."""
        start, end = self.ends(link)
        if self.kind == "fat-tree":
            level = self.class_of(link)
            _, ups, cables = (numbers[level] for numbers in self.levels())
            port = (link - self.class_starts[level]) // 2 % (ups * cables)
            return f"{start} -> {end}" + (f" ({port // ups})" if cables > 1 else "")
        return f"{start} -> {end}"

    def ends(self, link: int) -> tuple[str, str]:
        """Return the names of what a link connects, in its direction.

        Nodes of a dragonfly have a router; links between groups have the groups.
        """
        if self.kind in ("torus", "mesh"):
            node, dim = divmod(link // 2, len(self.numbers))
            scale, size = math.prod(self.numbers[:dim]), self.numbers[dim]
            other = node + ((node // scale + 1) % size - node // scale % size) * scale
            return _directed(f"node {node}", f"node {other}", link)
        if self.kind == "graph":
            return self.names[self.numbers[link]], self.names[self.numbers[link ^ 1]]
        if self.kind == "fat-tree":
            return self._tree_ends(link)
        if self.kind == "dragonfly":
            return self._dragonfly_ends(link)
        return _directed(f"node {link // 2}", "switch", link)

    def leads_around(self, link: int) -> bool:
        """Whether a link connects the last node of a dimension with the first; a mesh has no such link."""
        if self.kind not in ("torus", "mesh"):
            return False
        node, dim = divmod(link // 2, len(self.numbers))
        size = self.numbers[dim]
        return size > 2 and node // math.prod(self.numbers[:dim]) % size == size - 1

    def rows(self) -> list[tuple[str, Ints]]:
        """Return all links in rows, by level, dimension or kind, and direction: name and numbers of each."""
        links = np.arange(self.class_starts[-1])
        if self.kind in ("torus", "mesh"):
            dims = len(self.numbers)
            return [
                (f"dimension {dim + 1}, {'down' if back else 'up'}", links[2 * dim + back :: 2 * dims])
                for dim in range(dims)
                for back in (0, 1)
            ]
        if self.kind == "graph":
            return [("links", links)]
        by_class = [links[a:b] for a, b in pairwise(self.class_starts)]
        if self.kind == "fat-tree":
            named = [(f"level {level}", ways) for level, ways in enumerate(by_class, 1)]
        else:
            named = [("nodes", by_class[0])]
        two_ways = [
            (f"{name}, {'down' if back else 'up'}", ways[back::2]) for name, ways in named for back in (0, 1)
        ]
        if self.kind == "dragonfly":
            kinds = ("in a chassis", "between chassis", "between groups")
            two_ways += zip(kinds, by_class[1:], strict=True)
        return two_ways

    def _count_by_class(self) -> list[int]:
        if self.kind in ("torus", "mesh"):
            return [2 * self.nnodes * len(self.numbers)]
        if self.kind == "graph":
            return [2] * (len(self.numbers) // 2)
        if self.kind == "dragonfly":
            groups, chassis, routers, _ = self.numbers
            green, black = groups * chassis * routers * routers, groups * routers * chassis * chassis
            return [2 * self.nnodes, green, black, groups * groups]
        if self.kind != "fat-tree":
            return [2 * self.nnodes]
        counts, below = [], self.nnodes  # switches of a level, or nodes
        for down, up, cables in zip(*self.levels(), strict=True):
            counts.append(2 * below * up * cables)
            below = below // down * up
        return counts

    def levels(self) -> tuple[tuple[int, ...], ...]:
        """Return children, parents and parallel links of the levels of a fat tree."""
        levels = len(self.numbers) // 3
        return tuple(self.numbers[i * levels : (i + 1) * levels] for i in range(3))

    def _tree_ends(self, link: int) -> tuple[str, str]:
        downs, ups, cables = self.levels()
        level = self.class_of(link)
        link -= self.class_starts[level]
        child, port = divmod(link // 2, ups[level] * cables[level])
        scale = math.prod(ups[:level])
        low, high = child % scale, child // scale
        parent = low + scale * (port % ups[level]) + scale * ups[level] * (high // downs[level])
        name = f"node {child}" if level == 0 else f"switch {level}.{child}"
        return _directed(name, f"switch {level + 1}.{parent}", link)

    def _dragonfly_ends(self, link: int) -> tuple[str, str]:
        groups, chassis, routers, nodes = self.numbers

        def name(group: int, one_chassis: int, router: int) -> str:
            return f"router {group}.{one_chassis}.{router}"

        number = self.class_of(link)
        if number == 0:
            at, router = divmod(link // 2 // nodes, routers)
            return _directed(f"node {link // 2}", name(at // chassis, at % chassis, router), link)
        link -= self.class_starts[number]
        if number == 1:
            at, other = divmod(link, routers)
            (group, chassis_number), router = divmod(at // routers, chassis), at % routers
            return name(group, chassis_number, router), name(group, chassis_number, other)
        if number == 2:
            at, other = divmod(link, chassis)
            (group, router), chassis_number = divmod(at // chassis, routers), at % chassis
            return name(group, chassis_number, router), name(group, other, router)
        return f"group {link // groups}", f"group {link % groups}"


def _directed(low: str, high: str, link: int) -> tuple[str, str]:
    """Return both ends; links with even numbers lead up."""
    return (high, low) if link % 2 else (low, high)
