"""What-if factors on computation times and message sizes (dissertation, §3.5.1).

A factor is for all calls, for an operation or for a call site. Replays and generated programs select by the
same rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil

from scalatrace.errors import UsageError
from scalatrace.operations import operation
from scalatrace.scaling import SCALED, exact_factor, is_capacity, parse_factor
from scalatrace.trace.model.sites import Range, parse_site, passes, spelled
from scalatrace.trace.model.trace import Trace

__all__ = ["FactorRule", "Factors", "parse_rule"]


@dataclass(frozen=True)
class FactorRule:
    """Factors for the calls of an operation or a call site.

    Attributes:
        op: without `MPI_`; "" for any.
        site: None for any.
        compute: on the computation before these calls.
        nbytes: on the elements of their messages.
    """

    op: str = ""
    site: Range | None = None
    compute: float = 1.0
    nbytes: float = 1.0

    @property
    def everywhere(self) -> bool:
        """Return whether the rule applies to all calls."""
        return not self.op and self.site is None

    def holds(self, op: str, stack: tuple[str, ...]) -> bool:
        """Say whether calls of an operation with a call stack are meant."""
        if self.op and self.op != op:
            return False
        return self.site is None or passes(stack, self.site)

    def __str__(self) -> str:
        return self.op or (spelled(self.site) if self.site else "all")


def parse_rule(where: str, factors: str) -> FactorRule:
    """Parse a rule: `"lu.py:128", "compute=0.5,bytes=2"` or `"Allreduce", "bytes=4"`. Raises UsageError."""
    factors_of = {"compute": 1.0, "bytes": 1.0}
    for part in factors.split(","):
        name, _, number = part.partition("=")
        if name not in factors_of:
            raise UsageError(f"--at {where} {factors}: {part!r} is not compute=F or bytes=F")
        factors_of[name] = parse_factor(number)
    values = {"compute": factors_of["compute"], "nbytes": factors_of["bytes"]}
    name = where.removeprefix("MPI_")
    if name.isidentifier():
        return FactorRule(op=name[:1].upper() + name[1:], **values)  # type: ignore[arg-type]
    return FactorRule(site=parse_site(where), **values)  # type: ignore[arg-type]


class Factors:
    """All rules; factors of several rules that apply to a call are multiplied."""

    def __init__(self, rules: Iterable[FactorRule] = ()) -> None:
        self.rules = tuple(rule for rule in rules if (rule.compute, rule.nbytes) != (1.0, 1.0))

    @cached_property
    def max_nbytes_factor(self) -> int:
        """The factor of receives: the largest factor that a sender may have, rounded up."""
        return ceil(
            exact_factor(
                _product(rule.nbytes if rule.everywhere else max(1.0, rule.nbytes) for rule in self.rules)
            )
        )

    @cached_property
    def uniform(self) -> bool:
        """Return whether all messages have the same factor."""
        return all(rule.everywhere or rule.nbytes == 1.0 for rule in self.rules)

    @cached_property
    def scales_nbytes(self) -> bool:
        """Return whether any message has another size."""
        return any(rule.nbytes != 1.0 for rule in self.rules)

    @property
    def by_site(self) -> bool:
        """Return whether factors depend on call sites."""
        return any(rule.site is not None for rule in self.rules)

    def compute_of(self, op: str, stack: tuple[str, ...]) -> float:
        """Return the factor on the computation before calls of an operation with a call stack."""
        return _product(rule.compute for rule in self.rules if rule.holds(op, stack))

    def nbytes_of(self, op: str, stack: tuple[str, ...]) -> Fraction:
        """Return the factor on the elements that these calls send."""
        rules = self.rules if operation(op).category in SCALED else ()
        return exact_factor(_product(rule.nbytes for rule in rules if rule.holds(op, stack)))

    def sent_factor(self, nbytes: Fraction, parameters: Iterable[str]) -> Fraction:
        """Return the factor on what is no room, for calls with a factor and parameters of these names."""
        receives_parts = {"partitions", "source"} <= set(parameters)
        if receives_parts and not self.uniform:
            return Fraction(self.max_nbytes_factor)  # its sender may have another factor
        return nbytes

    def count_factor(self, op: str, name: str, parameters: Iterable[str], sent: Fraction) -> Fraction:
        """Return the factor on a count of a call, whose factor on what it sends is given."""
        return Fraction(self.max_nbytes_factor) if is_capacity(op, name, set(parameters)) else sent

    def check(self, trace: Trace) -> None:
        """Raise UsageError when a rule holds for no call of a trace."""
        sites = [(trace.ops[leaf.op].name, trace.stack(leaf.signature)) for leaf in trace.leaves()]
        unused = [rule for rule in self.rules if not any(rule.holds(op, stack) for op, stack in sites)]
        if unused:
            raise UsageError(f"no call of the trace is at {', '.join(map(str, unused))}")


def _product(factors: Iterator[float]) -> float:
    product = 1.0
    for factor in factors:
        product *= factor
    return product
