"""Names of live things (live.c), against lists: compiled alone and driven through ctypes."""

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
HANDLES, PLACES, STREAMS = 4, 3, 3  # few, so that handles coincide
OF_STREAM = 1 << 40

#: ("add", handle, place) | ("hide", handle, place): added without an age |
#: ("drop", handle, place) | ("keep", handle, place): claimed | ("name", handle, place); all with a stream
handles, places, streams = st.integers(1, HANDLES), st.integers(1, PLACES), st.integers(0, STREAMS - 1)
steps = st.one_of(
    st.tuples(st.just("add"), handles, places, streams),
    st.tuples(st.just("hide"), handles, places, streams),
    st.tuples(st.just("drop"), handles, places, streams),
    st.tuples(st.just("keep"), handles, places, streams),
    st.tuples(st.just("name"), handles, places, streams),
)


@pytest.fixture(scope="module")
def live(openmpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    library = tmp_path_factory.mktemp("live") / "live.so"
    sources = [PMPI / "handles/live.c", PMPI / "base/map.c"]
    flags = ["-shared", "-fPIC", "-std=gnu11", "-O2", f"-I{CORE}", f"-I{PMPI}"]
    run([openmpi.mpicc, *flags, "-o", library, *sources], env=openmpi.environment()).check()
    loaded = ctypes.CDLL(str(library), mode=ctypes.RTLD_LOCAL)
    loaded.st_live_name.restype = ctypes.c_int64
    return loaded


@dataclass(eq=False)
class Thing:
    """A live thing: its stream, its number among the recorded ones of it, its handle, its variable."""

    stream: int
    ordinal: int
    handle: int
    place: int


class Naive:
    """Things of each stream that it takes for alive, and the order in which each handle's are looked up."""

    def __init__(self) -> None:
        self.orders: list[list[Thing]] = [[] for _ in range(STREAMS)]  # of those with a name
        self.kept: list[Thing] = []
        self.lost: list[Thing] = []  # a newer one was stored in their variable
        self.newest: dict[int, Thing] = {}  # place -> thing
        self.ncreated = [0] * STREAMS
        self.next = [[0] * STREAMS for _ in range(STREAMS)]  # by naming stream and creator

    def add(self, handle: int, place: int, stream: int, hidden: bool) -> None:
        thing = Thing(stream, -1 if hidden else self.ncreated[stream], handle, place)
        if not hidden:
            self.ncreated[stream] += 1
            self.orders[stream].append(thing)
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

    def name(self, thing: Thing | None, stream: int) -> int:
        if thing is None or thing.ordinal < 0:
            return UNDEFINED
        order, creator = self.orders[stream], thing.stream
        if creator == stream:
            return len(order) - 1 - order.index(thing)
        difference = thing.ordinal - self.next[stream][creator]
        self.next[stream][creator] = thing.ordinal + 1
        return (creator + 1) * OF_STREAM + OF_STREAM // 2 + difference

    def drop(self, thing: Thing, stream: int) -> None:
        if thing.ordinal >= 0 and thing.stream == stream:
            self.orders[stream].remove(thing)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(steps, max_size=200))
def test_names(live: ctypes.CDLL, sequence: list[tuple[str, int, int, int]]) -> None:
    table, naive = ctypes.create_string_buffer(4096), Naive()
    for what, handle, place, stream in sequence:
        key, where = ctypes.c_uint64(handle), ctypes.c_void_p(place)
        if what in ("add", "hide"):
            naive.add(handle, place, stream, what == "hide")
            slot = live.st_live_add(table, key, where, stream, what == "add")
            assert slot >= 0
            if what == "hide":
                live.st_live_hide(table, slot)
            continue
        thing = naive.find(handle, place)
        slot = (live.st_live_find if what == "name" else live.st_live_claim)(table, key, where)
        assert live.st_live_name(table, slot, stream) == naive.name(thing, stream)
        if thing is None or what == "name":
            continue
        naive.claim(thing)
        if what == "drop":
            live.st_live_drop(table, slot, stream)
            naive.drop(thing, stream)
        else:
            live.st_live_relink(table, slot)
            naive.relink(thing)
