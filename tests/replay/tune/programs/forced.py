"""Measure Allgather on three ranks: by default, by an algorithm for other numbers, by all, and again."""

import json
import os
import sys

from scalatrace.replay.tune.library import DYNAMIC, TunedSetting

os.environ[DYNAMIC] = "1"
from mpi4py import MPI

from scalatrace.compilers.elf import loaded_mpi
from scalatrace.replay.tune.campaign import MeasuringRank
from scalatrace.replay.tune.compiled import ControlVariables, TimedCollectives
from scalatrace.replay.tune.mpich import Mpich
from scalatrace.replay.tune.openmpi import OpenMpi
from scalatrace.replay.tune.points import CollectivePoint
from scalatrace.replay.tune.selection import RejectedError

comm, version = MPI.COMM_WORLD, MPI.Get_library_version()
variables = ControlVariables(comm.rank == 0)
point = CollectivePoint("allgather", 3, 512, 1, 0, 1.0, ((2, 0, 1),), ((0.0, 1e5, 0.0),))
if version.startswith("Open MPI"):
    library = OpenMpi(variables, version, False)
    stem = "coll_tuned_allgather_algorithm"
    number = variables.items(stem)["two_proc"]
    wrong = TunedSetting("two_proc", number, ((stem, number),))
else:
    library = Mpich(variables, version, False, loaded_mpi())
    stem = "MPIR_CVAR_ALLGATHER_INTRA_ALGORITHM"
    [wrong] = [c for c in library.candidates(point) if c.name == "recursive_doubling"]
before = variables[stem]
rank = MeasuringRank(comm, [point], library, variables, TimedCollectives([point], comm.size))
if comm.rank:
    rank.serve()
else:
    outcomes = {"default": rank.measure(point, None)}
    for candidate in [wrong, *(c for c in library.candidates(point) if c != wrong)]:
        try:
            outcomes[candidate.label] = rank.measure(point, candidate)
        except RejectedError:
            outcomes[candidate.label] = "rejected"
    outcomes["again"] = rank.measure(point, None)
    rank.end()
    json.dump({"wrong": wrong.label, "outcomes": outcomes, "restored": variables[stem] == before}, sys.stdout)
