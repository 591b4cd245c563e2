"""A program with messages and collective calls of most kinds, and faults to plant in its formulas."""

from __future__ import annotations

from dataclasses import replace

from scalatrace.formula import Cond, Const, add, all_of, parse_condition
from scalatrace.trace.model.symbolic import Rule
from scalatrace.trace.symbolic.field import Field
from support.calls import IssuedCall, call
from support.grids import Rank

TYPE = "MPI_DOUBLE"


def exchange(rank: Rank) -> list[IssuedCall]:
    """Rows of a torus shift by one, columns at the border reduce, all share a sum."""
    (x, y), (_, columns) = rank.place, rank.dims
    west, east = rank.neighbour((0, -1), True), rank.neighbour((0, 1), True)
    row = {"count": 3, "datatype": TYPE}
    message = {"count": 8 * columns, "datatype": TYPE}
    made = [
        call("Irecv", 10, **message, source=west, tag=y + 1, comm="world"),
        call("Send", 11, **message, dest=east, tag=(y + 1) % columns + 1, comm="world"),
        call("Waitall", 12, requests=(0,)),
    ] * 4
    if x:
        made.append(call("Send", 13, **row, dest=rank.number - columns, tag=0, comm="world"))
    if x < rank.dims[0] - 1:
        made.append(
            call("Recv", 14, count=3, datatype=TYPE, source=rank.number + columns, tag=0, comm="world")
        )
    sums = [call("Allreduce", 15, count=columns, datatype=TYPE, comm="world")]
    roots = [call("Bcast", 16, count=2, datatype=TYPE, root=columns - 1, comm="world")]
    gathers = [call("Allgather", 17, sendcount=2, sendtype=TYPE, recvcount=2, recvtype=TYPE, comm="world")]
    return [*made, *sums, *roots, *gathers]


BORDER = parse_condition("y==Y-1")


def changed(rules: tuple[Rule, ...], at: int, name: str, where: Cond = BORDER) -> tuple[Rule, ...]:
    """The rules in which a parameter, or the repeat, of one line's calls is one larger on some ranks."""
    result = []
    for rule in rules:
        if rule.op is None:
            rule = replace(rule, children=changed(rule.children, at, name, where))
        elif f"app.py:{at}:" in rule.stack[0] and name == "repeat":
            rule = replace(rule, repeat=_larger(rule.repeat, where))
        elif f"app.py:{at}:" in rule.stack[0]:
            params = [
                replace(param, field=_larger(param.field, where), rivals=()) if param.name == name else param
                for param in rule.params
            ]
            rule = replace(rule, params=tuple(params))
        result.append(rule)
    return tuple(result)


def _larger(field: Field, where: Cond) -> Field:
    parts = []
    for part in field.parts:
        if part.formulas is not None:
            formulas = tuple(add(formula, Const(1)) for formula in part.formulas)
            parts.append(replace(part, condition=all_of(where, part.condition), formulas=formulas))
        parts.append(part)
    return replace(field, parts=tuple(parts))


FAULTS = [
    *((line, name) for line in (10, 11, 13, 14) for name in ("repeat", "tag")),
    *((line, "count") for line in (11, 13, 15)),
    *((line, "dest") for line in (11, 13)),
    *((line, "source") for line in (10, 14)),
    (15, "repeat"),
    (16, "root"),
    (16, "repeat"),
    (17, "repeat"),
    (17, "recvcount"),
]
"""Lines and parameters that are wrong by one at the border."""
