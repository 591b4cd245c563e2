"""Native call sites by source lines: what `resolve` finds is what addr2line finds."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import scalatrace
from scalatrace.cli.dispatch import main
from scalatrace.errors import FormatError
from scalatrace.symbols.find import Finder
from scalatrace.symbols.module import locations
from scalatrace.symbols.names import _cxx, function_name
from scalatrace.symbols.resolve import resolve
from scalatrace.trace.model.trace import Trace
from support.builder import Builder, Comm
from support.drawing import json_of
from support.mpis import Mpi
from support.running import record

SOURCE = """\
#include <stdio.h>
#define TWICE(x) ((x) + (x))
static int inner(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += TWICE(i);
    return sum;
}
int outer(int n) {
    printf("%d\\n", inner(n));
    return n;
}
int main(int argc, char **argv) {
    (void)argv;
    return outer(argc) - argc;
}
"""
TOOLS = ("cc", "addr2line", "objdump", "objcopy", "strip")


@pytest.fixture(autouse=True)
def tools() -> None:
    if missing := [tool for tool in TOOLS if shutil.which(tool) is None]:
        pytest.skip(f"no {missing[0]}")


def built(folder: Path, *flags: str, name: str = "app") -> Path:
    """A program of two functions and main."""
    (folder / "app.c").write_text(SOURCE)
    path = folder / name
    subprocess.run(["cc", *flags, "-o", path, folder / "app.c"], check=True)
    return path


def addresses(path: Path) -> list[int]:
    """The addresses of all instructions of our functions."""
    listing = subprocess.run(["objdump", "-d", path], capture_output=True, text=True, check=True).stdout
    found, inside = [], False
    for line in listing.splitlines():
        if match := re.match(r"[0-9a-f]+ <(\w+)>:", line):
            inside = match[1] in ("inner", "outer", "main")
        elif inside and (match := re.match(r"\s+([0-9a-f]+):\t", line)):
            found.append(int(match[1], 16))
    return found


def told(path: Path, where: list[int]) -> dict[int, tuple[str, int, str]]:
    """File, line and function by addr2line."""
    words = ["addr2line", "-f", "-e", str(path), *map(hex, where)]
    lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    result = {}
    for address, function, place in zip(where, lines[::2], lines[1::2], strict=True):
        file, _, line = re.sub(r" \(discriminator \d+\)", "", place).rpartition(":")
        result[address] = (file, int(line) if line.isdecimal() else 0, function)
    return result


@pytest.mark.parametrize("version", ["-gdwarf-3", "-gdwarf-4", "-gdwarf-5"])
@pytest.mark.parametrize("kind", [("-O0",), ("-O0", "-no-pie"), ("-O0", "-shared", "-fPIC")], ids=" ".join)
def test_lines_are_those_of_addr2line(tmp_path: Path, version: str, kind: tuple[str, ...]) -> None:
    path = built(tmp_path, version, *kind)
    where = addresses(path)
    found = locations(path, where)
    assert len(where) > 30
    assert {address: tuple(location) for address, location in found.items()} == told(path, where)


def test_lines_of_an_optimised_program(tmp_path: Path) -> None:
    """Where a call was inlined, the line is that of the innermost source; the function is the outer one."""
    path = built(tmp_path, "-g", "-O2")
    where = addresses(path)
    found, expected = locations(path, where), told(path, where)
    lines = {a: (loc.file, loc.line) for a, loc in found.items() if loc.line}
    assert lines == {a: e[:2] for a, e in expected.items() if e[1]}


def test_debug_information_in_a_file_of_its_own(tmp_path: Path) -> None:
    path = built(tmp_path, "-g", "-O0")
    where = addresses(path)
    expected = locations(path, where)
    debug = tmp_path / ".debug" / "app.debug"
    debug.parent.mkdir()
    subprocess.run(["objcopy", "--only-keep-debug", path, debug], check=True)
    subprocess.run(["strip", path], check=True)
    assert locations(path, where) == {}
    subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", path], check=True)
    assert locations(path, where) == expected


def test_without_debug_information_there_are_names(tmp_path: Path) -> None:
    path = built(tmp_path, "-O0")
    found = locations(path, addresses(path))
    assert {location.function for location in found.values()} == {"inner", "outer", "main"}
    assert {(location.file, location.line) for location in found.values()} == {("", 0)}


def test_names_of_functions() -> None:
    assert function_name("solve_") == "solve"
    assert function_name("__solver_MOD_exchange") == "solver::exchange"
    assert function_name("MPI_Send@GLIBC_2") == "MPI_Send"
    if _cxx() is None:
        pytest.skip("no C++ library")
    for symbol, name in {
        "_Z1fv": "f",
        "_ZN4Foam5FieldIdE6reduceEPdi": "Foam::Field<double>::reduce",
        "_ZN12_GLOBAL__N_11gEi": "(anonymous namespace)::g",
        "_ZNK3FoocvbEv": "Foo::operator bool",
        "_ZlsRSoi": "operator<<",
        "_ZNK3FooltERKS_": "Foo::operator<",
        "_ZNKSt8functionIFvvEEclEv": "std::function<void ()>::operator()",
        "_ZZ4mainENKUlvE_clEv": "main::{lambda()#1}::operator()",
        "_Z3maxIiET_S0_S0_": "max<int>",
    }.items():
        assert function_name(symbol) == name


def trace_of(program: str, *frames: str, date: str = "2100-01-01T00:00:00+00:00") -> Trace:
    b = Builder(2)
    b.trace.meta = {"program": program, "date": date}
    return b.of(*(b.event("Barrier", at=(frame,), comm=Comm()) for frame in frames))


def test_frames_are_replaced(tmp_path: Path) -> None:
    path = built(tmp_path, "-g", "-O0")
    where = addresses(path)
    trace = trace_of(
        f"{path} 3", f"app+{where[0]:#x}", f"app+{where[-1]:#x}:main", "other.so+0x10", "a.py:3:f"
    )
    resolved, found = resolve(trace, Finder(trace.meta["program"]))
    source = tmp_path / "app.c"
    assert resolved.frames == [f"{source}:3:inner", f"{source}:16:main", "other.so+0x10", "a.py:3:f"]
    odd = trace_of("app", "app+0xzz", "app+0x", "app+0x10 20")
    assert resolve(odd, Finder("app"))[0].frames == odd.frames
    assert [(one.module, one.frames, one.lines, one.names) for one in found] == [
        ("app", 2, 2, 0), ("other.so", 1, 0, 0),
    ]  # fmt: skip
    assert "not found" in found[1].note
    assert (resolved.nodes, resolved.signatures) == (trace.nodes, trace.signatures)


def test_a_program_that_was_compiled_again(tmp_path: Path) -> None:
    path = built(tmp_path, "-g")
    trace = trace_of(str(path), f"app+{addresses(path)[0]:#x}", date="2001-01-01T00:00:00+00:00")
    same, (found,) = resolve(trace, Finder(str(path)))
    assert same.frames == trace.frames
    assert "newer than the trace" in found.note
    assert resolve(trace, Finder(str(path)), force=True)[1][0].lines == 1


def test_files_that_are_no_programs(tmp_path: Path) -> None:
    path = built(tmp_path, "-g")
    whole = path.read_bytes()
    damaged = tmp_path / "damaged"
    for data in (b"", b"\x7fELF", b"no program", whole[:100], whole[: len(whole) // 2]):
        damaged.write_bytes(data)
        with pytest.raises(FormatError):
            locations(damaged, [0x1000])
    with pytest.raises(FormatError):
        locations(tmp_path / "none", [0])


@pytest.mark.parametrize("flags", [("-g",), ("-g", "-gz")], ids=" ".join)
def test_damaged_debug_information(tmp_path: Path, flags: tuple[str, ...]) -> None:
    """A wrong byte gives other lines, or an error; nothing else."""
    path = built(tmp_path, *flags)
    where, whole = addresses(path), bytearray(path.read_bytes())
    damaged = tmp_path / "damaged"
    for at in range(0, len(whole), len(whole) // 70):
        data = bytearray(whole)
        data[at] ^= 0xFF
        damaged.write_bytes(data)
        try:
            locations(damaged, where)
        except FormatError:
            continue


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = built(tmp_path, "-g", "-O0", name="renamed")
    where = addresses(path)
    given, out = tmp_path / "a.st", tmp_path / "b.st"
    scalatrace.save(trace_of("./app", f"renamed+{where[0]:#x}"), given)
    assert main(["resolve", str(given), "-o", str(out)]) == 1
    assert "not found; give its path with --binary" in capsys.readouterr().out
    (facts,) = json_of(capsys, "resolve", given, "-o", out, "--binary", path)["modules"]
    assert (facts["path"], facts["lines"]) == (str(path), 1)
    assert main(["stats", str(out), "--by", "site"]) == 0
    assert "app.c:3:inner" in capsys.readouterr().out
    scalatrace.save(trace_of("python a.py", "a.py:1:f"), given)
    assert main(["resolve", str(given), "-o", str(out)]) == 0
    assert "nothing to resolve" in capsys.readouterr().out


def test_libraries_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "first").mkdir()
    library = tmp_path / "first" / "libown.so"
    library.write_bytes(b"")
    assert Finder("app", folders=[str(library.parent)]).find("libown.so") == library
    assert Finder("app").find("libown.so") is None
    monkeypatch.setenv("LD_LIBRARY_PATH", os.fspath(library.parent))
    assert Finder("app").find("libown.so") == library
    assert Finder("'app").find("app") is None
    if shutil.which("ldconfig", path="/sbin:/usr/sbin"):
        assert Finder("app").find("libc.so.6") is not None


PROGRAM = """\
#include <mpi.h>
static void exchange(void) {
    MPI_Barrier(MPI_COMM_WORLD);
}
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    exchange();
    return MPI_Finalize();
}
"""


@pytest.mark.mpi
def test_a_recorded_program(openmpi: Mpi, tmp_path: Path) -> None:
    source, binary, path = tmp_path / "app.c", tmp_path / "app", tmp_path / "a.st"
    source.write_text(PROGRAM)
    words = [openmpi.mpicc, "-g", "-O0", "-o", binary, source]
    subprocess.run(words, check=True, env=openmpi.environment(), timeout=60)
    record(openmpi, 2, [binary], path, timeout=60).check()
    trace = scalatrace.load(path)
    resolved, _ = resolve(trace, Finder(trace.meta["program"]))
    (barrier,) = (call for call in resolved.walk(0) if call.op == "Barrier")
    assert barrier.stack == (f"{source}:3:exchange", f"{source}:7:main")
