"""Write the seeds in tests/corpus: small inputs of all kinds (`python -m fuzz.seeds`; it runs mpiexec)."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgpack

from fuzz.targets import CORPUS, TESTS
from scalatrace import Trace, extrap
from scalatrace.convert.ranks import RankCalls
from scalatrace.core.binding import COMM_WORLD, Core
from scalatrace.trace.io.reader import load
from scalatrace.trace.io.text import text
from scalatrace.trace.io.writer import save
from scalatrace.trace.model.elastic import Columns, Groups, Summary
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.values.histogram import Bin, Histogram
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG, PROC_NULL, Vec
from support.builder import DOUBLE, Builder, Comm, To, stencil
from support.grids import halo, trace_of, wavefront
from support.snippets import EXAMPLE
from support.traces import OPS

NPROCS = 4
CHAPTERS = (
    "p2p", "completion", "persistent", "partitioned", "vectors", "communicators", "topologies", "datatypes",
    "one_sided", "files",
)  # fmt: skip


def main() -> None:
    """Write all of them."""
    for name, trace in traces():
        save(trace, _path("trace", f"{name}.st"), compress=False)
        _path("text", f"{name}.txt").write_text(text(trace), errors="surrogateescape")
    recorded()
    models()
    for name, cores in parts():
        _path("part", f"{name}.parts").write_bytes(msgpack.packb([core.pack() for core in cores]))
    predicted()
    logs()
    _path("policy", "all.toml").write_text(POLICY)
    _path("snippets", "all.snippets").write_text(EXAMPLE)
    template = TESTS.parent / "samples" / "plugins" / "filter_template.snippets"
    _path("snippets", "template.snippets").write_bytes(template.read_bytes())


def _path(target: str, name: str) -> Path:
    path = CORPUS / target / "seeds" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def traces() -> Iterator[tuple[str, Trace]]:
    """Traces by hand: values of all forms."""
    yield "stencil", stencil()
    yield "values", _values()
    yield "rows", _rows()


def _values() -> Trace:
    """Groups, columns, summaries, loops, wildcards, persistent requests, files and arrays."""
    b = Builder(NPROCS)
    world = RankList.all(NPROCS)
    columns = Columns(world, Vec((5, 6, 8, 9)))
    groups = Groups([(RankList([0, 2]), Vec(((2, 4, 1, 2),))), (RankList([1, 3]), Vec(((0, 1, 7),)))])
    some = Histogram(40, 1000, 3000, 2000, 10, (Bin(40, 1000, 3000, 2000),))
    right, left = To(Encoding.MODULO, Vec(1)), To(Encoding.MODULO, Vec(-1))
    return b.of(
        b.event("Send_init", count=8, datatype=DOUBLE, dest=right, tag=1, comm=Comm()),
        b.loop(
            Vec(3),
            b.event("Start", request=0),
            b.event("Recv", count=8, datatype=DOUBLE, source=ANY_SOURCE, tag=ANY_TAG, comm=Comm()),
            b.event("Wait", request=0, at=("a.c:1:f", "a.c:9:main"), compute=some),
        ),
        b.loop(
            2,
            b.loop(
                Groups([(RankList([0, 1]), Vec((2, 1))), (RankList([2, 3]), Vec(3))]),
                b.event("Isend", count=columns, datatype=DOUBLE, dest=right, tag=groups, comm=Comm()),
                b.event("Irecv", count=columns, datatype=DOUBLE, source=left, tag=groups, comm=Comm()),
                b.event("Waitall", requests=(1, 0)),
            ),
        ),
        b.event("Allreduce", count=Summary(some, 12), datatype=DOUBLE, op="MPI_SUM", comm=Comm()),
        b.event("Alltoallv", sendcounts=(1, 2, 3, 4), sdispls=(0, 1, 3, 6), sendtype=DOUBLE, comm=Comm()),
        b.event("Sendrecv", Vec(2), sendcount=3, sendtype=DOUBLE, dest=PROC_NULL, sendtag=1, comm=Comm()),
        b.event("File_open", comm=Comm(), filename="out.bin", amode="MPI_MODE_RDWR"),
    )


def _rows() -> Trace:
    """Rows of a Comm_split, a duplicate, exclusive-or, and sends and receives within rows."""
    b = Builder(NPROCS)
    rows = b.family("split", (2, 2), (0, 1, 2, 3))
    again = b.family("dup", (2, 2), (1, 0, 3, 2), parent=rows.family)
    partner = To(Encoding.XOR, Vec(1))
    color = Columns(RankList.all(4), Vec((0, 0, 1, 1)))
    return b.of(
        b.event("Comm_split", comm=Comm(), newcomm=rows, color=color, key=0),
        b.event("Comm_dup", comm=rows, newcomm=again),
        b.event("Isend", Vec(5), count=Vec(((5, 2, 1),)), datatype=DOUBLE, dest=partner, tag=3, comm=rows),
        b.event("Recv", Vec(5), count=Vec(((5, 2, 1),)), datatype=DOUBLE, source=partner, tag=3, comm=rows),
        b.event("Bcast", count=1, datatype=DOUBLE, root=0, comm=again),
    )


def recorded() -> None:
    """Record chapters of the MPI standard, and one of them with its flat log."""
    program = TESTS / "replay" / "chapters.py"
    with tempfile.TemporaryDirectory() as folder:
        for chapter in CHAPTERS:
            path = _record(Path(folder), chapter, program, chapter)
            save(_without_paths(load(path)), _path("trace", f"{chapter}.st"), compress=False)
        path = _record(Path(folder), "run", program, "p2p", flat=True)
        save(_without_paths(load(path)), _path("flatlog", "run.st"))
        log = next(Path(folder).rglob("rank-0.log")).read_text()
        _path("flatlog", "rank-0.log").write_text(log.replace(f"{TESTS}/", ""))


def _record(folder: Path, name: str, program: Path, chapter: str, flat: bool = False) -> Path:
    out = folder / f"{name}.st"
    logs = ["--flat-log", str(folder / "logs")] if flat else []
    words = [sys.executable, "-m", "scalatrace", "record", "--stack-depth", "2", "-o", str(out), *logs, "--"]
    run = ["mpiexec", "-n", str(NPROCS), *words, sys.executable, str(program), chapter]
    subprocess.run(run, check=True, cwd=folder, stdout=subprocess.DEVNULL)
    return out


def _without_paths(trace: Trace) -> Trace:
    """Take out what differs from machine to machine."""
    trace.frames[:] = [frame.replace(f"{TESTS}/", "") for frame in trace.frames]
    trace.strings[:] = [string.replace(f"{TESTS}/", "") for string in trace.strings]
    trace.meta = {"program": "chapters.py"}
    return trace


def models() -> None:
    """Symbolic traces of a wavefront and of a halo exchange."""
    for name, body, grids in (
        ("wavefront", wavefront, [(4, 4), (5, 4), (5, 5), (6, 5), (6, 6)]),
        ("halo", halo(True), [(4,), (5,), (6,), (8,)]),
    ):
        _, model, _ = extrap.model_of([trace_of(body, dims, 24) for dims in grids])
        save(model, _path("stx", f"{name}.stx"))
        few = min((trace_of(body, dims, 24) for dims in grids), key=lambda trace: trace.nprocs)
        save(few, _path("trace", f"{name}.st"), compress=False)


def predicted() -> None:
    """Write models of kernels with a trace that has them, a cluster, and tables of times."""
    b = Builder(NPROCS)
    sizes = {f"size{i}": 10 * i for i in range(4)}
    begin = b.event("Pcontrol", level=1001, kernel="dgemm(m,n,k)", **sizes)
    end = b.event("Pcontrol", level=1002, kernel="", **dict.fromkeys(sizes, 0))
    save(b.of(b.loop(3, begin, end), b.event("Barrier", comm=Comm())), _path("kernels", "marked.st"))
    _path("kernels", "dgemm.toml").write_text(KERNELS)
    _path("cluster", "one.toml").write_text(CLUSTER)
    rows = [f"1.0{i * i % 7},2.0{i * i % 5},1.1{i % 9}" for i in range(30)]
    _path("table", "runs.csv").write_text("\n".join(["first,second,third", *rows]) + "\n")
    _path("table", "times.csv").write_text("\n".join(rows) + "\n")


def logs() -> None:
    """Write the flat logs of two ranks that exchange messages in rows and on the world."""
    for rank in range(2):
        path = _path("logs", f"rank-{rank}.log")
        path.unlink(missing_ok=True)
        calls = RankCalls(rank, 2)
        calls.core.flatlog_open(path)
        world = ("comm", Kind.COMM, "world")
        calls.comm("row", "split", [0, 1], ordinal=calls.next_ordinal("world"))
        row = ("newcomm", Kind.COMM, "row")
        calls.append("Comm_split", [world, ("color", Kind.INT, 0), row], ["a.c:1:f"])
        for i in range(4):
            data = [("count", Kind.INT, 4 + i), ("datatype", Kind.TYPE, DOUBLE)]
            at = [("tag", Kind.INT, 5), ("comm", Kind.COMM, "row" if i % 2 else "world")]
            calls.append("Irecv", [*data, ("source", Kind.PEER, 1 - rank), *at], ["a.c:2:f"])
            calls.append("Send", [*data, ("dest", Kind.PEER, 1 - rank), *at], ["a.c:3:f"])
            calls.append("Waitall", [("requests", Kind.ARRAY, (0,))], ["a.c:4:f"])
            calls.append("Allreduce", [*data, ("op", Kind.STRING, "MPI_SUM"), world], ["a.c:5:f"])
        calls.core.flatlog_close()
        calls.core.close()


def parts() -> Iterator[tuple[str, list[Core]]]:
    """Cores of two ranks: equal calls, and calls with other arrays, loops and call sites."""
    yield "equal", [_core(rank, 0) for rank in (0, 1)]
    yield "different", [_core(rank, rank) for rank in (0, 1)]
    yield "summaries", [_core(rank, rank, limit=2) for rank in (0, 1)]


def _core(rank: int, shift: int, limit: int = 0) -> Core:
    core = Core(rank, 2)
    core.set_meta("program", "a.out")
    core.set_meta("run", "2024")
    if limit:
        core.set_policy("count", limit)
        core.set_policy("requests", limit)
    core.define_comm(COMM_WORLD, 0, "world", range(2))
    core.define_stat("compute_ns", 1.0)
    core.define_type(DOUBLE.description, DOUBLE.size, DOUBLE.extent)
    schema = [("count", Kind.INT), ("dest", Kind.PEER), ("datatype", Kind.TYPE), ("comm", Kind.COMM)]
    send, wait = core.define_op("Isend", schema), core.define_op("Waitall", [("requests", Kind.ARRAY)])
    opened = core.define_op(OPS[3].name, OPS[3].params)
    double = core.define_type("MPI_DOUBLE", 8, 8)
    name, world = core.string("file"), COMM_WORLD
    site = core.define_signature(["a.c:1:f", f"a.c:{8 + shift}:main"])
    for i in range(6):
        for j in range(2 + shift * (i % 2)):
            core.append(send, [j * j + shift, 1 - rank, double, world], site, rank, 2, [100.0 + i])
        core.append(wait, [core.array([i % 3, 7, 3 + shift])], site, rank, 2, [5.0])
    core.append(opened, [name, shift], 0, rank, 2)
    core.set_count("Iprobe", 12)
    core.finish()
    return core


KERNELS = """format = 1
[[kernels]]
name = "dgemm"
parameters = ["m", "n", "k"]
model = "M-2"
noise = "N-1"
mean_ns = {"m*n*k" = 0.5, "m*n" = 1.5, "m*k" = 1, "n*k" = 0, "1" = 200}
deviation_ns = {"m*n*k" = 0.1, "1" = 3}
"""
CLUSTER = """format = 1
day = [[1e-6, 0, 0], [0, 0, 0], [0, 0, 1e-6]]
[[groups]]
nodes = 3
mean = [1, 0, 0.01]
spatial = [[1e-4, 0, 0], [0, 1e-6, 0], [0, 0, 1e-6]]
"""
POLICY = """stats = ["cpu", "memory:call"]
[parameters]
count = "histogram:16"
"Alltoallv.sendcounts" = "drop"
[signatures]
tolerance = 2
ranges = ["solver.py:10-40"]
[selection]
only = ["p2p", "Allreduce"]
communicators = ["world"]
min_bytes = "1k"
"""
if __name__ == "__main__":
    main()
