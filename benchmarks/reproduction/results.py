"""Measure studies; write the files of each and the page as soon as it is complete."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from benchmarks.reproduction.figure import Study
from benchmarks.reproduction.machine import Busy, facts
from benchmarks.reproduction.page import COMPARED, compared, page
from benchmarks.reproduction.settings import Settings
from benchmarks.reproduction.store import Run, Store
from benchmarks.table import printed, show
from scalatrace.files import write_file
from support.mpis import Mpi

__all__ = ["INTERRUPTED", "Results"]

INTERRUPTED = 130
"""Exit status of a run that was interrupted."""


class Results:
    """RESULTS.md in a folder, with CSV files and plots in results/reproduction below it.

    Args:
        studies: all that the page may show.
    """

    def __init__(self, folder: Path, studies: Sequence[Study]) -> None:
        self.folder, self.studies = folder, studies
        self.store = Store(folder / "results" / "reproduction")

    def measure(self, mpi: Mpi, chosen: Sequence[Study], settings: Settings) -> int:
        """Measure studies one after the other; return the exit status.

        A study that fails (status 1) or is interrupted (INTERRUPTED) keeps its earlier results. The other
        studies are measured in spite of a failure.
        """
        machine, failed = facts(mpi), []
        for study in chosen:
            print(f"\n{study.name}: {', '.join(study.columns)}", flush=True)
            try:
                self._measure(mpi, study, settings, machine)
            except KeyboardInterrupt:
                print(f"interrupted during {study.name}; studies before it are kept", file=sys.stderr)
                return INTERRUPTED
            except Exception:
                traceback.print_exc()
                failed.append(study.name)
        if failed:
            print(f"failed: {', '.join(failed)}", file=sys.stderr)
        return int(bool(failed))

    def _measure(self, mpi: Mpi, study: Study, settings: Settings, machine: dict[str, str]) -> None:
        clock, today = Busy(), date.today().isoformat()
        rows = [study.row(cells) for cells in printed(study.measure(mpi, settings))]
        self.store.save(study, rows, Run(today, settings.name, clock.elapsed_s, clock.others(), machine))
        self.render([study])
        for figure in study.figures:
            if mine := figure.rows(rows):
                show(f"Figure {figure.number}: {figure.title}", COMPARED, compared(figure, mine))

    def render(self, chosen: Sequence[Study]) -> None:
        """Draw the plots of studies, and write the page, from stored rows."""
        for study in chosen:
            rows, _ = self.store.load(study) or ([], None)
            for figure in study.figures:
                if figure.plot and (mine := figure.rows(rows)):
                    figure.plot(mine, self.store.plot(figure.number))
        write_file(self.folder / "RESULTS.md", page(self.studies, self.store, self.folder).encode())
