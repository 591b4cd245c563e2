"""What is fuzzed: for each kind of file, its seeds, its mutations, and what is done with an input."""

from __future__ import annotations

import re
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

import msgpack

from fuzz.commands import (
    FAMILY_COMMANDS,
    LOG_COMMANDS,
    MODEL_COMMANDS,
    PLATFORM_COMMANDS,
    TABLE_COMMANDS,
    run,
)
from fuzz.exercise import USUAL, Effort, Finding, exercise, step
from fuzz.mutate import mutated_bytes, mutated_text, mutated_tree
from fuzz.steps import stage
from scalatrace.codegen.conceptual.checks.program import check, examine
from scalatrace.codegen.conceptual.compiler.compile import compile_program
from scalatrace.codegen.conceptual.errors import ProgramError
from scalatrace.codegen.conceptual.lowering.faults import find_faults
from scalatrace.codegen.conceptual.lowering.lower import lower
from scalatrace.core.binding import Core
from scalatrace.errors import ScalatraceError, UsageError
from scalatrace.extrap.errors import ExtrapolationError
from scalatrace.extrap.extrapolate import of_model, target_inputs
from scalatrace.extrap.formatting import lines
from scalatrace.extrap.lossy.snippets.machine import Machine
from scalatrace.extrap.lossy.snippets.parse import load as load_snippets
from scalatrace.files import read_text
from scalatrace.record.policy import from_toml
from scalatrace.trace.io.container import MAGIC, pack_container, read_container
from scalatrace.trace.io.flatlog import FlatLog
from scalatrace.trace.io.reader import load, load_symbolic, loads
from scalatrace.trace.io.textparse import load_text
from scalatrace.trace.io.writer import pack_payload, save
from scalatrace.trace.query.verify import verify
from support.reported import ring

__all__ = ["CORPUS", "TARGETS", "Target"]

TESTS = Path(__file__).resolve().parent.parent
CORPUS = TESTS / "corpus"
"""CORPUS/TARGET/seeds: inputs to mutate. CORPUS/TARGET/found: inputs that failed once."""

NPROCS = 6
"""Ranks of the traces that symbolic ones give."""

MAX_INPUT_BYTES = 100_000
"""Longer inputs are cut: their time is that of their length."""

MAX_LOG_CALLS = 10_000
OPEN = (
    "is not a name of", " is of kind ", "but not the communicator", "datatype '", "is not the world",
    "has a member that", "add up to its members", "members of other worlds", "for a communicator of",
    "no grid within",
)  # fmt: skip
"""Reasons for which `merge` refuses what the core merged, which checks neither schemas of operations, nor
types, nor members of communicators.

CORPUS/part/open has examples."""

MANY = re.compile(r"\d{4}|\*\*|<<")
"""What may make a run of very many statements: only `--max-time` bounds `ncptl check --tasks`."""

NTASKS = 2
"""Tasks of the coNCePTuaL programs."""


class Target(ABC):
    """One kind of input."""

    name: str
    ending = ""
    more_seeds: tuple[str, ...] = ()
    """Patterns of further seeds, below tests/."""

    @cached_property
    def folder(self) -> Path:
        """A folder for the file that is read."""
        self._temporary = tempfile.TemporaryDirectory(prefix=f"fuzz-{self.name}-")
        return Path(self._temporary.name)

    @cached_property
    def seeds(self) -> list[bytes]:
        """The inputs to mutate, in the order of their names."""
        own = sorted((CORPUS / self.name / "seeds").glob(f"*{self.ending}"))
        more = [path for pattern in self.more_seeds for path in sorted(TESTS.glob(pattern))]
        return [path.read_bytes() for path in (*own, *more)]

    def written(self, data: bytes) -> Path:
        """Write the input to a file."""
        path = self.folder / f"input{self.ending}"
        path.write_bytes(data)
        return path

    def make(self, seed: int, number: int) -> bytes:
        """Return an input that depends on seed and number only; the first ones are the seeds themselves."""
        if number < len(self.seeds):
            return self.seeds[number]
        random = Random(f"{self.name} {seed} {number}")
        return self.mutated(random.choice(self.seeds), random)[:MAX_INPUT_BYTES]

    @abstractmethod
    def mutated(self, data: bytes, random: Random) -> bytes:
        """Return a changed input."""

    def commands(self, lines: Mapping[str, str], data: bytes, effort: Effort, *seeds: Path) -> None:
        """Run commands on the input: all, or as many as the effort says, which the input selects."""
        random = Random(f"commands {crc32(data)}")
        for name in random.sample(list(lines), min(effort.steps, len(lines))):
            with step(name):
                run(lines[name], self.written(data), *seeds)

    @abstractmethod
    def run(self, data: bytes, effort: Effort = USUAL) -> None:
        """Read an input and use it with this effort. Raises ScalatraceError where it is refused."""


class PayloadTarget(Target):
    """Files with a payload: their bytes, those of the payload, and the decoded payload (right checksums).

    Attributes:
        symbolic: whether the file holds formulas.
        below: random numbers below this change the bytes of the payload.
    """

    symbolic: bool
    below: float

    def mutated(self, data: bytes, random: Random) -> bytes:
        how = random.random()
        if how < 0.1:
            return mutated_bytes(data, self.seeds, random)
        payload = read_container(data).payload
        if how < self.below:
            return pack_container(mutated_bytes(payload, [payload], random), compress=random.random() < 0.5)
        tree = mutated_tree(_unpacked(payload), self.trees, random)
        return pack_container(_packed(tree) or payload, compress=False, symbolic=self.symbolic)

    @cached_property
    def trees(self) -> list[Any]:
        """The decoded payloads of all seeds."""
        return [_unpacked(read_container(seed).payload) for seed in self.seeds]


class TraceTarget(PayloadTarget):
    """Trace files."""

    name, ending, symbolic, below = "trace", ".st", False, 0.2

    def run(self, data: bytes, effort: Effort = USUAL) -> None:
        exercise(loads(data, "a.st"), effort)


class FamilyTarget(PayloadTarget):
    """Traces of one program on several numbers of ranks, of which one is mutated."""

    name, ending, symbolic, below = "family", ".st", False, 0.2

    @cached_property
    def seeds(self) -> list[bytes]:
        """The traces of a ring, of 4, 6, 8 and 10 ranks."""
        return [pack_container(pack_payload(ring(n)), compress=False) for n in (4, 6, 8, 10)]

    @cached_property
    def others(self) -> list[Path]:
        """All traces as files."""
        paths = [self.folder / f"seed-{i}.st" for i in range(len(self.seeds))]
        for path, seed in zip(paths, self.seeds, strict=True):
            path.write_bytes(seed)
        return paths

    def run(self, data: bytes, effort: Effort = USUAL) -> None:
        nprocs = loads(data, "a.st").nprocs
        others = [path for path, n in zip(self.others, (4, 6, 8, 10), strict=True) if n != nprocs]
        self.commands(FAMILY_COMMANDS, data, effort, *others)


class PartTarget(Target):
    """Packed cores, in a msgpack array: as part files and as messages between ranks."""

    name, ending = "part", ".parts"

    def mutated(self, data: bytes, random: Random) -> bytes:
        parts = list(msgpack.unpackb(data))
        for at in random.sample(range(len(parts)), random.choice((1, 1, 1, 2))):
            how = random.random()
            if how < 0.1:
                container = pack_container(parts[at], compress=False, part=True)
                parts[at] = mutated_bytes(container, parts, random)
            elif how < 0.3:
                parts[at] = mutated_bytes(parts[at], parts, random)
            elif how < 0.35:
                parts[at] = random.choice(msgpack.unpackb(random.choice(self.seeds)))
            else:
                parts[at] = self._mutated_fields(parts[at], random)
        return bytes(msgpack.packb(parts))

    def _mutated_fields(self, part: bytes, random: Random) -> bytes:
        fields: list[Any] = list(_fields(part))
        # The terms of a value vector are packed once more: every other mutation goes into one of them.
        packed = _slots_of_bytes(fields) if random.random() < 0.3 else []
        if packed:
            holder, key = random.choice(packed)
            inner = mutated_tree(msgpack.unpackb(holder[key], raw=True), [], random)
            holder[key] = _packed(inner, raw=True) or holder[key]
        else:
            whole = mutated_tree(fields, self.trees, random)
            fields = whole if type(whole) is list else [whole]
        return b"".join(_packed(field, raw=True) or b"\xc0" for field in fields)

    @cached_property
    def trees(self) -> list[Any]:
        """The fields of all seeds' parts."""
        return [list(_fields(part)) for seed in self.seeds for part in msgpack.unpackb(seed)]

    def run(self, data: bytes, effort: Effort = USUAL) -> None:
        try:
            parts = msgpack.unpackb(data)
        except ValueError:
            return  # the array of parts was cut: this is no file
        merged = self.folder / "merged.st"
        stage("read_part")
        with self._read(parts[0]) as whole:
            for part in parts[1:]:
                stage("read_part")
                with self._read(part) as other:
                    stage("merge_core")
                    whole.merge_core(other)
            stage("write")
            whole.write(merged, compress=False)
        _accepted(merged)
        stage("merge")
        with self._read(parts[0]) as whole:
            for part in parts[1:]:
                whole.merge(part)
            whole.write(merged, compress=False)
        _accepted(merged)
        exercise(load(merged), effort)

    def _read(self, part: bytes) -> Core:
        whole = part.startswith(MAGIC)
        return Core.read_part(
            self.written(part if whole else pack_container(part, compress=False, part=True))
        )


def _accepted(path: Path) -> None:
    stage("load of a merged trace")
    try:
        load(path)
    except ScalatraceError as error:
        if any(reason in str(error) for reason in OPEN):
            raise
        raise Finding(f"a merged trace is refused: {getattr(error, 'reason', error)}") from error


class TextualTarget(Target):
    """Texts: tokens, lines, and sometimes bytes."""

    def mutated(self, data: bytes, random: Random) -> bytes:
        if random.random() < 0.1:
            return mutated_bytes(data, self.seeds, random)
        text = mutated_text(data.decode(errors="surrogateescape"), self.texts, random)
        return text.encode(errors="surrogateescape")

    @cached_property
    def texts(self) -> list[str]:
        """The texts of all seeds."""
        return [seed.decode(errors="surrogateescape") for seed in self.seeds]


class TextTarget(TextualTarget):
    """The text form of traces."""

    name, ending = "text", ".txt"

    def run(self, data: bytes, effort: Effort = USUAL) -> None:
        trace = load_text(self.written(data))
        with step("pack"):
            run("pack INPUT -o OUTPUT.st", self.written(data))
        exercise(trace, effort)


class FlatLogTarget(TextualTarget):
    """Flat logs, alone and beside the trace of the same run."""

    name, ending = "flatlog", ".log"

    @cached_property
    def trace(self) -> Any:
        """The trace of the run that wrote the seeds."""
        return load(CORPUS / self.name / "seeds" / "run.st")

    def run(self, data: bytes, effort: Effort = USUAL) -> None:
        (self.folder / "rank-0.log").write_bytes(data)
        stage("read")
        for _ in islice(FlatLog(self.folder / "rank-0.log"), MAX_LOG_CALLS):
            pass
        stage("verify")
        verify(self.trace, self.folder)


class LogsTarget(TextualTarget):
    """The flat log of one of two ranks, as `import` reads it."""

    name, ending = "logs", ".log"

    def run(self, data: bytes, effort: Effort = USUAL) -> None:
        for rank, seed in enumerate(self.seeds):
            (self.folder / f"rank-{rank}.log").write_bytes(seed)
        rank = int(b"rank 1 of" in data[:60])
        path = self.folder / f"rank-{rank}.log"
        path.write_bytes(data)
        for name, line in LOG_COMMANDS.items():
            with step(name):
                run(line, path)


class StxTarget(PayloadTarget):
    """Symbolic traces, and the traces that they give."""

    name, ending, symbolic, below = "stx", ".stx", True, 0.0

    def run(self, data: bytes, effort: Effort = USUAL) -> None:
        model = load_symbolic(self.written(data))
        stage("show")
        if "\x1b" in (shown := "\n".join(lines(model))) or "\x9b" in shown:
            raise Finding("control characters in the formulas shown")
        stage("save")
        save(model, again := self.folder / "again.stx")
        if load_symbolic(again) != model:
            raise Finding("a model differs after save and load")
        if effort.skips(data):
            return
        self.commands(MODEL_COMMANDS, data, effort)
        stage("instantiate and exercise")
        try:
            trace = of_model(model, NPROCS, None, target_inputs(model, {})).trace
        except ExtrapolationError as error:  # with cause and next step in lines of their own
            raise UsageError(str(error).split("\n")[0]) from None
        exercise(loads(pack_container(pack_payload(trace))), replace(effort, share=1.0))


class PlatformTarget(TextualTarget):
    """Platforms, and files beside them: kernels and unequal nodes."""

    name, ending = "platform", ".toml"
    more_seeds = ("../predict/platform/examples/*.toml",)
    lines: Mapping[str, str] = PLATFORM_COMMANDS

    def run(self, data: bytes, effort: Effort = USUAL) -> None:
        self.commands(self.lines, data, effort, CORPUS / "trace" / "seeds" / "stencil.st")


class KernelsTarget(PlatformTarget):
    """Models of kernels."""

    name, more_seeds = "kernels", ()
    lines: Mapping[str, str] = {"simulate --kernels": "simulate SEED --platform cluster --kernels INPUT"}

    def run(self, data: bytes, effort: Effort = USUAL) -> None:
        self.commands(self.lines, data, effort, CORPUS / self.name / "seeds" / "marked.st")


class ClusterTarget(PlatformTarget):
    """Unequal nodes."""

    name, more_seeds = "cluster", ()
    lines: Mapping[str, str] = {"simulate --cluster": "simulate SEED --platform cluster --cluster INPUT"}


class TableTarget(TextualTarget):
    """Tables of times."""

    name, ending = "table", ".csv"

    def run(self, data: bytes, effort: Effort = USUAL) -> None:
        self.commands(TABLE_COMMANDS, data, effort)


class PolicyTarget(TextualTarget):
    """Policies of `record --policy`."""

    name, ending = "policy", ".toml"

    def run(self, data: bytes, effort: Effort = USUAL) -> None:
        policy = from_toml(self.written(data))
        policy.environment()
        policy.meta()


class SnippetsTarget(TextualTarget):
    """Snippets of lossy extrapolation."""

    name, ending = "snippets", ".snippets"

    def run(self, data: bytes, effort: Effort = USUAL) -> None:
        snippets = load_snippets(self.written(data))
        stage("machine")
        Machine(snippets.snippets)


class NcptlTarget(TextualTarget):
    """Programs in coNCePTuaL: check, faults of a run on few tasks, compile."""

    name, ending = "ncptl", ".ncptl"
    more_seeds = ("codegen/ncptl/programs/*.ncptl",)

    def run(self, data: bytes, effort: Effort = USUAL) -> None:
        path = self.written(data)
        text = read_text(path)
        report = examine(text, str(path))
        if report.program is None or report.errors:
            check(text, str(path))
            raise Finding("a program with errors is accepted")
        with step("ncptl compile"):
            run("ncptl compile INPUT -o OUTPUT.c", path)
        stage("compile")
        compile_program(report.program, str(path))
        if MANY.search(text):
            return
        stage("check --tasks")
        with suppress(ProgramError):
            find_faults(lower(report.program, NTASKS))


TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        TraceTarget(), FamilyTarget(), PartTarget(), TextTarget(), FlatLogTarget(), LogsTarget(),
        StxTarget(), PlatformTarget(), KernelsTarget(), ClusterTarget(), TableTarget(), PolicyTarget(),
        SnippetsTarget(), NcptlTarget(),
    )
}  # fmt: skip


def _unpacked(payload: bytes) -> Any:
    return msgpack.unpackb(payload, strict_map_key=False, unicode_errors="surrogateescape")


def _packed(tree: Any, raw: bool = False) -> bytes:
    """Return msgpack; nothing for what it (keys that are lists, larger integers) or memory cannot hold."""
    try:
        return bytes(msgpack.packb(tree, use_bin_type=not raw, unicode_errors="surrogateescape"))
    except (ValueError, OverflowError, TypeError, MemoryError):
        return b""


def _fields(part: bytes) -> Sequence[Any]:
    unpacker = msgpack.Unpacker(raw=True, strict_map_key=False)
    unpacker.feed(part)
    return list(unpacker)


def _slots_of_bytes(value: Any) -> list[tuple[Any, int]]:
    """Return the places of msgpack arrays that are packed in bytes."""
    found, todo = [], [value]
    while todo:
        one = todo.pop()
        for i, inner in enumerate(one):
            if type(inner) is list:
                todo.append(inner)
            elif type(inner) is bytes and inner and _is_array(inner):
                found.append((one, i))
    return found


@cache
def _is_array(data: bytes) -> bool:
    try:
        return type(msgpack.unpackb(data, raw=True)) is list
    except (ValueError, msgpack.UnpackException):
        return False
