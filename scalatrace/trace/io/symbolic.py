"""The payload of a symbolic trace (.stx), in the container of a trace.

[sizes, column major, inputs, [[dims, {input: value}], ...], ops, families, stats, meta, {}, nodes]
node    := [repeat, [node, ...]] | [repeat, op, stack, params, [[pred, rows], ...]]
params  := [[name, kind, encoding or nil, field], ...]
field   := [[condition, shape, [formula, ...] or nil, [[division, rival], ...]], ...]
shape   := nil for an integer | string | [shape, ...]
family  := [kind, parent, [dimension, ...] or nil, [vec or nil, ...], count or nil, rivals]
vec     := [shape, [formula, ...]]

The shapes of a family's sizes and members are nil, [shape, ...], or both BLOCKS or CYCLIC.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import msgpack  # type: ignore[import-untyped]

from scalatrace.errors import FormatError, ScalatraceError
from scalatrace.formula import Const, Expr, Value, format_text, names_in, parse_condition, parse_number
from scalatrace.trace.io import decode
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.symbolic import (
    BLOCKS,
    CYCLIC,
    FamilyRule,
    Field,
    ParamRule,
    Part,
    Rule,
    StatRule,
    SymbolicTrace,
    events,
)
from scalatrace.trace.model.tables import MAX_RESOLUTION, Kind, Op, RecordedStat, is_resolution
from scalatrace.trace.symbolic.counters import RESERVED
from scalatrace.trace.symbolic.field import CYCLE, ELEMENTS, INDEXED, LOOPED, RANKWISE, SUMMED_ELEMENTS
from scalatrace.trace.symbolic.grid import NAMES
from scalatrace.trace.symbolic.shapes import is_vec
from scalatrace.trace.symbolic.special_values import read, written
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.ranklist import MAX_RANK

__all__ = ["pack_formulas", "read_formulas"]


def pack_formulas(model: SymbolicTrace) -> bytes:
    """Return the msgpack payload of a symbolic trace."""
    return bytes(msgpack.packb(_model(model), unicode_errors="surrogateescape"))


def read_formulas(payload: bytes, path: str) -> SymbolicTrace:
    """Return the symbolic trace of a payload; `path` is for messages.

    Raises:
        FormatError: it is damaged.
    """
    try:
        raw = msgpack.unpackb(payload, use_list=False, strict_map_key=False, unicode_errors="surrogateescape")
        return _read_model(raw)
    except ScalatraceError as error:
        raise FormatError(str(error), path) from None
    except (
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        AttributeError,
        RecursionError,
        msgpack.UnpackException,
    ):
        raise FormatError("not the formulas of a symbolic trace", path) from None


def _model(model: SymbolicTrace) -> list[Any]:
    return [
        model.sizes,
        model.column_major,
        model.inputs,
        model.seen,
        {op.name: [(name, int(kind)) for name, kind in op.params] for op in model.ops},
        [_family(family) for family in model.families],
        [(stat.name, stat.resolution) for stat in model.stats],
        model.meta,
        {},
        [_rule(rule) for rule in model.nodes],
    ]


def _family(rule: FamilyRule) -> list[Any]:
    vecs, count = [_vec(vec) for vec in rule.vecs], None if rule.count is None else written(rule.count)
    return [rule.kind, rule.parent, rule.slices, vecs, count, _written_rivals(rule.rivals)]


def _written_rivals(rivals: Sequence[tuple[Expr, Expr]]) -> list[tuple[str, str]]:
    return [(format_text(formula), format_text(rival)) for formula, rival in rivals]


def _rule(rule: Rule) -> list[Any]:
    if rule.op is None:
        return [_field(rule.repeat), [_rule(child) for child in rule.children]]
    params = [
        (
            p.name,
            int(p.kind),
            None if p.encoding is None else int(p.encoding),
            _field(p.field),
            [(int(encoding), _field(field)) for encoding, field in p.rivals],
        )
        for p in rule.params
    ]
    stats = [(s.pred, [[h and h.encode() for h in row] for row in s.histograms]) for s in rule.stats]
    return [_field(rule.repeat), rule.op, rule.stack, params, stats]


def _field(field: Field) -> list[Any]:
    return [
        (
            format_text(part.condition),
            part.shape,
            None if part.formulas is None else tuple(map(written, part.formulas)),
            _written_rivals(part.rivals),
        )
        for part in field.parts
    ]


def _vec(vec: tuple[Any, tuple[Value, ...]] | None) -> Any:
    return None if vec is None else (vec[0], tuple(map(written, vec[1])))


def _read_model(raw: Any) -> SymbolicTrace:
    sizes, column_major, inputs, seen, ops, families, stats, meta, _, nodes = raw
    model = SymbolicTrace(
        sizes=_sizes(sizes),
        column_major=bool(column_major),
        inputs=_inputs(inputs),
        seen=tuple(
            (tuple(dims), {str(k): int(v) for k, v in inputs_seen.items()}) for dims, inputs_seen in seen
        ),
        nodes=tuple(_read_rule(node) for node in nodes),
        families=tuple(_read_family(family) for family in families),
        ops=[Op(_name(name), tuple((_name(n), Kind(k)) for n, k in params)) for name, params in ops.items()],
        stats=[RecordedStat(str(name), float(resolution)) for name, resolution in stats],
        meta={str(k): str(v) for k, v in meta.items()},
    )
    _check_seen(model)
    _check_tables(model)
    return model


def _check_seen(model: SymbolicTrace) -> None:
    """The grids that were seen have the sides and the parameters of the model."""
    if not model.seen:
        raise FormatError("the formulas are of no grid that was seen")
    for dims, inputs in model.seen:
        if len(dims) != len(model.sizes) or any(type(side) is not int or side < 1 for side in dims):
            raise FormatError(f"a grid that was seen does not have {len(model.sizes)} sides of at least 1")
        if prod(dims) > MAX_RANK:
            raise FormatError(f"a grid that was seen has more than {MAX_RANK} ranks")
        if set(inputs) != set(model.inputs):
            raise FormatError("a grid that was seen has other parameters than the formulas")


FAMILY_VECS = 4
"""Sizes and members of a family's groups, and of the remote ones."""


def _check_tables(model: SymbolicTrace) -> None:
    """Rules refer to operations and communicators that are there."""
    for family in model.families:
        _check_family(model, family)
    for stat in model.stats:
        if not is_resolution(stat.resolution):
            raise FormatError(f"the resolution of a statistic is beyond {MAX_RESOLUTION:g} or none")
    schemas = {op.name: list(op.params) for op in model.ops}
    for rule in events(model.nodes):
        if rule.op not in schemas:
            raise FormatError(f"there is no operation {rule.op}")
        if [(param.name, param.kind) for param in rule.params] != schemas[rule.op]:
            raise FormatError(f"a rule of {rule.op} has parameters that do not fit its schema")
        if any(len(stats.histograms) != len(model.seen) for stats in rule.stats):
            raise FormatError(f"a rule of {rule.op} does not have statistics for each grid that was seen")


def _check_family(model: SymbolicTrace, family: FamilyRule) -> None:
    name = f"communicator family {family.kind!r}"
    if not -1 <= family.parent < len(model.families):
        raise FormatError(f"{name} refers to a missing parent")
    axes = family.slices or ()
    if len(set(axes)) != len(axes) or not set(axes) <= set(range(len(model.sizes))):
        raise FormatError(f"{name} is of dimensions that the grid does not have")
    if family.slices is None and (len(family.vecs) != FAMILY_VECS or None in family.vecs[:2]):
        raise FormatError(f"{name} has no sizes or no members")
    vecs = [vec for vec in family.vecs if vec is not None]
    if any(shape in (BLOCKS, CYCLIC) for shape, _ in vecs):
        if len(vecs) != 2 or vecs[0] != vecs[1] or len(vecs[0][1]) != 1 or family.count is not None:
            raise FormatError(f"{name} does not say once how it divides the ranks")
        vecs = []
    for shape, formulas in vecs:
        if not is_vec(shape):
            raise FormatError(f"{name} has sizes or members that are no integers")
        if _places(shape) != len(formulas):
            raise FormatError(f"{name} has {len(formulas)} formulas for {_places(shape)} integers")
    used = [formula for vec in family.vecs if vec is not None for formula in vec[1]]
    used += [formula for pair in family.rivals for formula in pair]
    if RANKWISE & names_in(*used, *([] if family.count is None else [family.count])):
        raise FormatError(f"{name} has formulas of a rank")


def _name(raw: Any) -> str:
    try:
        return decode.name(raw)
    except ValueError as error:
        raise FormatError(str(error)) from None


def _sizes(raw: Any) -> tuple[str, ...]:
    if tuple(raw) != NAMES[: len(raw)]:
        raise FormatError(f"the sides of a grid are called {' '.join(NAMES)}, not {' '.join(map(repr, raw))}")
    return tuple(raw)


def _inputs(raw: Any) -> tuple[str, ...]:
    inputs = tuple(map(_name, raw))
    if taken := RESERVED.intersection(inputs):
        raise FormatError(f"a parameter is called {min(taken)}, which formulas use for something else")
    return inputs


def _texts(raw: Any) -> tuple[str, ...]:
    return tuple(str(text) for text in raw)


def _formulas(raw: Any) -> tuple[Value, ...]:
    return tuple(map(read, raw))


def _read_family(raw: Any) -> FamilyRule:
    kind, parent, slices, vecs, *optional = raw
    count, rivals = optional if optional else (None, [])  # files of earlier versions have no chains
    read = tuple(None if vec is None else (_read_shape(vec[0]), _formulas(vec[1])) for vec in vecs)
    axes = None if slices is None else tuple(map(int, slices))
    chain = None if count is None else _formulas([count])[0]
    return FamilyRule(str(kind), int(parent), axes, read, chain, _rivals(rivals))


def _read_shape(raw: Any) -> Any:
    if raw is None or type(raw) in (str, int):
        return raw
    return tuple(map(_read_shape, raw))


def _read_rule(raw: Any) -> Rule:
    if len(raw) == 2:
        return Rule(_read_repeat(raw[0]), children=tuple(map(_read_rule, raw[1])))
    repeat, op, stack, params, stats = raw
    return Rule(
        _read_repeat(repeat),
        _name(op),
        _texts(stack),
        tuple(map(_read_param, params)),
        tuple(
            StatRule(None if pred is None else (str(pred[0]), _texts(pred[1])), _each(rows, _read_row))
            for pred, rows in stats
        ),
    )


def _read_repeat(raw: Any) -> Field:
    field = _read_field(raw)
    for part in field.parts:
        if part.shape not in (CYCLE, INDEXED, LOOPED) and not is_vec(part.shape):
            raise FormatError("the repeat of a node is no integers")
    return field


def _read_param(raw: Any) -> ParamRule:
    name, kind, encoding, field, *optional = raw  # files of version 0.1 have no rivals
    return ParamRule(
        str(name),
        Kind(kind),
        _read_field(field),
        None if encoding is None else Encoding(encoding),
        tuple(
            (Encoding(encoding_of_rival), _read_field(raw_field))
            for encoding_of_rival, raw_field in (optional[0] if optional else ())
        ),
    )


def _each(raw: Sequence[Any], read: Callable[[Any], Any]) -> tuple[Any, ...]:
    return tuple(read(item) for item in raw)


def _read_row(raw: Any) -> tuple[Any, ...]:
    return tuple(None if h is None else Histogram.decode(h) for h in raw)


def _rivals(raw: Any) -> tuple[tuple[Expr, Expr], ...]:
    return tuple((parse_number(division), parse_number(rival)) for division, rival in raw)


def _fits(shape: Any, formulas: tuple[Value, ...]) -> bool:
    """Return whether a field's shape has places for so many formulas."""
    if shape in (LOOPED, INDEXED):
        return len(formulas) == 2
    if shape in (ELEMENTS, SUMMED_ELEMENTS):
        return len(formulas) == 3
    return len(formulas) > 0 if shape == CYCLE else _places(shape) == len(formulas)


def _places(shape: Any) -> int:
    """Integers in a shape; its texts are not counted."""
    return sum(map(_places, shape)) if type(shape) is tuple else int(shape is None)


def _read_field(raw: Any) -> Field:
    parts = []
    for condition, shape, formulas, *optional in raw:  # files of version 0.1 have no rivals
        values = None if formulas is None else _formulas(formulas)
        form = _read_shape(shape)
        if values is not None and form in (ELEMENTS, SUMMED_ELEMENTS) and len(values) == 2:
            values = (Const(0), *values)  # as they were written before they could depend on loops
        if values is not None and not _fits(form, values):
            raise FormatError("the number of formulas differs from the number of integers in their shape")
        rivals = _rivals(optional[0] if optional else ())
        parts.append(Part(parse_condition(condition), form, values, rivals))
    return Field(tuple(parts))
