"""Builds of the native code with sanitizers, for tests.

Objects are kept in build/native, by a hash of their source, all headers, the compiler and its flags: after
a change of one file, one file is compiled.
"""

from __future__ import annotations

import functools
import hashlib
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from support.mpis import FLAGS_VARIABLE, PRELOAD_VARIABLE, ROOT

CORE = ROOT / "scalatrace" / "core"
SOURCES = CORE / "src"
BUILT = ROOT / "build" / "native"
_OPTIONS = ["-g1", "-fPIC", "-fno-omit-frame-pointer", "-fwrapv", "-Wall", "-Wextra"]
CXX = ["g++", "-std=c++20", *_OPTIONS]
CC = ["gcc", "-std=gnu11", *_OPTIONS]


@dataclass(frozen=True, eq=False)
class Sanitizer:
    """A set of gcc's sanitizers that can be used together.

    Attributes:
        flags: for compiler and linker.
        preloaded: libraries for programs that are not built with it; none: all programs must be.
        environment: options of the runtimes.
    """

    name: str
    flags: tuple[str, ...]
    preloaded: tuple[str, ...]
    environment: Mapping[str, str]


ADDRESS = Sanitizer(
    "address",
    ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"),
    ("libasan.so", "libstdc++.so.6"),
    {
        # Python, MPI libraries and killed programs do not free everything. The tracer is preloaded before the
        # runtime, which replaces malloc nevertheless. Handlers of signals are the tracer's.
        "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0:handle_segv=0:handle_abort=0"
        ":allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONMALLOC": "malloc",
    },
)
THREAD = Sanitizer(
    "thread",
    ("-fsanitize=thread",),
    (),
    {
        # MPI libraries synchronise by atomic operations that the runtime does not see.
        "TSAN_OPTIONS": "ignore_noninstrumented_modules=1:report_signal_unsafe=0:exitcode=66",
        "PMIX_MCA_gds": "hash",  # the default wants memory at an address that the runtime uses
    },
)
SANITIZERS = {sanitizer.name: sanitizer for sanitizer in (ADDRESS, THREAD)}


@functools.cache
def obstacle(sanitizer: Sanitizer) -> str | None:
    """Return why this sanitizer cannot be used here; None when it can."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "empty.cpp")
        source.write_text("int main() { return 0; }\n")
        program = source.with_suffix("")
        for command in ([*CXX, *sanitizer.flags, str(source), "-o", str(program)], [str(program)]):
            try:
                subprocess.run(command, check=True, capture_output=True, text=True)
            except OSError as error:
                return f"{command[0]}: {error.strerror}"
            except subprocess.CalledProcessError as error:
                return f"no {sanitizer.name} sanitizer here: {error.stderr.strip()[-200:]}"
    return None


def core_sources() -> list[Path]:
    """All C++ files of the core."""
    return sorted(SOURCES.rglob("*.cpp"))


def build_core(sanitizer: Sanitizer) -> Path:
    """Return the core as a shared library with this sanitizer."""
    folder = BUILT / sanitizer.name
    library = folder / "libscalatrace_core.so"
    objects = compiled(core_sources(), ["-O1", *sanitizer.flags])
    link([*CXX, "-shared", *sanitizer.flags], objects, library, ["-ldl"])
    return library


def build_driver(sanitizer: Sanitizer, sources: Sequence[Path], link_flags: Sequence[str] = ()) -> Path:
    """Return a program of these sources and the whole core, named after the last source."""
    program = BUILT / sanitizer.name / sources[-1].stem
    flags = ["-O1", *sanitizer.flags]
    link([*CXX, *flags, *link_flags], compiled([*sources, *core_sources()], flags), program, ["-ldl"])
    return program


def compiled(sources: Sequence[Path], flags: Sequence[str]) -> list[Path]:
    """Compile sources of the core, C or C++; return their objects."""
    BUILT.mkdir(parents=True, exist_ok=True)
    common = hashlib.sha256(_version().encode())
    for header in sorted([*SOURCES.rglob("*.hpp"), *(CORE / "include").glob("*.h")]):
        common.update(header.read_bytes())

    def compile_one(source: Path) -> Path:
        command = [*(CC if source.suffix == ".c" else CXX), *flags, f"-I{CORE / 'include'}", f"-I{SOURCES}"]
        key = common.copy()
        key.update("\0".join([*command, str(source)]).encode() + source.read_bytes())
        made = BUILT / f"{source.stem}-{key.hexdigest()[:16]}.o"
        if not made.exists():
            partial = made.with_suffix(f".{os.getpid()}")
            subprocess.run([*command, "-c", str(source), "-o", str(partial)], check=True)
            partial.rename(made)
        return made

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(compile_one, sources))


def link(command: Sequence[str], objects: Sequence[Path], made: Path, libraries: Sequence[str] = ()) -> None:
    """Link objects unless the result is newer."""
    if made.exists() and all(made.stat().st_mtime >= one.stat().st_mtime for one in objects):
        words = "\0".join(map(str, [*command, *objects]))
        note = made.with_suffix(".inputs")
        if note.exists() and note.read_text() == words:
            return
    made.parent.mkdir(parents=True, exist_ok=True)
    partial = made.with_suffix(f".{os.getpid()}")
    subprocess.run([*command, *map(str, objects), "-o", str(partial), *libraries], check=True)
    partial.rename(made)
    made.with_suffix(".inputs").write_text("\0".join(map(str, [*command, *objects])))


def environment(sanitizer: Sanitizer) -> dict[str, str]:
    """Return the variables under which tests use core and shim with this sanitizer.

    SCALATRACE_TEST_PRELOAD goes into Python and the ranks (support/mpis.py), SCALATRACE_TEST_FLAGS to the
    compiler of programs that use threads.
    """
    preloaded = ":".join(map(_runtime, sanitizer.preloaded))
    return {
        **sanitizer.environment,
        "SCALATRACE_CORE": str(build_core(sanitizer)),
        "SCALATRACE_SHIM_FLAGS": " ".join([*sanitizer.flags, "-g1", "-fno-omit-frame-pointer"]),
        **({PRELOAD_VARIABLE: preloaded, "LD_PRELOAD": preloaded} if preloaded else {}),
        FLAGS_VARIABLE: "" if preloaded else " ".join(sanitizer.flags),
    }


def _runtime(name: str) -> str:
    found = subprocess.run(["gcc", f"-print-file-name={name}"], check=True, capture_output=True, text=True)
    return os.path.realpath(found.stdout.strip())


@functools.cache
def _version() -> str:
    return subprocess.run(["g++", "--version"], check=True, capture_output=True, text=True).stdout
