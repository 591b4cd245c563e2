"""The header of a file: the core (core/src/io/container.cpp) and the reader (trace/io/container.py) agree."""

from __future__ import annotations

from pathlib import Path

import pytest

from scalatrace.core.binding import COMM_WORLD, Core, library
from scalatrace.trace.io.container import (
    FORMAT_VERSION,
    HEADER,
    STREAMS_VERSION,
    pack_container,
    read_container,
)


def write(path: Path, nthreads: int, part: bool = False, compress: bool = True) -> None:
    with Core(0, 1) as core:
        core.set_option("threads", 1)
        core.define_comm(COMM_WORLD, 0, "world", [0])
        barrier = core.define_op("Barrier", ())
        for i in range(40):
            core.append(barrier, (), own=0, size=1, thread=i % nthreads)
        if part:
            core.write_part(path)
            return
        core.finish()
        core.write(path, compress)


@pytest.mark.parametrize("part", [False, True])
@pytest.mark.parametrize(("nthreads", "version"), [(1, FORMAT_VERSION), (2, STREAMS_VERSION)])
def test_python_writes_the_same_bytes(tmp_path: Path, nthreads: int, version: int, part: bool) -> None:
    write(tmp_path / "a.st", nthreads, part, compress=False)
    data = (tmp_path / "a.st").read_bytes()
    container = read_container(data)
    assert (container.part, container.deflated) == (part, False)
    assert HEADER.unpack_from(data)[1] == version
    assert pack_container(container.payload, compress=False, part=part, streams=nthreads > 1) == data


@pytest.mark.parametrize("nthreads", [1, 2])
def test_deflated_payloads_are_the_same(tmp_path: Path, nthreads: int) -> None:
    """Their bytes are those of the zlib that each has."""
    for compress in (False, True):
        write(tmp_path / f"{compress}.st", nthreads, compress=compress)
    plain, deflated = (read_container((tmp_path / f"{each}.st").read_bytes()) for each in (False, True))
    assert deflated.deflated
    assert deflated.payload == plain.payload


def test_the_library_names_the_reader_s_version() -> None:
    assert library().st_format_version() == FORMAT_VERSION
