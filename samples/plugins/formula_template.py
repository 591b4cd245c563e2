"""Template of a formula plug-in: a function that formulas may call, and a feature that contains it.

    scalatrace extrapolate a.st b.st c.st d.st --plugin samples/plugins/formula_template.py -P 64 -o big.st

Use one if `scalatrace extrapolate` reports "no formula found" for a value that follows a rule of yours.
docs/reference/formulas.md lists the names and functions that formulas have already.
"""

from __future__ import annotations

from typing import Any

MAX_DIGITS = 32
"""Binary digits of the largest rank."""


def column(r: Any) -> Any:
    """Return the column of a rank whose place follows a Z-order curve: every second binary digit.

    Arguments are integers, or numpy arrays with one integer per rank: use operators and numpy functions
    only, no `if`.
    """
    return sum((r >> 2 * digit & 1) << digit for digit in range(MAX_DIGITS // 2))


# Name in formulas -> function. Built-in names and functions of other plug-ins are refused.
FUNCTIONS = {"column": column}

# Expressions that formulas may contain, each with a weight. Of all formulas that fit, the one with the least
# total weight is used; built-in features weigh about 1 to 6.
FEATURES = [("column(r)", 2.0)]
