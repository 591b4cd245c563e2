"""Compile C code of benchmarks against the core's header and load it."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path

from support.running import Argument, run

INCLUDE = Path(__file__).resolve().parents[1] / "scalatrace/core/include"


def loaded(
    compiler: Argument, source: Path, folder: Path, env: Mapping[str, str] | None = None
) -> ctypes.CDLL:
    """The library of a C file, which lies in `folder`."""
    made = folder / source.with_suffix(".so").name
    run([compiler, "-O2", "-shared", "-fPIC", f"-I{INCLUDE}", "-o", made, source], env=env).check()
    return ctypes.CDLL(str(made))
