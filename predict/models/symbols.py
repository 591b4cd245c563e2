"""Symbols of performance models, and their notation as text, sympy and LaTeX.

S      bytes of a message, or of a collective operation as `platform/algorithms.py` counts them
P      ranks
alpha  latency with the overheads of both sides, ns: o + L + o
beta   ns per byte: G and the overheads per byte
gamma  ns per byte that an operator of a reduction takes
tau(S) ns between two messages of one sender: max(g, S G, o + S O)
rho(S) ns between two messages of one receiver: o + S O; in upper bounds as tau(S)
phi(S) ns between two messages of a rank that sends and receives: max(tau(S), the overheads of both)
g      tau(0)
m, R   ns per entry of a matching queue, and its length
d      ns per byte of packing and unpacking strided data
C      congestion: messages that share a link
"""

from __future__ import annotations

import sympy  # type: ignore[import-untyped]

__all__ = [
    "ALPHA",
    "BETA",
    "CONGESTION",
    "GAMMA",
    "GAP",
    "LOG",
    "MATCH",
    "PHI",
    "QUEUE",
    "RHO",
    "STRIDED",
    "TAU",
    "P",
    "S",
    "as_latex",
    "as_sympy",
    "as_text",
]  # fmt: skip

S, P = sympy.symbols("S P", positive=True)
ALPHA, BETA, GAMMA, GAP = sympy.symbols("alpha beta gamma g", nonnegative=True)
TAU, RHO, PHI = (sympy.Function(name, nonnegative=True) for name in ("tau", "rho", "phi"))
MATCH, QUEUE, STRIDED, CONGESTION = sympy.symbols("m R d C", nonnegative=True)

LOG = sympy.Symbol("ceil(log2(P))", nonnegative=True)
"""Rounds in which P ranks are reached when their number doubles."""

_LATEX_LOG = sympy.Symbol(r"{\lceil\log_2 P\rceil}", nonnegative=True)


def as_sympy(formula: sympy.Expr) -> sympy.Expr:
    """Return a formula with sympy's own functions in place of LOG."""
    return formula.subs(LOG, sympy.ceiling(sympy.log(P, 2)))


def as_text(formula: sympy.Expr) -> str:
    """Return a formula as text; powers are written `**`."""
    return str(sympy.sstr(formula, full_prec=False))


def as_latex(formula: sympy.Expr) -> str:
    """Return a formula as LaTeX, without dollar signs."""
    return str(sympy.latex(formula.subs(LOG, _LATEX_LOG), full_prec=False))
