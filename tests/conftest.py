"""Fixtures for all tests: the MPIs of this machine and the traces of the samples."""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from support.mpis import Mpi, installed
from support.programs import Sample, Workshop
from support.running import record

Recorder = Callable[[Mpi, int, Sample], tuple[Path, Path]]

# Tests count work, not seconds: they pass on a busy machine, too. Quick tests try the same programs in each
# run, so that a failure is of the change; `make test-all` draws new ones, twice as many.
settings.register_profile(
    "random", settings.default, deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("repeatable", settings.get_profile("random"), derandomize=True, max_examples=30)
settings.load_profile("repeatable")


LONG = Path(__file__).with_name("long.txt")
"""Tests that take longer than others, by measured times."""

ON_EVERY_MPI = {
    "test_launch": ("",),
    "test_fixed_point": ("no_trace",),
    "test_samples": ("pickled.py", "subcomms.py", "heat.c", "transpose.F90]"),
    "test_families": ("communicators.c", "mpi4.c", "bindings08.f90", "completion_events"),
}
"""Modules and parts of names of the quick tests that run under MPICH and the distribution's MPI, too.

Others run there among the slow tests."""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None]:
    """Mark what `long.txt` lists as long, and what hardly depends on the MPI as slow but for Open MPI.

    What starts MPI comes first. Of three workers the first begins with the first third, so the others
    compute while ranks wait. A worker that has finished takes tests from the end of another's.
    """
    listed = set(LONG.read_text().splitlines())
    for item in items:
        if not listed.isdisjoint((item.nodeid, item.nodeid.partition("[")[0])):
            item.add_marker(pytest.mark.long)
        params = getattr(item, "callspec", None)
        values = {value for value in params.params.values() if isinstance(value, str)} if params else set()
        if not values & {"mpich", "debian-openmpi"}:
            continue
        if not any(name in item.name for name in ON_EVERY_MPI.get(item.path.stem, ())):
            item.add_marker(pytest.mark.slow)
    yield
    items.sort(key=lambda item: item.get_closest_marker("mpi") is None)


@pytest.fixture(scope="session")
def mpis() -> dict[str, Mpi]:
    """The MPIs found, by name."""
    return installed()


@pytest.fixture(scope="session")
def openmpi(mpis: dict[str, Mpi]) -> Mpi:
    """Open MPI with mpi4py."""
    return _wanted(mpis, "openmpi")


@pytest.fixture(scope="session")
def mpich(mpis: dict[str, Mpi]) -> Mpi:
    """MPICH with mpi4py."""
    return _wanted(mpis, "mpich")


@pytest.fixture(params=["openmpi", "mpich"], scope="session")
def mpi(request: pytest.FixtureRequest, mpis: dict[str, Mpi]) -> Mpi:
    """Both MPIs with mpi4py, one after the other."""
    return _wanted(mpis, request.param)


@pytest.fixture(params=["openmpi", pytest.param("mpich", marks=pytest.mark.slow)], scope="session")
def openmpi_first(request: pytest.FixtureRequest, mpis: dict[str, Mpi]) -> Mpi:
    """Both MPIs with mpi4py, MPICH only among the slow tests: for what hardly depends on the MPI."""
    return _wanted(mpis, request.param)


@pytest.fixture(
    params=["openmpi", "mpich", "debian-openmpi", pytest.param("debian-mpich", marks=pytest.mark.slow)],
    scope="session",
)
def any_mpi(request: pytest.FixtureRequest, mpis: dict[str, Mpi]) -> Mpi:
    """Every MPI, those without mpi4py too."""
    return _wanted(mpis, request.param)


def _wanted(mpis: dict[str, Mpi], name: str) -> Mpi:
    if name not in mpis:
        pytest.skip(f"no {name} on this machine")
    return mpis[name]


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """Makes samples runnable."""
    return Workshop(tmp_path_factory.mktemp("programs"), pytest.skip)


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory, workshop: Workshop) -> Recorder:
    """recorded(mpi, nprocs, sample) -> (trace, folder of its flat logs); each recorded once per session."""
    made: dict[tuple[str, int, Sample], tuple[Path, Path]] = {}

    def make(mpi: Mpi, nprocs: int, sample: Sample) -> tuple[Path, Path]:
        key = (mpi.name, nprocs, sample)
        if key not in made:
            folder = tmp_path_factory.mktemp("recorded")
            trace, logs = folder / "a.st", folder / "logs"
            command = workshop.command(mpi, sample)
            record(mpi, nprocs, command, trace, options=["--flat-log", logs], timeout=300).check()
            made[key] = trace, logs
        return made[key]

    return make
