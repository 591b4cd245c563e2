"""List what is proved of the formulas of each program: that calls of all ranks fit together, on all sizes.

The traces are those of the samples, or PROGRAM.RANKS.st of a folder. Of each program the smallest four with a
model are used.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

from benchmarks.extrapolate.subsets import ProgramTraces, given_programs
from benchmarks.study import Study
from benchmarks.table import ResultTable, Row, verdict
from scalatrace import load
from scalatrace.cli.extrapolation import note_inputs
from scalatrace.errors import ScalatraceError
from scalatrace.extrap.extrapolate import model_of
from scalatrace.extrap.grid.plugins import load_plugins
from scalatrace.extrap.proofs.prove import Proofs, prove_model
from scalatrace.trace.model.symbolic import SymbolicTrace
from support.programs import SAMPLES

COLUMNS = ("program", "traces", "sizes", "calls", "proved", "fit, s", "proof, s", "what was not proved")


TRACES = (4, 3)
"""So many traces are tried, in this order."""


def _model(program: ProgramTraces) -> tuple[tuple[int, ...], SymbolicTrace | None, str]:
    """The first model that the smallest traces have, and their sizes; else why there is none."""
    sizes: tuple[int, ...] = ()
    reason = "too few traces"
    for sizes in _subsets(sorted(program.traces)):
        traces = [load(program.traces[nprocs]) for nprocs in sizes]
        note_inputs(traces, program.inputs)
        try:
            return sizes, model_of(traces)[1], ""
        except ScalatraceError as error:
            reason = str(error).splitlines()[0].replace(f"{SAMPLES}/", "")
    return sizes, None, reason[:160]


def _subsets(sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    for count in TRACES:
        yield from list(combinations(sizes, count))[:2]


def _proved(proofs: Proofs, fit_s: float) -> list[str]:
    """The cells on a model."""
    reasons: dict[str, int] = {}
    for one in proofs.open:
        text = f"wrong on {one.grid}: {one.reason}" if one.grid else one.reason.partition(" (")[0]
        reasons[text] = reasons.get(text, 0) + 1
    common = "; ".join(f"{n} x {reason}" if n > 1 else reason for reason, n in list(reasons.items())[:3])
    return [
        proofs.sizes,
        str(proofs.calls),
        str(proofs.proved),
        f"{fit_s:.1f}",
        f"{proofs.seconds:.1f}",
        common,
    ]


def _rows(args: argparse.Namespace) -> Iterator[Row]:
    with given_programs(args, targets=False) as programs:
        for program in programs:
            load_plugins([SAMPLES / program.plugin] if program.plugin else [])
            began = time.monotonic()
            sizes, model, reason = _model(program)
            fit_s = time.monotonic() - began
            head = [program.name, " ".join(map(str, sizes))]
            if model is None:
                yield [*head, "", "", "", f"{fit_s:.1f}", "", f"refused: {reason}"]
                continue
            yield [*head, *_proved(prove_model(model, args.seconds), fit_s)]


def _verdicts(rows: Sequence[Row]) -> list[str]:
    wrong = [row[0] for row in rows if row[-1].startswith("wrong")]
    return [verdict(not wrong, "; ".join(["no formula is refuted", *wrong]))]


def _tables(args: argparse.Namespace) -> Iterator[ResultTable]:
    title = "Calls that are proved to fit together on all sizes"
    yield ResultTable("extrapolate_proofs", title, COLUMNS, _rows(args), judge=_verdicts)


STUDIES = (
    Study(
        "proofs",
        "calls that are proved to fit together on all sizes",
        "docs/guide/extrapolate.md",
        _tables,
        {"folder": None, "traces": Path, "only": [], "inputs": [], "seconds": 60.0},
        {"only": ["ring"]},
    ),
)
