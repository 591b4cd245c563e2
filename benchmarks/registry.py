"""Names of all studies, and the modules whose STUDIES they are.

Only the module of a study that runs is imported: others would add to the memory that it measures.
"""

from __future__ import annotations

from importlib import import_module

from benchmarks.study import Study

MODULES: dict[str, tuple[str, ...]] = {
    "reproduction.command": ("reproduction",),
    "record.size": ("size",),
    "record.overhead": ("overhead",),
    "record.peers": ("peers",),
    "record.debian": ("debian",),
    "record.workloads": ("workloads", "workloads-options"),
    "record.merge_scale": ("merge-scale",),
    "record.limits": ("limits",),
    "record.kills": ("kills",),
    "replay": ("replay-accuracy", "replay-real", "replay-speed", "replay-engines", "replay-seeds"),
    "generate.correct": ("generate-correct", "generate-size"),
    "generate.times": (
        "generate-timing", "generate-scalable", "generate-computation", "generate-collectives",
    ),
    "extrapolate.compared": ("extrapolate", "extrapolate-cost"),
    "extrapolate.replayed": ("extrapolate-replayed",),
    "extrapolate.subsets": ("subsets", "idle-inputs"),
    "extrapolate.proofs": ("proofs",),
    "extrapolate.random_programs": ("random-rules", "closed-loop"),
    "predict.algorithms": ("simulate-algorithms",),
    "predict.contention": ("simulate-contention", "simulate-contention-traces"),
    "predict.drawn": ("simulate-noise",),
    "predict.hpl": (
        "hpl-factors", "hpl-grids", "hpl-scale", "hpl-noise", "hpl-eviction", "hpl-nodes", "hpl-switches"
    ),
    "predict.hpl_real": ("hpl-real",),
    "predict.imports": ("imports",),
    "predict.many": ("simulate-study",),
    "predict.matrix_values": ("matrix-values",),
    "predict.simulate": ("simulate-speed", "simulate-simgrid", "simulate-tolerance"),
    "predict.partitioned": ("partitioned", "partitioned-here"),
    "predict.predictions": ("predictions", "hpcc"),
    "predict.regress": ("regress-here", "regress", "regress-campaigns"),
    "predict.variability": ("variability-programs", "variability"),
    "report": ("report",),
    "tune": ("tune",),
}  # fmt: skip
NAMES = {name: module for module, names in MODULES.items() for name in names}


def find_study(name: str) -> Study:
    """Import the study of this name."""
    studies: tuple[Study, ...] = import_module(f"benchmarks.{NAMES[name]}").STUDIES
    return next(study for study in studies if study.name == name)
