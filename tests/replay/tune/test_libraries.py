"""Algorithms of both libraries, from control variables that are made up."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from scalatrace.replay.tune.compiled import ControlVariables
from scalatrace.replay.tune.library import OperationRules, TunedSetting
from scalatrace.replay.tune.mpich import Mpich
from scalatrace.replay.tune.openmpi import HAN, OpenMpi
from scalatrace.replay.tune.points import CollectivePoint
from scalatrace.replay.tune.run import rules_of, tunables_of
from scalatrace.replay.tune.selection import ConfirmedUnit
from scalatrace.replay.tune.size_rules import SizeRule, size_rules

OPEN_MPI = "Open MPI v5.0.11, package: ..."


class Variables(dict[str, int]):
    """Control variables with enumerations, descriptions and texts."""

    enumerations: dict[str, dict[str, int]]
    descriptions: dict[str, str]

    def items(self, name: str) -> dict[str, int]:  # type: ignore[override]
        return self.enumerations[name]

    def description(self, name: str) -> str:
        return self.descriptions[name]

    def text(self, name: str) -> str:
        return str(self[name])


def point(op: str, size: int = 4, block: int = 1024, calls: float = 1.0) -> CollectivePoint:
    return CollectivePoint(op, size, block, 1, 0, calls, (tuple(range(size)),), ((0.0,) * size,))


def open_mpi(several_nodes: bool = False, version: str = OPEN_MPI) -> OpenMpi:
    bcast, barrier = "coll_tuned_bcast_algorithm", "coll_tuned_barrier_algorithm"
    variables = Variables({
        bcast: 0, f"{bcast}_segmentsize": 0, f"{bcast}_chain_fanout": 4, f"{bcast}_tree_fanout": 4,
        barrier: 0, "coll_tuned_allreduce_algorithm": 0, HAN: 35, "coll_tuned_priority": 30,
    })  # fmt: skip
    variables.enumerations = {
        bcast: {"ignore": 0, "basic_linear": 1, "chain": 2, "pipeline": 3},
        barrier: {"ignore": 0, "linear": 1, "two_proc": 5},
        "coll_tuned_allreduce_algorithm": {"ignore": 0, "ring": 4},
    }
    return OpenMpi(cast("ControlVariables", variables), version, several_nodes)


def test_open_mpi_has_algorithms_with_segments_and_chains() -> None:
    found = open_mpi().candidates(point("bcast", block=1 << 16))
    assert {(c.name, c.segment, c.fanout) for c in found} == {
        ("basic_linear", 0, 0),
        *(("chain", segment, 2) for segment in (0, 4096, 32768)),
        *(("pipeline", segment, 0) for segment in (0, 4096, 32768)),
    }
    [chain] = [c for c in found if (c.name, c.segment) == ("chain", 4096)]
    assert dict(chain.settings) == {
        "coll_tuned_bcast_algorithm": 2,
        "coll_tuned_bcast_algorithm_segmentsize": 4096,
        "coll_tuned_bcast_algorithm_tree_fanout": 2,
        "coll_tuned_bcast_algorithm_chain_fanout": 2,
    }
    assert chain.label == "chain (segments of 4096 B, fan-out 2)"


@pytest.mark.parametrize(("size", "names"), [(2, {"linear", "two_proc"}), (3, {"linear"})])
def test_open_mpi_has_algorithms_for_two_ranks(size: int, names: set[str]) -> None:
    assert {c.name for c in open_mpi().candidates(point("barrier", size))} == names


def test_open_mpi_has_no_algorithms_of_other_operations() -> None:
    assert open_mpi().candidates(point("gather")) == ()


def test_open_mpi_lowers_han_on_several_nodes_for_all_operations_together() -> None:
    library = open_mpi(several_nodes=True)
    assert all((HAN, 0) in c.settings for c in library.candidates(point("bcast")))
    fallback = library.fallback("bcast")
    assert fallback is not None
    assert fallback.settings == ((HAN, 0),)
    tunables = tunables_of([point("bcast"), point("barrier")], library, set())
    assert {t.scope for t in tunables} == {"all"}
    assert library.variables([], Path("/r"))[f"OMPI_MCA_{HAN}"] == "0"
    assert [open_mpi().fallback("bcast"), open_mpi().lowers_han] == [None, False]


def test_open_mpi_6_gets_json() -> None:
    rules = [OperationRules("bcast", {4: size_rules({8: TunedSetting("chain", 2, ())})})]
    assert open_mpi(version="Open MPI v6.0.0, ...").text(rules, ["x"]).startswith("{")
    assert open_mpi().text(rules, ["x"]).startswith("# x\n1 # operations\n")


def test_reductions_of_the_program_keep_the_default_where_rules_would_change_them() -> None:
    [tunable] = tunables_of([point("allreduce")], open_mpi(), {"Allreduce"})
    assert tunable.candidates == ()
    [tunable] = tunables_of([point("allreduce")], open_mpi(), {"Reduce"})
    assert [c.name for c in tunable.candidates] == ["ring"]


def test_sizes_of_one_operation_have_rules_of_their_own_or_one_together() -> None:
    points = [point("barrier"), point("bcast", block=8), point("bcast", block=1 << 16)]
    tunables = tunables_of(points, open_mpi(), set())
    assert [(t.unit.op, len(t.unit.points)) for t in tunables] == [("barrier", 1), ("bcast", 1), ("bcast", 1)]
    best = [t.candidates[0] for t in tunables]
    gains = (True, False, True)
    units = [
        ConfirmedUnit(t.unit, c, (1.0,), (1.0,), 1, g) for t, c, g in zip(tunables, best, gains, strict=True)
    ]
    barrier, bcast = rules_of(tunables, units, open_mpi())
    assert barrier == OperationRules("barrier", {4: (SizeRule(0, best[0]),)})
    assert bcast.by_ranks[4] == (SizeRule(0, None), SizeRule(1 << 14, best[2]), SizeRule((1 << 18) + 1, None))


ABOUT = """Variable to select algorithm
auto - Internal algorithm selection (can be overridden with a file)
nb                       - Force nonblocking algorithm
smp                      - Force smp algorithm
ring                     - Force ring algorithm
recexch                  - Force generic transport recursive exchange algorithm
new                      - Force an algorithm that the file does not know"""


def mpich(folder: Path, several_nodes: bool = False) -> Mpich:
    stem = "MPIR_CVAR_ALLREDUCE"
    variables = Variables({
        f"{stem}_INTRA_ALGORITHM": 0, f"{stem}_DEVICE_COLLECTIVE": 1, f"{stem}_RECEXCH_KVAL": 2,
        f"{stem}_RECEXCH_SINGLE_PHASE_RECV": 0, "MPIR_CVAR_COLLECTIVE_FALLBACK": 2,
    })  # fmt: skip
    variables.descriptions = {
        f"{stem}_INTRA_ALGORITHM": ABOUT,
        "MPIR_CVAR_COLLECTIVE_FALLBACK": "What to do\nerror - ends\nprint - says so\nsilent - nothing",
    }
    names = ("allcomm_nb", "intra_smp", "intra_ring", "intra_recexch")
    strings = b"".join(f"algorithm=MPIR_Allreduce_{name}\0".encode() for name in names)
    library = folder / "libmpi.so"
    library.write_bytes(
        b'..{"collective=allreduce": {"comm_type=intra": {"algorithm=MPIR_Allreduce_intra_ring": {}}}}\0'
        + strings
    )
    return Mpich(cast("ControlVariables", variables), "MPICH Version:\t5.0.2\n", several_nodes, library)


def test_mpich_has_the_algorithms_that_its_file_knows(tmp_path: Path) -> None:
    found = mpich(tmp_path).candidates(point("allreduce"))
    assert [(c.name, c.number, c.fanout) for c in found] == [
        ("nb", 1, 0),
        ("ring", 3, 0),
        ("recexch", 4, 2),
        ("recexch", 4, 4),
    ]
    assert found[3].parameters == ("k=4", "single_phase_recv=0")
    assert dict(found[3].settings) == {
        "MPIR_CVAR_ALLREDUCE_DEVICE_COLLECTIVE": 0,
        "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": 4,
        "MPIR_CVAR_COLLECTIVE_FALLBACK": 0,
        "MPIR_CVAR_ALLREDUCE_RECEXCH_KVAL": 4,
    }


def test_mpich_has_algorithms_within_nodes_where_there_are_several(tmp_path: Path) -> None:
    assert "smp" in {c.name for c in mpich(tmp_path, several_nodes=True).candidates(point("allreduce"))}


def test_mpich_decides_by_operation(tmp_path: Path) -> None:
    library = mpich(tmp_path)
    [tunable] = tunables_of([point("allreduce")], library, {"Allreduce"})
    assert tunable.scope == "allreduce"
    assert len(tunable.candidates) == 4  # its rules do not apply to operations of the program
    assert library.name == "MPICH 5.0.2"
