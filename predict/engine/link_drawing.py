"""A machine drawn with the loads of its links."""

from __future__ import annotations

import math
from typing import Any

from scalatrace.executor.program import LoweredProgram
from scalatrace.predict.engine.hot_links import LinkUse, busy_shares, call_that_sends_most
from scalatrace.predict.platform.topology_drawing import Point, vertex_positions

__all__ = ["link_drawing"]

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
