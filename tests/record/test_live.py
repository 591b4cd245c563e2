"""Ages of live things (live.c), against a list: compiled alone and driven through ctypes."""

from __future__ import annotations

import ctypes
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
    sources = [PMPI / "live.c", PMPI / "handles.c"]
    # The inline functions of shim.h refer to the rest of the shim, which is not here.
    flags = ["-shared", "-fPIC", "-std=gnu11", "-O2", "-Wl,-z,lazy", f"-I{CORE}", f"-I{PMPI}"]
    run([openmpi.mpicc, *flags, "-o", library, *sources], env=openmpi.environment()).check()
    loaded = ctypes.CDLL(str(library), mode=ctypes.RTLD_LOCAL)
    loaded.st_live_age.restype = ctypes.c_int64
    return loaded


class Naive:
    """Living things in order of creation, and the order in which each handle's came to be looked up."""

    def __init__(self) -> None:
        self.order: list[int] = []  # of those with an age
        self.chains: dict[int, list[tuple[int, int]]] = {}
        self.born = 0

    def add(self, handle: int, place: int, hidden: bool) -> None:
        if not hidden:
            self.order.append(self.born)
        self.chains.setdefault(handle, []).append((self.born, place))
        self.born += 1

    def find(self, handle: int, place: int) -> tuple[int, int] | None:
        chain = self.chains.get(handle, [])
        return next((thing for thing in chain if thing[1] == place), chain[0] if chain else None)

    def age(self, thing: tuple[int, int] | None) -> int:
        if thing is None or thing[0] not in self.order:
            return UNDEFINED
        return len(self.order) - 1 - self.order.index(thing[0])


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
        naive.chains[handle].remove(thing)
        if what == "drop":
            live.st_live_drop(table, slot)
            if thing[0] in naive.order:
                naive.order.remove(thing[0])
        else:
            live.st_live_relink(table, slot)
            naive.chains[handle].append(thing)
