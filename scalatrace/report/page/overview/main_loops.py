"""The loops with most of the time, from the main loop inwards, as a sentence."""

from __future__ import annotations

from collections.abc import Iterator

from scalatrace.report.costs.rows import short_site_text
from scalatrace.report.page.tree import PageTree, TreeNode
from scalatrace.report.style import coarse_percent

__all__ = ["main_loops_of"]

MIN_SHARE = 0.5
"""Part of all time that a loop takes at least."""

NAMES = ("Main loop", "Loop in it", "Loop in that")
"""Of the loops, from the main loop inwards."""


def main_loops_of(tree: PageTree) -> str:
    """Return iterations, place and share of the time of the main loop, and of the loops in it; "": none.

    A loop counts if it has at least half of the time of all ranks, in MPI and computing.
    """
    whole_ns = _time_ns(tree.root)
    loops: list[TreeNode] = []
    inner = _longest_loop(tree.root, whole_ns)
    while inner is not None and len(loops) < len(NAMES):
        loops.append(inner)
        inner = _longest_loop(inner, whole_ns)
    texts = [_text(loop, _time_ns(loop) / whole_ns) for loop in loops]
    return " ".join(f"{name}: {text}." for name, text in zip(NAMES, texts, strict=False))


def _longest_loop(node: TreeNode, whole_ns: float) -> TreeNode | None:
    longest = max(_loops(node), key=_time_ns, default=None)
    return longest if longest is not None and 0 < MIN_SHARE * whole_ns <= _time_ns(longest) else None


def _loops(node: TreeNode) -> Iterator[TreeNode]:
    """Yield the outermost loops in a node; what runs once, such as the calls of a thread, is no loop."""
    for child in node.children:
        if child.op or child.number < 0:
            continue
        if child.times:
            yield child
        else:
            yield from _loops(child)


def _text(loop: TreeNode, share: float) -> str:
    times = f"{loop.in_all} iterations in all" if loop.in_all else f"{loop.times} iterations"
    place = f", {short_site_text(loop.place)}" if loop.place else ""
    return f"{times}{place} ({coarse_percent(share)} of the time)"


def _time_ns(node: TreeNode) -> float:
    return node.comm_ns + node.compute_ns
