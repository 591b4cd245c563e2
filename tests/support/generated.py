"""Compile generated C for tests: no warning is allowed, and the compiler's sanitizers watch every run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from support.mpis import Mpi
from support.running import Argument, run
from support.sanitizers import ADDRESS, obstacle

__all__ = ["CHECKS", "FLOW", "STRICT", "compiled"]

STRICT = ("-O0", "-g", "-std=c11", "-Wall", "-Wextra", "-Werror")
FLOW = ("-O1", *STRICT[1:])
"""Also warns of what follows from the flow of values, and takes more than twice as long."""
CHECKS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer")

_DEFAULTS = """\
/* MPI libraries do not free everything, and a tracer may be loaded before the runtime. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "detect_leaks=0:verify_asan_link_order=0:handle_segv=0:handle_abort=0";
}
"""


def compiled(mpi: Mpi, source: Path, *more: Argument, flags: Sequence[str] = STRICT) -> Path:
    """Return the binary of a program in C; a table that is read past its end makes it fail.

    Args:
        more: further flags and files.
    """
    binary, checks = source.with_suffix(""), list[Argument]()
    if obstacle(ADDRESS) is None:
        defaults = source.with_name("sanitizers.c")
        defaults.write_text(_DEFAULTS)
        checks = [*CHECKS, defaults]
    command = [mpi.mpicc, *flags, *checks, "-o", binary, source, *more]
    run(command, env=mpi.environment(), timeout=120).check()
    return binary
