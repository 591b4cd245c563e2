"""Plug-in for `scalatrace extrapolate`: the grid and the transposition of CG, as an example of plug-ins.

    scalatrace extrapolate cg.8.st cg.16.st cg.32.st --plugin cg_transpose.py -P 64 -o cg.64.st

CG runs on a power of two of ranks, in a grid that has as many columns as rows or twice as many. Within a row
partners are at distances of powers of two. The partner of the transposition follows the formula below
(dissertation §3.3; NPB calls it exch_proc). The built-in formulas have all that, so CG needs no plug-in.
"""

from __future__ import annotations

from typing import Any


def dims(trace: Any) -> tuple[int, int] | None:
    """Rows and columns of CG's grid; None when this is no CG."""
    if trace.nprocs.bit_count() != 1 or "cg" not in trace.meta.get("program", ""):
        return None
    rows = 1 << (trace.nprocs.bit_length() - 1) // 2
    return rows, trace.nprocs // rows


def cg_opposite(r: Any, rows: Any, columns: Any) -> Any:
    """The rank with which rank r exchanges for the transposition; works on numbers and on arrays."""
    row, column, parts = r // columns, r % columns, columns // rows
    return column // parts * columns + row * parts + column % parts


FUNCTIONS = {"cg_opposite": cg_opposite}
FEATURES = [("cg_opposite(r,X,Y)", 1.0)]
