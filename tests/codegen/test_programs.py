"""Generated programs, run and recorded: on every rank the events of the application's trace (§4.5.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from pathlib import Path

import pytest

from scalatrace import Trace, load, save
from scalatrace.codegen.generate import GenerateOptions, generate
from support.builder import Builder, Comm
from support.generated import compiled
from support.mpis import Mpi
from support.programs import COMPILED_SAMPLES, PYTHON_SAMPLES, Sample
from support.running import mpirun, record, scalatrace
from support.substituted import differing
from support.workloads import WORKLOADS

pytestmark = pytest.mark.mpi
Recorder = Callable[[Mpi, int, Sample], tuple[Path, Path]]
SAMPLES = [
    *(s for s in (*PYTHON_SAMPLES, *COMPILED_SAMPLES) if s.deterministic),
    *(w.of_steps(6) for w in WORKLOADS),
]


def samples(*quick: str) -> pytest.MarkDecorator:
    """Every sample and workload; those named in the quick set."""
    return pytest.mark.parametrize(
        "sample",
        [pytest.param(s, id=s.name, marks=() if _named(s, quick) else pytest.mark.slow) for s in SAMPLES],
    )


def _named(sample: Sample, quick: Collection[str]) -> bool:
    return any(sample.name.startswith(name) for name in quick)


@samples("pickled", "coupled")
def test_c_does_what_the_application_did(
    openmpi: Mpi, sample: Sample, recorded: Recorder, tmp_path: Path
) -> None:
    trace, _ = recorded(openmpi, 4, sample)
    source, again = tmp_path / "bench.c", tmp_path / "again.st"
    source.write_text(generate(load(trace), "c", GenerateOptions(compute_scale=0.01)).text)
    record(openmpi, 4, [compiled(openmpi, source)], again, timeout=120).check()
    scalatrace(openmpi, "diff", trace, again, "--ignore", "callsites,times").check()


@samples("heat.c")
def test_python_does_what_the_application_did(
    openmpi: Mpi, sample: Sample, recorded: Recorder, tmp_path: Path
) -> None:
    trace, _ = recorded(openmpi, 4, sample)
    source, again = tmp_path / "bench.py", tmp_path / "again.st"
    source.write_text(generate(load(trace), "python", GenerateOptions(compute_scale=0.01)).text)
    record(openmpi, 4, [str(openmpi.python), source], again, timeout=120).check()
    scalatrace(openmpi, "diff", trace, again, "--ignore", "callsites,times").check()


def test_ranks_that_do_not_lead_their_group(openmpi: Mpi, recorded: Recorder, tmp_path: Path) -> None:
    """On 6 ranks a component has more ranks than its leader: these have no communicator to the others."""
    coupled = next(w for w in WORKLOADS if w.title == "coupled").of_steps(3)
    trace, _ = recorded(openmpi, 6, coupled)
    source, again = tmp_path / "bench.py", tmp_path / "again.st"
    source.write_text(generate(load(trace), "python", GenerateOptions(compute_scale=0.01)).text)
    record(openmpi, 6, [str(openmpi.python), source], again, timeout=120).check()
    scalatrace(openmpi, "diff", trace, again, "--ignore", "callsites,times").check()


@samples("pickled", "heat.c")
def test_conceptual_communicates_as_the_application_did(
    openmpi: Mpi, sample: Sample, recorded: Recorder, tmp_path: Path
) -> None:
    """Accepted for that many tasks, run, recorded: messages and (after Table 4.1) collectives are equal."""
    path, _ = recorded(openmpi, 4, sample)
    app, source, again = load(path), tmp_path / "bench.ncptl", tmp_path / "again.st"
    source.write_text(generate(app, "conceptual", GenerateOptions(compute_scale=0.01)).text)
    scalatrace(openmpi, "ncptl", "check", "-n", "4", source).check()
    record(openmpi, 4, [*openmpi.scalatrace(), "ncptl", "run", source], again, timeout=120).check()
    assert differing(app, load(again)) == []


@samples("pickled")
def test_c_under_mpich(openmpi: Mpi, mpich: Mpi, sample: Sample, recorded: Recorder, tmp_path: Path) -> None:
    trace, _ = recorded(openmpi, 4, sample)
    source = tmp_path / "bench.c"
    source.write_text(generate(load(trace), "c", GenerateOptions(compute_scale=0.01)).text)
    shown = mpirun(mpich, 4, [compiled(mpich, source), "--profile"], cwd=tmp_path, timeout=60).check().stdout
    assert shown.split()[:4] == ["operation", "calls", "bytes", "seconds"]


def test_the_wrong_number_of_ranks_is_refused(openmpi: Mpi, recorded: Recorder, tmp_path: Path) -> None:
    trace, _ = recorded(openmpi, 4, PYTHON_SAMPLES[0])
    source = tmp_path / "bench.c"
    source.write_text(generate(load(trace), "c").text)
    finished = mpirun(openmpi, 3, [compiled(openmpi, source)], timeout=60)
    assert finished.returncode == 2
    assert "for 4 ranks, not for 3" in finished.stderr


def world_messages(trace: Trace, rank: int) -> Counter[tuple[int, int]]:
    """What a rank sends: to whom of MPI_COMM_WORLD, how many bytes."""
    result: Counter[tuple[int, int]] = Counter()
    for call in trace.walk(rank):
        if call.op in ("Send", "Isend", "Sendrecv") and call["dest"] >= 0:
            names = ("sendcount", "sendtype") if call.op == "Sendrecv" else ("count", "datatype")
            result[call.comm.peers[call["dest"]], call[names[0]] * call[names[1]].size] += 1
    return result


@pytest.mark.parametrize("language", ["c", pytest.param("python", marks=pytest.mark.slow)])
@pytest.mark.parametrize("arguments", [(), ("--cart",)], ids=str)
def test_absolute_ranks_send_the_same(
    openmpi: Mpi, recorded: Recorder, language: str, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    path, _ = recorded(openmpi, 4, Sample("subcomms.py", arguments))
    app, again = load(path), tmp_path / "again.st"
    source = tmp_path / f"bench{'.c' if language == 'c' else '.py'}"
    source.write_text(generate(app, language, GenerateOptions(compute_scale=0, absolute_ranks=True)).text)
    argv = [compiled(openmpi, source)] if language == "c" else [str(openmpi.python), source]
    record(openmpi, 4, argv, again, timeout=60).check()
    made = load(again)
    assert {call.op for call in made.walk(0) if call.op.startswith("Comm_")} <= {"Comm_split"}
    for rank in range(4):
        assert world_messages(made, rank) == world_messages(app, rank)


def test_ft_is_a_page_of_conceptual(openmpi: Mpi, recorded: Recorder) -> None:
    trace, _ = recorded(openmpi, 4, next(w for w in WORKLOADS if w.title == "ft").of_steps(6))
    made = generate(load(trace), "conceptual")
    assert made.lines <= 30
    assert "REDUCE 4 INTEGERS TO TASK 0" in made.text
    assert "FOR EACH i1 IN {0, ..., 5} {" in made.text


def test_the_command_writes_all_or_nothing(openmpi: Mpi, recorded: Recorder, tmp_path: Path) -> None:
    trace, _ = recorded(openmpi, 4, PYTHON_SAMPLES[0])
    made = tmp_path / "bench.ncptl"
    shown = scalatrace(openmpi, "generate", trace, "--to", "conceptual", "-o", made, "--json").check().stdout
    assert f'"lines": {made.read_text().count(chr(10))}' in shown
    b = Builder(2)
    save(b.of(b.event("Win_create_dynamic", comm=Comm(), win=0)), tmp_path / "dynamic.st")
    refused = scalatrace(
        openmpi, "generate", tmp_path / "dynamic.st", "--to", "conceptual", "-o", tmp_path / "no.ncptl"
    )
    assert refused.returncode == 1
    assert refused.stderr
    assert not (tmp_path / "no.ncptl").exists()
    assert scalatrace(openmpi, "generate", trace, "--to", "fortran").returncode == 2


def test_c_without_datatypes_has_no_table_of_them(openmpi: Mpi, tmp_path: Path) -> None:
    """A table that nothing uses would be a warning."""
    b = Builder(2)
    trace = b.of(
        b.event("Win_create", size=8, disp_unit=1, comm=Comm(), win=0),
        b.event("Win_lock_all", **{"assert": "0"}, comm=Comm(), win=0),
        b.event("Win_unlock_all", comm=Comm(), win=0),
        b.event("Win_free", comm=Comm(), win=0),
    )
    source = tmp_path / "bench.c"
    source.write_text(generate(trace, "c").text)
    assert "types[" not in source.read_text()
    compiled(openmpi, source)
