"""The time of scalable benchmarks at sizes between and beyond those of the traces (§4.4.5)."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.errors import errors_within
from benchmarks.generate.programs import LANGUAGES, SUFFIXES, NotMadeError, checked
from benchmarks.generate.runs import cells_of, seconds
from benchmarks.replay.runs import Pace, Pacing, app_s, equal_arguments, recorded
from scalatrace.trace.symbolic.grid import balanced
from support.mpis import Mpi
from support.programs import Sample
from support.running import scalatrace

COLUMNS = (
    "program", "inputs", "ranks", "asleep, ms", "steps", "app, s",
    "C, s", "error", "Python, s", "error", "coNCePTuaL, s", "error",
)  # fmt: skip
LIMITS = dict.fromkeys(LANGUAGES, 0.06)


@dataclass(frozen=True)
class Case:
    """A program, the ranks of the traces that its benchmark is made of, and those that this runs on.

    Attributes:
        title: as the table calls it.
        source, options: in samples/; without time steps.
        n: problem size that its counts follow, noted as a parameter; 0: they follow none.
        weak: each rank computes as much whatever their number; else all together do.
        sides: dimensions of its grid of ranks.
    """

    title: str
    source: str
    options: tuple[str, ...]
    inputs: tuple[int, ...]
    targets: tuple[int, ...]
    n: int = 0
    weak: bool = False
    sides: int = 2

    def of_steps(self, steps: int) -> Sample:
        """The sample with so many time steps."""
        return Sample(self.source, (*self.options, "--steps", str(steps)))

    def head(self, nprocs: int) -> list[str]:
        """The first cells of its row on so many ranks."""
        return [self.title, ", ".join(map(str, self.inputs)), str(nprocs)]

    def noted(self) -> list[str]:
        """Options of the recorder."""
        return ["--param", f"n={self.n}"] if self.n else []

    def slept_us(self, pace: Pace, nprocs: int) -> int:
        """How long a computation sleeps on so many ranks."""
        most = max(*self.inputs, *self.targets)
        return pace.sleep_us if self.weak else pace.sleep_us * most // nprocs

    def grid(self, nprocs: int) -> list[str]:
        """What tells a coNCePTuaL benchmark its sides."""
        sizes = balanced(nprocs, self.sides) if self.sides > 1 else ()
        return [word for name, size in zip("xyz", sizes, strict=False) for word in (f"--{name}", str(size))]


PLANES = (9, 12, 16, 25), (20, 30)
SQUARES = (16, 25, 49), (36, 64)
CASES = (
    Case("bt", "npb/bt.py", ("--size", "16"), *SQUARES, n=16, weak=True),
    Case("sp", "npb/sp.py", ("--size", "16"), *SQUARES, n=16, weak=True),
    Case("ep", "npb/ep.py", ("--size", "32"), (4, 6, 12), (8, 24), sides=1),
    Case("ft", "npb/ft.py", ("--size", "48"), (4, 6, 9, 16), (12, 24), n=48),
    Case("lu", "npb/lu.py", ("--size", "8"), *PLANES, n=8),
    Case("sweep3d", "sweep3d.py", ("--size", "2"), *PLANES),
    Case("hpl", "hpl.py", ("--size", "2", "--pivots", "next"), (9, 16, 25, 36), (49,)),
)


def lines(
    mpi: Mpi, cases: Sequence[Case], pacing: Pacing, times: int, languages: Collection[str] = LANGUAGES
) -> Iterator[list[str]]:
    """A row per program and number of ranks."""
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            yield from _lines(mpi, case, pacing, times, languages, Path(folder))


def _lines(
    mpi: Mpi, case: Case, pacing: Pacing, times: int, languages: Collection[str], folder: Path
) -> Iterator[list[str]]:
    try:
        pace = pacing.paced(mpi, case.of_steps, (*case.inputs, *case.targets), folder)
        model = _symbolic(mpi, case, pace, folder)
    except (AssertionError, TimeoutError, NotMadeError) as error:
        yield from (_not_run(case, nprocs, error) for nprocs in case.targets)
        return
    texts = {language: _text(mpi, model, language) for language in languages}
    for nprocs in case.targets:
        try:
            yield _line(mpi, case, nprocs, pace, times, texts, folder)
        except (AssertionError, TimeoutError) as error:
            yield _not_run(case, nprocs, error)


def _line(
    mpi: Mpi, case: Case, nprocs: int, pace: Pace, times: int, texts: Mapping[str, str | None], folder: Path
) -> list[str]:
    slept = case.slept_us(pace, nprocs)
    argv, env = equal_arguments(case.of_steps(pace.steps), slept)
    app = statistics.median(app_s(mpi, nprocs, argv, folder, env) for _ in range(times))

    def spent(language: str) -> float:
        if (text := texts[language]) is None:
            raise NotMadeError("refused")
        words = case.grid(nprocs) if language == "conceptual" else []
        return seconds(mpi, nprocs, text, language, folder, times, words)

    cells = cells_of(texts, app, spent)
    return [*case.head(nprocs), f"{slept / 1000:.0f}", str(pace.steps), f"{app:.3f}", *cells]


def _not_run(case: Case, nprocs: int, error: Exception) -> list[str]:
    return [*case.head(nprocs), "-", "-", f"not run: {str(error).splitlines()[0]}", *["-"] * 6]


def _symbolic(mpi: Mpi, case: Case, pace: Pace, folder: Path) -> Path:
    """The symbolic trace of runs on the inputs' ranks. Raises NotMadeError, or as `recorded`."""
    traces, model = [], folder / "app.stx"
    for nprocs in case.inputs:
        argv, env = equal_arguments(case.of_steps(pace.steps), case.slept_us(pace, nprocs))
        traces.append(recorded(mpi, nprocs, argv, folder / f"{nprocs}.st", case.noted(), env).trace)
    checked("extrapolate", lambda: scalatrace(mpi, "extrapolate", *traces, "--symbolic", "-o", model).check())
    return model


def _text(mpi: Mpi, model: Path, language: str) -> str | None:
    """The benchmark as the command makes it; None when it refuses."""
    made = model.with_name(f"scalable{SUFFIXES[language]}")
    done = scalatrace(mpi, "generate", model, "--to", language, "-o", made)
    if done.returncode:
        print(done.stderr.strip())
        return None
    return made.read_text()


def verdicts(rows: Sequence[Sequence[str]]) -> list[str]:
    """Whether the mean absolute errors keep to the limit."""
    return errors_within(LIMITS, rows, COLUMNS.index("app, s") + 2)
