"""Terminal sessions in Markdown pages: find them, run them, compare their output.

A block of code, indented or fenced, is a session if its first line is a command: `$ command`, followed by
output, or lines of commands only. A comment before the block changes that:

    <!-- not run: reason -->      do not run it
    <!-- needs: mpifort beside mpiexec -->   do not run it where the first program is missing, or is in
                                             another folder than the second one: of another MPI
    <!-- status 1 -->             exit status of its last command
    <!-- file: job.sh -->         the block is the content of this file

Only the standard library is needed, so that a page can be run with any installation (tests/docs/run_page.py).
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

PROGRAMS = (
    *("scalatrace", "mpiexec", "srun", "sbatch", "python", "python3", "pip", "mpicc", "mpifort"),
    *("bash", "mkdir", "cp", "cat", "export", "source", "./bench"),
)
"""First words of commands in blocks without prompts."""

ANY = "..."
"""Left-out output: lines if it is a line of its own, else the rest of a word or line."""

_COMMAND = re.compile(rf"\$ |({'|'.join(map(re.escape, PROGRAMS))})(?=\s)|for \w+ in .*; do ")
_BLOCK = re.compile(
    r"(?:^ *<!-- (?P<mark>[^\n]*?) -->\n\n?)?"
    r"(?:^```(?P<language>[^\n]*)\n(?P<fenced>.*?)^```$"
    r"|(?<=\n\n)(?P<indented>(?:^ {4}[^\n]*\n|^\n(?= {4}))+))",
    flags=re.DOTALL | re.MULTILINE,
)

_VARYING = (
    (r"[-+]?\d[\d,.]*(e[+-]?\d+)? (ns|µs|us|ms|s|min|h)\b", "TIME"),
    (r"[-+]?(?<![\w.])\d[\d,.]* ?%(?!\w)", "PERCENT"),
    (r"\b\d[\d.]*(e[+-]?\d+)? x(?=,|$)", "N x"),
    (r"(bytes, )[\d.]+( events per byte)", r"\1N\2"),
    (r"[─━-]{3,}", "---"),
)
"""Differences between two runs of one program: times, their shares and ratios."""

_SIZE = re.compile(
    r"(?P<what>\bwrote \S+: |\b(?:\d+ nodes|formulas|\S+\.st), |^\s*file +)(?P<nbytes>[\d,]+)(?= bytes)"
)
"""Sizes of files with times: they differ a little between two runs."""

MAX_SIZE_RATIO = 1.3
"""A shown size may be larger or smaller than the printed one by this factor."""


@dataclass
class Command:
    """A command of a page, and the output that the page shows; None if it shows none."""

    line: str
    output: list[str] | None = None
    status: int = 0


@dataclass
class Block:
    """A block of code of a page.

    Attributes:
        commands: of a session; empty for other blocks.
        reason: why it is not run; None if it is.
        needs: program without which it is not run, perhaps ` beside ` another one.
        file: name of the file whose content it is.
    """

    text: str
    language: str = ""
    commands: list[Command] = field(default_factory=list)
    reason: str | None = None
    needs: str | None = None
    file: str | None = None


def blocks_of(page: str) -> Iterator[Block]:
    """Return the blocks of a page, in order."""
    for match in _BLOCK.finditer(page):
        indented = match["indented"]
        text = textwrap.dedent(match["fenced"] if indented is None else indented)
        block = Block(text, match["language"] or "")
        _apply(match["mark"] or "", block)
        yield block


def _apply(mark: str, block: Block) -> None:
    if mark.startswith("file: "):
        block.file = mark.removeprefix("file: ")
        return
    block.commands = _commands(block.text)
    if mark.startswith("not run: "):
        block.reason = mark.removeprefix("not run: ")
    elif mark.startswith("needs: "):
        block.needs = mark.removeprefix("needs: ")
    elif (status := re.fullmatch(r"status (\d+)", mark)) and block.commands:
        block.commands[-1].status = int(status[1])
    elif mark:
        raise ValueError(f"unknown mark of a block, or a status without a command: {mark}")


def _commands(text: str) -> list[Command]:
    lines = text.replace("\\\n", "").splitlines()
    if not lines or not _COMMAND.match(lines[0]):
        return []
    if not lines[0].startswith("$ "):
        if any(line.startswith("$ ") for line in lines):
            raise ValueError(f"only some commands of a block have a prompt: {lines[0]}")
        return [Command(line) for line in lines if line.strip() and not line.startswith("#")]
    result: list[Command] = []
    for line in lines:
        if line.startswith("$ "):
            result.append(Command(line[2:], []))
        else:
            output = result[-1].output
            assert output is not None
            output.append(line)
    for command in result:
        command.output = command.output or None
    return result


def difference(expected: list[str], actual: list[str]) -> str | None:
    """Return the first difference between shown and printed lines; None if there is none.

    White space, times and shares of times may differ, sizes of files by MAX_SIZE_RATIO.
    `...` stands for anything.
    """
    wanted, lines = _stripped(expected), _stripped(actual)
    reached = 0
    skip = False
    for want in wanted:
        if want == ANY:
            skip = True
            continue
        end = len(lines) if skip else min(reached + 1, len(lines))
        place = next((i for i in range(reached, end) if _is_like(want, lines[i])), None)
        if place is None:
            here = "" if skip or reached >= len(lines) else f"\nprinted: {lines[reached]}"
            return f"not printed: {want}{here}"
        reached, skip = place + 1, False
    if not skip and reached < len(lines):
        return f"not shown: {lines[reached]}"
    return None


def _stripped(lines: list[str]) -> list[str]:
    """Return the lines without white space around them, empty lines, and reports of progress."""
    stripped = (line.strip() for line in lines)
    return [line for line in stripped if line and not re.match(r"scalatrace: rank \d+ has replayed", line)]


def _masked(line: str) -> str:
    line = _SIZE.sub(r"\g<what>N", line)
    for pattern, name in _VARYING:
        line = re.sub(pattern, name, line)
    return " ".join(line.split())


def _is_like(want: str, line: str) -> bool:
    """Whether a printed line is as shown; the sizes of files are compared where both lines have them."""
    if not _pattern(want).fullmatch(_masked(line)):
        return False
    pairs = zip(_sizes(want), _sizes(line), strict=False)
    return all(max(a, b) <= MAX_SIZE_RATIO * min(a, b) for a, b in pairs)


def _sizes(line: str) -> list[int]:
    return [int(match["nbytes"].replace(",", "")) for match in _SIZE.finditer(line)]


def _pattern(line: str) -> re.Pattern[str]:
    parts = (re.escape(part.strip()) for part in _masked(line).split(ANY))
    return re.compile(".*".join(parts))


def page_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which output has no colours, and more ranks than cores are accepted."""
    settings = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMP_NUM_THREADS": "1",
        "COLUMNS": "140",
        "NO_COLOR": "1",
        "BROWSER": "true",
    }
    return {**environment, **settings}


def run_page(
    page: str, folder: Path, environment: Mapping[str, str], *, install: str | None = None, seconds: int = 300
) -> list[str]:
    """Run the sessions of a page in a folder, and return the failures: command, reason, output.

    Args:
        install: replaces `scalatrace` in commands of pip; None: these commands are left out.
        seconds: limit of each command.
    """
    failures = []
    for block in blocks_of(page):
        if block.file is not None:
            (folder / block.file).write_text(block.text)
            (folder / block.file).chmod(0o755)
        if block.reason is not None or _is_missing(block.needs, environment.get("PATH")):
            continue
        for command in block.commands:
            if "pip install " in command.line:
                if install is None:
                    continue
                command.line = re.sub(r"scalatrace(?=\[|'|$)", lambda _: install, command.line)
            status, printed = _run(command.line, folder, environment, seconds)
            reason = _failure(command, status, printed)
            if reason:
                failures.append(f"$ {command.line}\n{reason}\n--- output:\n{printed}")
    return failures


def _is_missing(needs: str | None, path: str | None) -> bool:
    if needs is None:
        return False
    found = [shutil.which(name, path=path) for name in needs.split(" beside ")]
    return None in found or len({Path(name).parent for name in found if name}) > 1


def _failure(command: Command, status: int, printed: str) -> str | None:
    if status != command.status:
        return f"exit status {status}, expected {command.status}"
    return None if command.output is None else difference(command.output, printed.splitlines())


def _run(line: str, folder: Path, environment: Mapping[str, str], seconds: int) -> tuple[int, str]:
    process = subprocess.Popen(
        ["bash", "-o", "pipefail", "-c", line],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        printed, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        printed, _ = process.communicate()
        printed += f"\n(ended after {seconds} s)"
    return process.returncode, printed
