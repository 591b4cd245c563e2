"""Bytes that a run sends over each link, and the call site that sends most of them."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scalatrace.arrays import Floats, Ints
from scalatrace.executor.binding import EngineResult
from scalatrace.executor.fields import pointer
from scalatrace.executor.links import EngineTopology
from scalatrace.executor.program import LoweredProgram
from scalatrace.predict.engine.link_loads import GroupMessages
from scalatrace.predict.platform import TopologyShape
from scalatrace.trace.model.callsite import callers, short_frame

__all__ = ["LinkUse", "busy_shares", "call_that_sends_most", "hottest_links", "link_map"]

MAX_CELLS = 128
"""Links, or groups of neighbouring ones, in a row of the map."""

MAX_COUNTS = 1 << 25
"""Links times nodes of the program that send: a quarter of a gigabyte."""


class LinkUse:
    """What a run sends over links, of which `topology` has the routes.

    Attributes:
        links: of the machine.
        nbytes: [links] bytes of the run.
        most: [links] bytes of the node of the program that sends most of them.
        node: [links] that node; -1: none.
        complete: whether messages between two ranks are counted, too.
    """

    def __init__(self, links: TopologyShape, topology: EngineTopology) -> None:
        self.links = links
        self._topology = topology
        count = self._topology.count_links()
        self.nbytes, self.most = np.zeros(count), np.zeros(count)
        self.node: NDArray[np.int32] = np.full(count, -1, dtype=np.int32)
        self.complete = True
        self._counts: dict[int, Floats] = {}  # node of the program -> [links] bytes of counted messages

    def receive(self, result: EngineResult) -> None:
        """Let the executor write collective calls, or all flows, into the arrays."""
        result.link_bytes = pointer(self.nbytes, ctypes.c_double)
        result.link_most = pointer(self.most, ctypes.c_double)
        result.link_node = pointer(self.node, ctypes.c_int32)

    def count_messages(self, messages: GroupMessages, node_of: Ints) -> None:
        """Count messages between two ranks, those of one execution of a group.

        Args:
            node_of: [nranks] node of each rank.
        """
        if not self.complete:
            return
        offsets, links = self._topology.routes(node_of[messages.sources], node_of[messages.dests])
        lengths = np.diff(offsets)
        for number in np.unique(messages.nodes).tolist():
            if number not in self._counts:
                if (len(self._counts) + 1) * len(self.nbytes) > MAX_COUNTS:
                    self.complete = False
                    self._counts.clear()
                    return
                self._counts[number] = np.zeros(len(self.nbytes))
            weights = np.repeat(np.where(messages.nodes == number, messages.nbytes, 0.0), lengths)
            self._counts[number] += np.bincount(links, weights=weights, minlength=len(self.nbytes))

    def add_messages(self, calls: Any, cycles: Mapping[int, int]) -> None:
        """Add the messages that were counted, as often as the run has them.

        Args:
            calls: [nodes of the program] executions of all ranks.
            cycles: node -> executions of all ranks among the messages that were counted.
        """
        for number, counts in self._counts.items():
            table = counts * (int(calls[number]) / cycles[number])
            self.nbytes += table
            larger = table > self.most
            self.most[larger], self.node[larger] = table[larger], number
        self._counts.clear()


def hottest_links(use: LinkUse, program: LoweredProgram, time_ns: float, limit: int) -> list[dict[str, Any]]:
    """Return the links that are busy longest.

    Each has `link` (its ends), `nbytes`, `busy` (share of the run), and of the call site that sends most of
    these bytes `operation`, `site` and `of_bytes`, their share.
    """
    if not use.complete:
        return []
    candidates = _candidates(use, limit)
    classes = [use.links.class_of(link) for link in candidates.tolist()]
    busy_ns = use.nbytes[candidates] * np.array(use.links.per_byte_ns)[np.array(classes, dtype=np.int64)]
    rows = []
    for i in np.lexsort((candidates, -busy_ns))[:limit].tolist():
        link = int(candidates[i])
        operation, site = call_that_sends_most(use, program, link)
        rows.append({
            "link": use.links.link_name(link),
            "nbytes": int(use.nbytes[link]),
            "busy": float(busy_ns[i]) / max(time_ns, 1e-9),
            "operation": operation,
            "site": site,
            "of_bytes": float(use.most[link] / use.nbytes[link]),
        })  # fmt: skip
    return rows


def call_that_sends_most(use: LinkUse, program: LoweredProgram, link: int) -> tuple[str, str]:
    """Return operation and call site that send most of a link's bytes."""
    event = program.nodes[int(use.node[link])].event
    assert event is not None  # only calls send
    site = next(iter(callers(program.trace.stack(event.signature))), "")
    return program.trace.ops[event.op].name, short_frame(site) if site else ""


def busy_shares(use: LinkUse, time_ns: float) -> Floats:
    """Return the share of the run that each link needs for its bytes."""
    starts = np.array(use.links.class_starts[1:])
    classes = np.searchsorted(starts, np.arange(len(use.nbytes)), side="right")
    shares: Floats = use.nbytes * np.array(use.links.per_byte_ns)[classes] / max(time_ns, 1e-9)
    return shares


def link_map(use: LinkUse, time_ns: float) -> list[dict[str, Any]]:
    """Return the load of all links in rows, by level, dimension or kind.

    Each has `name`, `links` (their number), `busy` (shares of the run, of at most MAX_CELLS links or of the
    busiest ones of neighbouring links) and `most`, the largest share.
    """
    if not use.complete:
        return []
    busy = busy_shares(use, time_ns)
    result = []
    for name, links in use.links.rows():
        if len(links):
            cells = np.array_split(busy[links], min(len(links), MAX_CELLS))
            shares = [float(cell.max()) for cell in cells]
            result.append({"name": name, "links": len(links), "busy": shares, "most": max(shares)})
    return result


def _candidates(use: LinkUse, limit: int) -> Ints:
    """Return links among which are those that are busy longest: the ones with most bytes of each class."""
    used = np.flatnonzero(use.nbytes)
    if len(set(use.links.per_byte_ns)) > 1 or len(used) <= limit:
        return used
    least = np.partition(use.nbytes[used], len(used) - limit)[len(used) - limit]
    chosen: Ints = used[use.nbytes[used] >= least]
    return chosen
