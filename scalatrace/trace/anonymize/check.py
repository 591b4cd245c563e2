"""Check the bytes of an anonymous file: no text of the original is in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgpack  # type: ignore[import-untyped]

from scalatrace.errors import ScalatraceError
from scalatrace.formula import FUNCTIONS
from scalatrace.predefined import THREAD_LEVELS
from scalatrace.trace.anonymize.names import KINDS
from scalatrace.trace.anonymize.options import AnonymizeOptions
from scalatrace.trace.anonymize.tables import COMMUNICATORS, CONSTRUCTORS, STATISTICS
from scalatrace.trace.anonymize.words import MIN_WORD_LENGTH, WORD, leaked, words
from scalatrace.trace.exchange.buffer_memory import MEMORY_KINDS
from scalatrace.trace.exchange.type_sizes import BY_DESCRIPTION
from scalatrace.trace.model.symbolic import SymbolicTrace
from scalatrace.trace.model.trace import PARAMETER, Trace

__all__ = ["Allowed", "LeakError", "allowed_in", "check_payload"]

_GENERATED = re.compile(rf"(?:{'|'.join(sorted(KINDS))})[0-9]+(?:_ns|_bytes|(?:_[0-9]+)+)?")
_OF_MPI = re.compile(r"MPI_[A-Z0-9_]+")
_TELLING = re.compile(r"[^\x00-\x7f]|[A-Za-z]")
"""A character that a name can have and punctuation or a number cannot."""
_HEADER = """
    nprocs ranks meta ops stats frames signatures comms types strings arrays preds counts load between
    histograms nodes
    program mpi version options parameters signature_tolerance threads choices unconfirmed
    oversubscribed found size extrapolated levels selection hosts per host cores yes param call user
    native internal external32 stacks python auto none both stack depth fold recursion keep drop
    histogram Waitany and Testany the order requests formulas that traces not confirm were accepted
    runs with more than from column major only except sites min max bytes window communicators Open MPI
    MPICH MVAPICH2 MVAPICH Intel Library CRAY ParaStationMPI Microsoft Fujitsu Spectrum selected array
    summed cycle indexed looped elements choose item thread level run time
"""
_OWN = frozenset((*_HEADER.split(), *THREAD_LEVELS))
_OWN |= COMMUNICATORS | CONSTRUCTORS | STATISTICS | MEMORY_KINDS
"""Words of the format, of headers and of the recorder."""


class LeakError(ScalatraceError):
    """Error: an anonymous file would contain a text of the original; no file is written."""


class Allowed:
    """Words and texts that an anonymous file may share with the original."""

    def __init__(self, words_of_mpi: Iterable[str], meta: Iterable[str], kept: Iterable[str] = ()) -> None:
        """Collect them.

        Args:
            words_of_mpi: names of operations and of their parameters.
            meta: keys of the anonymous header; the names of the program's parameters count.
            kept: texts that the user keeps.
        """
        parameters = (key.removeprefix(PARAMETER) for key in meta if key.startswith(PARAMETER))
        self.texts = frozenset([BY_DESCRIPTION, *kept])
        self.words = _OWN.union(FUNCTIONS, words_of_mpi, parameters, *map(words, self.texts))

    def __call__(self, word: str) -> bool:
        """Return whether a word may be in both."""
        return (
            len(word) < MIN_WORD_LENGTH
            or word in self.words
            or _GENERATED.fullmatch(word) is not None
            or _OF_MPI.fullmatch(word) is not None
        )

    def rest(self, text: str) -> str:
        """Return a text without its allowed words."""
        return WORD.sub(lambda match: "" if self(match[0]) else match[0], text)


def allowed_in(anonymous: Trace | SymbolicTrace, options: AnonymizeOptions) -> Allowed:
    """Return what an anonymous trace may have of its original."""
    schemas = [word for op in anonymous.ops for word in (op.name, *(name for name, _ in op.params))]
    if isinstance(anonymous, SymbolicTrace):
        schemas += anonymous.inputs
    else:
        schemas += (word for name in anonymous.counts for word in words(name))
    sites = anonymous.frames if "sites" in options.keep else ()
    return Allowed(schemas, anonymous.meta, (*sites, *_kept_program(anonymous.meta, options)))


def _kept_program(meta: Mapping[str, str], options: AnonymizeOptions) -> tuple[str, ...]:
    return (meta["program"],) if "program" in options.keep and "program" in meta else ()


def check_payload(anonymous: bytes, original: bytes, allowed: Allowed) -> None:
    """Make sure that no text of a file's payload is in that of its anonymous form.

    Raises:
        LeakError: one is; the error gives their number only.
    """
    texts = _texts(anonymous) - allowed.texts
    remains = {remaining for text in texts if _TELLING.search(remaining := allowed.rest(text))}
    if not remains:
        return
    secrets = {
        text
        for text in _texts(original)
        if len(text) >= MIN_WORD_LENGTH and _TELLING.search(allowed.rest(text))
    }
    together = "\n".join(sorted(remains))
    if leaks := leaked(together, secrets, allowed) | {text for text in secrets if text in together}:
        raise LeakError(f"the result would hold {len(leaks)} texts of the original: nothing was written")


def _texts(payload: bytes) -> set[str]:
    """Return all strings of a msgpack payload, also the keys of maps."""
    raw = msgpack.unpackb(payload, use_list=False, strict_map_key=False, unicode_errors="surrogateescape")
    return set(_strings(raw))


def _strings(raw: Any) -> Iterator[str]:
    pending = [raw]
    while pending:
        value = pending.pop()
        if type(value) is str:
            yield value
        elif type(value) is dict:
            pending += (*value.keys(), *value.values())
        elif type(value) is tuple:
            pending += value
