"""Ages of live things (live.c), against a list: compiled alone and driven through ctypes."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.mpis import Mpi
from support.running import run

PMPI = Path(__file__).resolve().parents[2] / "scalatrace/pmpi"
CORE = PMPI.parent / "core/include"
UNDEFINED = -1000000004
HANDLES, PLACES = 4, 3  # few, so that handles coincide

#: ("add", handle, place) | ("hide", handle, place): added without an age |
#: ("claim", handle, place, what becomes of it) | ("age", handle, place)
handles, places = st.integers(1, HANDLES), st.integers(1, PLACES)
steps = st.one_of(
    st.tuples(st.just("add"), handles, places),
    st.tuples(st.just("hide"), handles, places),
    st.tuples(st.just("drop"), handles, places),
    st.tuples(st.just("keep"), handles, places),
    st.tuples(st.just("age"), handles, places),
)


@pytest.fixture(scope="module")
def live(openmpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    library = tmp_path_factory.mktemp("live") / "live.so"
    sources = [PMPI / "handles/live.c", PMPI / "base/map.c"]
    flags = ["-shared", "-fPIC", "-std=gnu11", "-O2", f"-I{CORE}", f"-I{PMPI}"]
    run([openmpi.mpicc, *flags, "-o", library, *sources], env=openmpi.environment()).check()
    loaded = ctypes.CDLL(str(library), mode=ctypes.RTLD_LOCAL)
    loaded.st_live_age.restype = ctypes.c_int64
    return loaded


@dataclass(eq=False)
class Thing:
    """A live thing: its place in the order of creation, its handle, the variable it was stored in."""

    born: int
    handle: int
    place: int


class Naive:
    """Living things in order of creation, and the order in which each handle's came to be looked up."""

    def __init__(self) -> None:
        self.order: list[Thing] = []  # of those with an age
        self.kept: list[Thing] = []
        self.lost: list[Thing] = []  # a newer one was stored in their variable
        self.newest: dict[int, Thing] = {}  # place -> thing
        self.born = 0

    def add(self, handle: int, place: int, hidden: bool) -> None:
        thing = Thing(self.born, handle, place)
        self.born += 1
        if not hidden:
            self.order.append(thing)
        if (before := self.newest.get(place)) is not None:
            self.kept.remove(before)
            self.lost.append(before)
        self.newest[place] = thing
        self.kept.append(thing)

    def find(self, handle: int, place: int) -> Thing | None:
        newest = self.newest.get(place)
        if newest is not None and newest.handle == handle:
            return newest
        return next((thing for thing in [*self.kept, *self.lost] if thing.handle == handle), None)

    def claim(self, thing: Thing) -> None:
        (self.kept if thing in self.kept else self.lost).remove(thing)
        if self.newest.get(thing.place) is thing:
            del self.newest[thing.place]

    def relink(self, thing: Thing) -> None:
        if thing.place in self.newest:
            self.lost.append(thing)
        else:
            self.kept.append(thing)
            self.newest[thing.place] = thing

    def age(self, thing: Thing | None) -> int:
        return len(self.order) - 1 - self.order.index(thing) if thing in self.order else UNDEFINED


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(steps, max_size=200))
def test_ages(live: ctypes.CDLL, sequence: list[tuple[str, int, int]]) -> None:
    table, naive = ctypes.create_string_buffer(4096), Naive()
    for what, handle, place in sequence:
        key, where = ctypes.c_uint64(handle), ctypes.c_void_p(place)
        if what in ("add", "hide"):
            naive.add(handle, place, what == "hide")
            slot = live.st_live_add(table, key, where)
            assert slot >= 0
            if what == "hide":
                live.st_live_hide(table, slot)
            continue
        thing = naive.find(handle, place)
        slot = (live.st_live_find if what == "age" else live.st_live_claim)(table, key, where)
        assert live.st_live_age(table, slot) == naive.age(thing)
        if thing is None or what == "age":
            continue
        naive.claim(thing)
        if what == "drop":
            live.st_live_drop(table, slot)
            if thing in naive.order:
                naive.order.remove(thing)
        else:
            live.st_live_relink(table, slot)
            naive.relink(thing)
