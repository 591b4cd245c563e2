"""ns per MPI call and bytes beside Pilgrim, Recorder and mpiP, built from their sources, in one run.

Loops run on one rank: plain, with a bare log of 24 bytes per call, traced, and with each peer. The C programs
of `samples/` run on several ranks; what each tool leaves behind is counted in bytes.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.record.overhead import LOOPS, TimedLoop
from benchmarks.running import compile_c, measure_sizes
from benchmarks.study import SkippedError, Study, choose, find_mpi
from benchmarks.table import ResultTable, Row, grouped
from scalatrace.escapes import is_number
from support.mpis import Mpi
from support.programs import SAMPLES
from support.running import Argument, mpirun, record, run

BUILD_S = 900
"""Limit of each step of building a tool."""

LOG_BYTES_PER_CALL = 24


@dataclass(frozen=True)
class Peer:
    """A tool whose library is preloaded.

    Attributes:
        option: the study's option with its sources.
        commands: build steps, in a copy of the sources; `{mpicc}`, `{mpicxx}` and `{build}` are replaced.
        library: what they make, in that copy.
        environment: of a measured run; `{out}` is the folder of its output.
        needs: Debian packages, for messages.
    """

    name: str
    option: str
    commands: tuple[str, ...]
    library: str
    needs: str
    environment: Mapping[str, str] = field(default_factory=dict)


PILGRIM = (
    "./autogen.sh",
    "./configure --prefix={build}/installed CC={mpicc} CXX={mpicxx}",
    "make -j2",
    "make install",
)
PILGRIM_NEEDS = "autoconf autoconf-archive automake libtool libzstd-dev pkg-config"
PEERS = (
    Peer("Pilgrim", "pilgrim", PILGRIM, "installed/lib/libpilgrim.so", PILGRIM_NEEDS),
    Peer(
        "Pilgrim, times in bins", "pilgrim", PILGRIM, "installed/lib/libpilgrim.so", PILGRIM_NEEDS,
        {"PILGRIM_TIMING_MODE": "CFG"},
    ),
    Peer(
        "Pilgrim, all times", "pilgrim", PILGRIM, "installed/lib/libpilgrim.so", PILGRIM_NEEDS,
        {"PILGRIM_TIMING_MODE": "ZSTD"},
    ),
    Peer(
        "Recorder", "recorder",
        (
            "cmake -B {build}/out -S . -DMPI_C_COMPILER={mpicc} -DMPI_CXX_COMPILER={mpicxx} "
            "-DHDF5_PREFER_PARALLEL=ON",
            "make -C {build}/out -j2 recorder",
        ),
        "out/bin/librecorder.so", "cmake libhdf5-mpich-dev or libhdf5-openmpi-dev",
        {"RECORDER_TRACES_DIR": "{out}"},
    ),
    Peer(
        "mpiP", "mpip",
        ("./configure --disable-bfd CC={mpicc} F77={mpif77}", "make"),
        "libmpiP.so", "libunwind-dev, a Fortran compiler",
        {"MPIP": "-f {out}"},
    ),
)  # fmt: skip
"""Tools, and modes of them; those of one option share a library."""

SETUPS = ("plain", "24 B per call", "no stacks", "native stacks")

PROGRAM_RUNS = (
    ("heat.c, 1,000 steps", "heat.c", ("1000", "32")),
    ("wavefront.c, 20 sweeps", "wavefront.c", ("20", "64")),
    ("conjgrad.c, 20 rounds", "conjgrad.c", ("20", "64")),
)
"""Title, source in `samples/`, arguments."""


def build_peer(peer: Peer, sources: Path, mpi: Mpi, folder: Path) -> Path:
    """Build a tool's library from a copy of its sources. Raises SkippedError with what is missing."""
    if not sources.is_dir():
        raise SkippedError(f"--{peer.option}: no folder {sources}")
    build = folder / peer.option
    if not build.exists():
        shutil.copytree(sources, build, symlinks=True)
        words = {"build": str(build), **_compilers(mpi)}
        for command in peer.commands:
            argv = [word.format(**words) for word in command.split()]
            done = run(argv, env={"LOGNAME": "user", **mpi.environment()}, cwd=build, timeout=BUILD_S)
            # autogen.sh of Pilgrim ends with an error after it has made what is needed.
            if done.returncode != 0 and not command.endswith("autogen.sh"):
                last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
                raise SkippedError(
                    f"{peer.name} was not built: {' '.join(argv)}: {' '.join(last)} (Debian: {peer.needs})"
                )
    library = build / peer.library
    if not library.exists():
        raise SkippedError(f"{peer.name} was not built: no {peer.library}")
    return library


def _compilers(mpi: Mpi) -> dict[str, str]:
    """Compiler wrappers of an MPI by name; one that it lacks has that of C."""
    name = mpi.mpicc.name
    result = {"mpicc": str(mpi.mpicc)}
    for other in ("mpicxx", "mpif77"):
        path = mpi.mpicc.with_name(name.replace("mpicc", other))
        result[other] = str(path if path.exists() else mpi.mpicc)
    return result


@dataclass(frozen=True)
class PeerBench:
    """The tools that could be built, and the programs to run with them."""

    mpi: Mpi
    folder: Path
    libraries: Mapping[str, Path]

    @property
    def peers(self) -> list[Peer]:
        """The tools that could be built."""
        return [peer for peer in PEERS if peer.option in self.libraries]

    def with_peer(self, peer: Peer, out: Path, command: Sequence[Argument]) -> list[Argument]:
        """Return the command with a tool's library; it writes to a folder."""
        values = {name: value.format(out=out) for name, value in peer.environment.items()}
        words = [f"{name}={value}" for name, value in values.items()]
        return ["env", f"LD_PRELOAD={self.libraries[peer.option]}", *words, *command]

    def ns_per_call(self, loops: Path, flat24: Path, loop: TimedLoop, setup: str) -> float:
        """Run a loop once on one rank."""
        out = self.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        command: list[Argument] = [loops, loop.program or "", str(loop.calls)]
        if setup == "24 B per call":
            command = ["env", f"LD_PRELOAD={flat24}", f"FLAT24_OUT={out / 'flat24.bin'}", *command]
        elif setup in SETUPS[2:]:
            stacks = "none" if setup == "no stacks" else "native"
            options: list[Argument] = ["record", "-o", out / "a.st", "--stacks", stacks, "--"]
            command = [*self.mpi.scalatrace(), *options, *command]
        elif setup != "plain":
            command = self.with_peer(next(p for p in PEERS if p.name == setup), out, command)
        done = mpirun(self.mpi, 1, command, cwd=out, timeout=300).check()
        # The tools print, too: the loop's own line is the only one of two numbers.
        lines = [words for line in done.stdout.splitlines() if len(words := line.split()) == 2]
        times = [float(words[0]) for words in lines if all(map(is_number, words))]
        if not times:
            raise SkippedError(f"{setup}: {loop.name} printed no time")
        return times[0]

    def nbytes(self, peer: Peer, nprocs: int, command: Sequence[Argument]) -> str:
        """Return the bytes that a tool writes for a run, as text; "fails" where the run does."""
        out = self.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        try:
            mpirun(self.mpi, nprocs, self.with_peer(peer, out, command), cwd=out, timeout=300).check()
        except (AssertionError, TimeoutError):
            return "fails"
        return grouped(sum(file.stat().st_size for file in out.rglob("*") if file.is_file()))


def _times(bench: PeerBench, loops: Sequence[TimedLoop], repeat: int) -> Iterator[Row]:
    """The plain loop's own ns, then what each setup adds; runs take turns, so that load affects all alike."""
    program = compile_c(bench.mpi, "loops.c", bench.folder / "loops")
    flat24 = compile_c(bench.mpi, "flat24.c", bench.folder / "flat24.so", "-shared", "-fPIC")
    setups = [*SETUPS, *(peer.name for peer in bench.peers)]
    for loop in loops:
        runs: dict[str, list[float]] = {setup: [] for setup in setups}
        for _ in range(repeat):
            for setup in setups:
                runs[setup].append(bench.ns_per_call(program, flat24, loop, setup))
        plain = median(runs.pop("plain"))
        yield [loop.name, f"{plain:.0f}", *(f"{median(values) - plain:.0f}" for values in runs.values())]


def _sizes(bench: PeerBench, ranks: Sequence[int], only: Sequence[str]) -> Iterator[Row]:
    """Calls, bytes of 24 per call, of our trace, and of what each tool writes."""
    for title, source, arguments in choose(PROGRAM_RUNS, only, lambda item: item[0]):
        program = compile_c(bench.mpi, SAMPLES / source, bench.folder / source.removesuffix(".c"))
        for nprocs in ranks:
            command: list[Argument] = [program, *arguments]
            out = bench.folder / "ours"
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir()
            options: list[Argument] = ["--flat-log", out / "logs"]
            record(bench.mpi, nprocs, command, out / "a.st", options=options, timeout=300).check()
            ours = measure_sizes(out / "a.st", out / "logs")
            numbers = (ours.calls, LOG_BYTES_PER_CALL * ours.calls, ours.gzipped, ours.trace)
            theirs = [bench.nbytes(peer, nprocs, command) for peer in bench.peers]
            yield [title, str(nprocs), *map(grouped, numbers), *theirs]


def _tables(args: argparse.Namespace) -> Iterator[ResultTable]:
    given = {peer.option: Path(value) for peer in PEERS if (value := getattr(args, peer.option))}
    if not given:
        raise SkippedError(
            "give the sources of one tool or more: --pilgrim DIR (github.com/pmodels/pilgrim), "
            "--recorder DIR (github.com/uiuc-hpc/Recorder), --mpip DIR (github.com/LLNL/mpiP)"
        )
    mpi = find_mpi(args.mpi, python=False)
    loops = choose([loop for loop in LOOPS if loop.program], args.only, lambda loop: loop.name)
    with tempfile.TemporaryDirectory() as name:
        folder, libraries = Path(name), dict[str, Path]()
        for peer in PEERS:
            if peer.option in given and peer.option not in libraries:
                print(f"building {peer.option} ...", flush=True)
                try:
                    libraries[peer.option] = build_peer(peer, given[peer.option], mpi, folder)
                except SkippedError as reason:
                    print(f"left out: {reason}")
                    del given[peer.option]
        bench = PeerBench(mpi, folder, libraries)
        names = [peer.name for peer in bench.peers]
        note = (f"MPI: {args.mpi}. mpiP keeps statistics only; Recorder also follows files.",)
        yield ResultTable(
            "peers_overhead", "ns of CPU per MPI call over the plain program, one rank",
            ("loop", *SETUPS, *names), _times(bench, loops, args.repeat), 0, note,
        )  # fmt: skip
        columns = ("program", "ranks", "calls", "24 B per call", "log, gzip", "scalatrace", *names)
        yield ResultTable(
            "peers_sizes", "Bytes of all files that a tool leaves", columns,
            _sizes(bench, args.ranks, args.only), 0, note,
        )  # fmt: skip


STUDIES = (
    Study(
        "peers",
        "ns per call and bytes beside Pilgrim, Recorder and mpiP, which are built from their sources",
        "docs/comparison.md",
        _tables,
        {
            "pilgrim": "", "recorder": "", "mpip": "",
            "only": [], "ranks": [4, 8], "repeat": 5, "mpi": "debian-mpich",
        },
        {"only": ["Send to", "heat"], "ranks": [4], "repeat": 1},
    ),
)  # fmt: skip
