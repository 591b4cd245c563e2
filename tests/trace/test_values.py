"""Value vectors: every closed form against the plain expansion."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scalatrace.trace.io.container import pack_container
from scalatrace.trace.io.reader import loads
from scalatrace.trace.io.text import text
from scalatrace.trace.io.textparse import parse
from scalatrace.trace.io.writer import pack_payload
from scalatrace.trace.values.compress import compress, vec_of
from scalatrace.trace.values.vec import ANY_SOURCE, PROC_NULL, Vec, special_name
from support.builder import Builder
from support.traces import HIGH, LOW, endless, expand, ints, terms_of, wide_values

small = st.integers(-5, 5)
finite = st.lists(terms_of(small), max_size=4).map(tuple)


def ends(values: list[int]) -> tuple[int, ...]:
    return (min(values), max(values)) if values else ()


@given(finite)
def test_finite_vec(terms: Any) -> None:
    values, vec = expand(terms, 100_000), Vec.decode(terms)
    assert list(vec) == values
    assert vec.length == len(values)
    assert [vec[i] for i in range(len(values))] == values
    assert [vec.total(n) for n in range(len(values) + 1)] == [sum(values[:n]) for n in range(len(values) + 1)]
    assert vec.smallest() == min(values, default=None)
    assert vec.ends() == ends(values)
    assert [vec.ends(n) for n in range(len(values) + 1)] == [ends(values[:n]) for n in range(len(values) + 1)]
    for too_many in (vec.total, vec.first):
        with pytest.raises(ValueError, match="ends"):
            too_many(len(values) + 1)
    with pytest.raises(IndexError):
        vec[len(values)]


@given(endless(small) | st.builds(lambda t, s: Vec(((0, s, *t),)), finite.filter(len), small))
def test_endless_vec(vec: Vec) -> None:
    values = expand(vec.terms, 50)
    assert list(islice(vec, 50)) == values == list(vec.first(50))
    assert vec.length is None
    assert [vec[i] for i in range(50)] == values
    assert [vec.total(n) for n in range(51)] == [sum(values[:n]) for n in range(51)]
    assert [vec.ends(n) for n in range(51)] == [ends(values[:n]) for n in range(51)]
    assert vec.smallest() is None or vec.smallest() <= min(values)


@given(st.lists(ints, max_size=60) | finite.map(lambda terms: expand(terms, 200)))
def test_compression_is_exact(values: list[int]) -> None:
    terms = compress(values)
    assert expand(terms, len(values) + 5) == values
    assert Vec.decode(terms).length == len(values)
    assert vec_of(values).first(len(values)) == tuple(values)


@given(wide_values())
@example([9223372032559808513] * 2 + [-4294967296] * 2)
@example([LOW, HIGH] * 20)
@example([LOW, HIGH, 0] * 7)
def test_compression_needs_no_difference_beyond_64_bits(values: list[int]) -> None:
    vec = Vec.decode(compress(values))
    assert list(vec) == values
    assert vec.total(len(values)) == sum(values)
    assert (vec.smallest(), vec.largest()) == (min(values), max(values))
    assert Vec.decode(vec_of(values).terms).first(len(values)) == tuple(values)


@given(wide_values(), wide_values())
def test_stored_vectors_of_wide_values_come_back(counts: list[int], tags: list[int]) -> None:
    b = Builder(1)
    n = min(len(counts), len(tags))
    trace = b.of(b.event("Send", n, count=vec_of(counts[:n]), tag=vec_of(tags[:n])))
    assert [call.values for call in trace.walk(0)] == list(zip(counts, tags, strict=False))
    assert loads(pack_container(pack_payload(trace))) == trace == parse(text(trace))


@pytest.mark.parametrize(
    ("values", "terms"),
    [
        ([7] * 1000, 1),
        (list(range(1000)), 1),
        ([1, 2, 5] * 300, 1),
        ([i * 10 + j * j for i in range(50) for j in range(5)], 1),
        ([i % 3 for i in range(99)] + [4] * 50, 2),
        ([1 if i % 10 == 9 else 0 for i in range(500)], 1),
    ],
)
def test_compression_finds_loops(values: list[int], terms: int) -> None:
    assert len(compress(values)) == terms


@given(st.lists(st.integers(0, 3), max_size=200))
def test_compression_never_costs_bytes(values: list[int]) -> None:
    import msgpack

    assert len(msgpack.packb(compress(values))) <= len(msgpack.packb(values))


def test_hostile_counts_cost_nothing() -> None:
    vec = Vec.decode(((1 << 62, 1, (1 << 62, 3, (1 << 62, -5, 1, 2))), 7))
    assert vec.length == 2 * (1 << 186) + 1
    assert next(iter(vec)) == 1
    assert vec[1 << 100] == vec.total((1 << 100) + 1) - vec.total(1 << 100)


@pytest.mark.parametrize(
    "raw",
    [
        None,
        "a",
        1.5,
        True,
        1 << 63,
        (1, None),
        ((2, 1),),
        ((0, 1, 5), 3),
        ((2, 0, (0, 1, 5)),),
        ((-1, 1, 1),),
        ((),),
        [1],
    ],
)
def test_refuses_what_is_no_vec(raw: object) -> None:
    with pytest.raises(ValueError, match=r"value|vec|term|count"):
        Vec.decode(raw)


def test_deep_nesting_is_refused() -> None:
    term: Any = 0
    for _ in range(5000):
        term = (1, 1, term)
    with pytest.raises(ValueError, match="nested more than 32 deep"):
        Vec.decode((term,))


def test_special_values_have_names() -> None:
    assert special_name(ANY_SOURCE) == "ANY_SOURCE"
    assert special_name(3) is None
    assert str(Vec((PROC_NULL, (0, 2, 3)))) == "[PROC_NULL ..*(3 by 2)]"
