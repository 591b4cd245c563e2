"""Print the versions of scalatrace, its file formats, Python and MPI, as a bug report needs them."""

from __future__ import annotations

import argparse
import platform
import sys
from typing import Any

from scalatrace.cli.output import add_json, print_json

EXAMPLE = "scalatrace --version"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Ask, and print."""
    facts = _facts()
    if args.json:
        print_json(facts)
        return 0
    print(f"scalatrace {facts['scalatrace']}")
    print(f"trace format {facts['trace_format']}, text form {facts['text_form']}")
    print(f"Python {facts['python']}, {facts['executable']}")
    mpi, mpi4py = facts["mpi"], facts["mpi4py"]
    print(f"MPI: {mpi['version'] or 'unknown version'}, {mpi['library']}" if mpi else "MPI: none found")
    print(f"mpi4py {mpi4py}" if mpi4py else "mpi4py: not installed")
    return 0


def _facts() -> dict[str, Any]:
    from scalatrace import __version__
    from scalatrace.trace.io.container import FORMAT_VERSION
    from scalatrace.trace.io.text import TEXT_VERSION

    return {
        "scalatrace": __version__,
        "trace_format": FORMAT_VERSION,
        "text_form": TEXT_VERSION,
        "python": platform.python_version(),
        "executable": sys.executable,
        "mpi": _mpi(),
        "mpi4py": _mpi4py(),
    }


def _mpi() -> dict[str, str | None] | None:
    """Return the MPI that programs of this Python use; None: there is none."""
    from scalatrace.compilers.mpi import library_of, mpi_version

    library = library_of([sys.executable])
    return {"library": str(library), "version": mpi_version(library)} if library else None


def _mpi4py() -> str | None:
    from importlib import metadata

    try:
        return metadata.version("mpi4py")
    except metadata.PackageNotFoundError:
        return None
