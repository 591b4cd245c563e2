"""What is proved of the formulas of each program: that calls of all ranks fit together, on all sizes.

python -m benchmarks.extrapolate.proofs FOLDER [--only lu ...] [--inputs lu.W:n=33 ...] [--keep]
python -m benchmarks.extrapolate.proofs [--only lu ...] [--traces FOLDER]     the samples, recorded first

A folder has traces named PROGRAM.RANKS.st; of each program the smallest four with a model are used.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

from benchmarks.extrapolate.study import Program, programs_in, samples
from benchmarks.table import keep, printed, show
from scalatrace import load
from scalatrace.cli.extrapolation import note_inputs
from scalatrace.errors import ScalatraceError
from scalatrace.extrap.extrapolate import model_of
from scalatrace.extrap.grid.model import Model
from scalatrace.extrap.grid.plugins import load_plugins
from scalatrace.extrap.proofs.prove import Proofs, prove_model
from support.programs import SAMPLES

COLUMNS = ("program", "traces", "sizes", "calls", "proved", "fit, s", "proof, s", "what was not proved")
TRACES = (4, 3)
"""So many traces are tried, in this order."""


def main() -> int:
    """Prove, show, keep; 1 when something is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", help="of recorded traces")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="of the programs, by how they begin")
    parser.add_argument("--inputs", nargs="+", default=[], metavar="PROGRAM:N=V", help="parameters")
    parser.add_argument("--traces", type=Path, metavar="FOLDER", help="of the samples' recorded traces")
    parser.add_argument("--seconds", type=float, default=60.0, metavar="S", help="for a program (default 60)")
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/extrapolate_proofs.md")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        recorded = args.traces or Path(temporary)
        recorded.mkdir(parents=True, exist_ok=True)
        found = samples(recorded, args.only) if args.folder is None else programs_in(args.folder, args.inputs)
        chosen = (p for p in found if not args.only or any(p.name.startswith(name) for name in args.only))
        title = "Calls that are proved to fit together on all sizes"
        rows = list(printed(_rows(chosen, args.seconds)))
    show(title, COLUMNS, rows)
    if args.keep:
        keep("extrapolate_proofs", title, COLUMNS, rows)
    return int(any(row[-1].startswith("wrong") for row in rows))


def _rows(programs: Iterator[Program], seconds: float) -> Iterator[list[str]]:
    for program in programs:
        load_plugins([SAMPLES / program.plugin] if program.plugin else [])
        began = time.monotonic()
        sizes, model, reason = _model(program)
        fit_s = time.monotonic() - began
        head = [program.name, " ".join(map(str, sizes))]
        if model is None:
            yield [*head, "", "", "", f"{fit_s:.1f}", "", f"refused: {reason}"]
            continue
        yield [*head, *_proved(prove_model(model, seconds), fit_s)]


def _model(program: Program) -> tuple[tuple[int, ...], Model | None, str]:
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
    said = "; ".join(f"{n} x {reason}" if n > 1 else reason for reason, n in list(reasons.items())[:3])
    return [
        proofs.sizes,
        str(proofs.calls),
        str(proofs.proved),
        f"{fit_s:.1f}",
        f"{proofs.seconds:.1f}",
        said,
    ]


if __name__ == "__main__":
    sys.exit(main())
