"""A machine drawn with the loads of its links."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from scalatrace.executor.program import LoweredProgram
from scalatrace.predict.engine.hot_links import LinkUse, busy_shares, call_that_sends_most
from scalatrace.predict.platform.topology_shape import TopologyShape

__all__ = ["link_drawing", "vertex_positions"]

Point = tuple[float, float]

OBLIQUE = (0.37, 0.29)
"""Of a step in the third dimension: right and up."""

MAX_DRAWN = 4096
"""Links of a drawing, both directions."""
STUB = 0.35
"""Length of the two ends of a link that leads around a torus."""


def link_drawing(use: LinkUse, program: LoweredProgram, time_ns: float) -> dict[str, Any] | None:
    """Return the machine drawn with the load of each link; None: it has more than MAX_DRAWN.

    `width` and `height` are in distances of neighbours, `vertices` are x, y, name and kind. `lines` have
    `from` and `to` (x, y), `busy` (share of the run, of the direction that is busier), `link` (its name),
    `operation` and `site`. A link that leads around a torus is two short lines. Of parallel links the
    busiest is drawn.
    """
    if not use.complete or len(use.nbytes) > MAX_DRAWN:
        return None
    positions = vertex_positions(use.links)
    left, top = (min(place[axis] for place in positions.values()) - 1 for axis in (0, 1))
    places = {name: (x - left, y - top) for name, (x, y) in positions.items()}
    busy_of = busy_shares(use, time_ns)
    busiest: dict[tuple[str, ...], int] = {}
    for link in range(len(use.nbytes)):
        ends = tuple(sorted(use.links.ends(link)))
        if ends[0] != ends[1] and busy_of[link] > busy_of[busiest.setdefault(ends, link)]:
            busiest[ends] = link
    lines = []
    groups = {f"group {i}" for i in range(use.links.numbers[0])} if use.links.kind == "dragonfly" else set()
    for ends, link in busiest.items():
        operation, site = call_that_sends_most(use, program, link) if use.nbytes[link] else ("", "")
        about = {
            "busy": float(busy_of[link]),
            "link": use.links.link_name(link),
            "operation": operation,
            "site": site,
        }
        lines += [
            {"from": a, "to": b, **about} for a, b in _line(use, link, places[ends[0]], places[ends[1]])
        ]
    return {
        "width": max(x for x, _ in places.values()) + 1,
        "height": max(y for _, y in places.values()) + 1,
        "vertices": [(x, y, name, _kind(name, use)) for name, (x, y) in places.items() if name not in groups],
        "lines": sorted(lines, key=lambda line: line["busy"]),
    }


def _kind(name: str, use: LinkUse) -> str:
    is_node = name in use.links.names[: use.links.nnodes] if use.links.names else name.startswith("node")
    return "node" if is_node else "switch"


def _line(use: LinkUse, link: int, a: Point, b: Point) -> list[tuple[Point, Point]]:
    """Return the line of a link between two points, or its two ends, where it leads around a torus."""
    if not use.links.leads_around(link):
        return [(a, b)]
    if use.links.kind == "mesh":
        return []
    dx, dy = (STUB * (b[axis] - a[axis]) / math.dist(a, b) for axis in (0, 1))
    return [(a, (a[0] - dx, a[1] - dy)), (b, (b[0] + dx, b[1] + dy))]


def vertex_positions(shape: TopologyShape) -> dict[str, Point]:
    """Return x and y (downwards), in distances of neighbours, by the names in `TopologyShape.ends`."""
    drawings = {"torus": _grid, "mesh": _grid, "fat-tree": _tree, "dragonfly": _groups, "graph": _graph}
    return dict(drawings.get(shape.kind, _star)(shape))


def _grid(shape: TopologyShape) -> Iterator[tuple[str, Point]]:
    """Two dimensions in the plane, the third oblique, further ones as drawings beside each other."""
    dims = (*shape.numbers, 1, 1, 1)
    wide, high = (dims[i] + OBLIQUE[i] * dims[2] + 1 for i in (0, 1))
    for node in range(shape.nnodes):
        places, quotient = [], node
        for size in shape.numbers:
            quotient, place = divmod(quotient, size)
            places.append(place)
        x, y, z, *further = *places, 0, 0
        right = _number(further[::2], shape.numbers[3::2])
        down = _number(further[1::2], shape.numbers[4::2])
        yield f"node {node}", (x + OBLIQUE[0] * z + right * wide, y - OBLIQUE[1] * z + down * high)


def _number(places: list[int], sizes: tuple[int, ...]) -> int:
    """Return the number of a place, the first dimension fastest."""
    number = 0
    for place, size in zip(reversed(places[: len(sizes)]), reversed(sizes), strict=True):
        number = number * size + place
    return number


def _tree(shape: TopologyShape) -> Iterator[tuple[str, Point]]:
    """Levels above each other, the nodes at the bottom."""
    downs, ups, _ = shape.levels()
    count, levels = shape.nnodes, len(downs)
    for level in range(levels + 1):
        for number in range(count):
            name = f"switch {level}.{number}" if level else f"node {number}"
            yield name, ((number + 0.5) * shape.nnodes / count, float(levels - level) * _height(shape.nnodes))
        if level < levels:
            count = count // downs[level] * ups[level]


def _height(nnodes: int) -> float:
    """Return the distance of levels: a wide drawing needs more of it."""
    return max(2.0, nnodes / 8)


def _star(shape: TopologyShape) -> Iterator[tuple[str, Point]]:
    yield "switch", (shape.nnodes / 2, 0.0)
    for node in range(shape.nnodes):
        yield f"node {node}", (node + 0.5, _height(shape.nnodes))


def _groups(shape: TopologyShape) -> Iterator[tuple[str, Point]]:
    """Groups on a circle; in each its routers, a row for a chassis; their nodes below them."""
    groups, chassis, routers, nodes = shape.numbers
    step = nodes + 1.0
    wide, high = routers * step, chassis * 3.0
    radius = 0.0 if groups == 1 else 0.6 * math.hypot(wide, high) / math.sin(math.pi / max(groups, 3))
    for group in range(groups):
        x, y = _on_circle(group, groups, radius)
        yield f"group {group}", (x, y - high / 2 - 1)
        for number in range(chassis * routers):
            row, column = divmod(number, routers)
            at = x - wide / 2 + (column + 0.5) * step, y - high / 2 + row * 3.0
            yield f"router {group}.{row}.{column}", at
            for node in range(nodes):
                name = f"node {(group * chassis * routers + number) * nodes + node}"
                yield name, (at[0] + node - (nodes - 1) / 2, at[1] + 1)


def _graph(shape: TopologyShape) -> Iterator[tuple[str, Point]]:
    """Nodes on a circle, switches on a smaller one."""
    for names, part in ((shape.names[: shape.nnodes], 1.0), (shape.names[shape.nnodes :], 0.5)):
        radius = 0.0 if part < 1 and len(names) == 1 else part * max(shape.nvertices, 4) / 4
        yield from ((name, _on_circle(i, len(names), radius)) for i, name in enumerate(names))


def _on_circle(number: int, count: int, radius: float) -> Point:
    angle = 2 * math.pi * number / count - math.pi / 2
    return radius * math.cos(angle), radius * math.sin(angle)
