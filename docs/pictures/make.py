"""Draw the pictures of the documentation: terminal captures of commands on a sample, as SVG files.

    make pictures      (python docs/pictures/make.py docs/images; mpiexec and scalatrace are on the PATH)

Size: 16 ranks of samples/npb/lu.py. Expect: show.svg and benchmark.svg in the folder, each below 100 KB.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.syntax import Syntax
from rich.text import Text

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
RANKS = 16
TREE_COLUMNS, TREE_LINES = 136, 27
PROGRAM_COLUMNS, PROGRAM_LINES = 90, 23
MAX_BYTES = 100_000

ENVIRONMENT = os.environ | {
    "COLUMNS": str(TREE_COLUMNS),
    "FORCE_COLOR": "1",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
"""Colours as on a terminal; more ranks than cores, also as root."""


def main(folder: Path) -> None:
    """Record the sample and write its pictures to a folder."""
    record = f"mpiexec -n {RANKS} scalatrace record -o lu.st -- python lu.py"
    show = "scalatrace show lu.st"
    generate = "scalatrace generate lu.st --to c -o bench.c"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        printed = _output(record.replace("lu.py", str(SAMPLES / "npb" / "lu.py")), work)
        tree = _output(show, work).replace(str(SAMPLES / "npb") + os.sep, "")
        _output(generate, work)
        program = (Path(work) / "bench.c").read_text()
    shown = Text.from_ansi("\n".join(_first(tree.splitlines(), TREE_LINES)))
    session = Group(_prompt(record), Text(printed.rstrip()), _prompt(show), shown)
    _draw(
        folder / "show.svg",
        "NPB LU on 16 ranks: loops, and the ranks that make each call",
        session,
        TREE_COLUMNS,
    )
    loop = Syntax("\n".join(_main_loop(program)), "c", theme="monokai", background_color="default")
    _draw(
        folder / "benchmark.svg",
        "Main loop of the benchmark in C",
        Group(_prompt(generate), loop),
        PROGRAM_COLUMNS,
    )


def _output(command: str, folder: str) -> str:
    result = subprocess.run(command.split(), cwd=folder, env=ENVIRONMENT, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{command}: exit status {result.returncode}\n{result.stderr}")
    return result.stdout


def _prompt(command: str) -> Text:
    return Text.assemble(("$ ", "bold green"), (command, "bold"))


def _first(lines: list[str], count: int) -> list[str]:
    return [*lines[:count], "..."] if len(lines) > count else lines


def _main_loop(program: str) -> list[str]:
    """Return the first lines of the first loop of a generated C program."""
    function = re.search(r"^static void benchmark\(void\)\n\{\n(.*?)^\}", program, re.DOTALL | re.MULTILINE)
    loop = function and re.search(r"^    for .*", function[1], re.DOTALL | re.MULTILINE)
    if not loop:
        sys.exit("the generated program has no loop in its function benchmark(void)")
    return _first([line.removeprefix("    ") for line in loop[0].splitlines()], PROGRAM_LINES)


def _draw(path: Path, title: str, content: RenderableType, columns: int) -> None:
    console = Console(record=True, width=columns, file=io.StringIO(), force_terminal=True)
    console.print(content)
    svg = console.export_svg(title=title, unique_id=path.stem)
    nbytes = len(svg.encode())
    if nbytes > MAX_BYTES:
        sys.exit(f"{path}: {nbytes:,} bytes, limit {MAX_BYTES:,}")
    path.write_text(svg)
    print(f"{path}: {nbytes:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
