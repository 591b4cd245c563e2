"""Record an MPI program. Put this between the launcher and the program; the process becomes the program."""

from __future__ import annotations

import argparse

from scalatrace.record.__main__ import arguments as record_arguments
from scalatrace.record.__main__ import options_of
from scalatrace.record.launch import launch

EXAMPLE = (
    "mpiexec -n 16 scalatrace record -o app.st -- python app.py --steps 100\n"
    "  mpiexec -n 16 scalatrace record --resolve -o app.st -- ./solver input.txt\n"
    "  srun -n 64 scalatrace record --stacks none -- ./solver input.txt"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments, which `python -m scalatrace.record` has too."""
    record_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Become the program."""
    words = args.program[1:] if args.program[:1] == ["--"] else args.program
    launch(options_of(args), words)
