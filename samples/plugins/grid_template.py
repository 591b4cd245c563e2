"""Template of a topology plug-in: the grid of a trace, and classes of ranks that behave alike.

    scalatrace extrapolate a.st b.st c.st d.st --plugin samples/plugins/grid_template.py -P 64 -o big.st

Use one if scalatrace finds no grid, another grid than the program's, or no formula for a class of ranks.
"""

from __future__ import annotations

import re
from typing import Any


def dims(trace: Any) -> tuple[int, ...] | None:
    """Return the sides of the grid of a trace, the slowest first; None: find it as without this plug-in.

    Here: the argument `--grid 4x6` of the traced program.
    """
    given = re.search(r"--grid (\d+)x(\d+)", trace.meta.get("program", ""))
    return (int(given[1]), int(given[2])) if given else None


# Ways to divide ranks into classes with a formula each. Exactly one condition of a way holds for each rank.
# Here: the colours of a checkerboard.
PARTITIONS = [["(x+y)%2==0", "(x+y)%2==1"]]
