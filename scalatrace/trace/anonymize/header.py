"""The header of an anonymous trace: entries with a known form stay, MPI's version is shortened, others go."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from scalatrace.predefined import THREAD_LEVEL, THREAD_LEVELS
from scalatrace.trace.anonymize.names import AnonymousNames
from scalatrace.trace.anonymize.options import AnonymizeOptions
from scalatrace.trace.anonymize.tables import statistic_name
from scalatrace.trace.model.trace import PARAMETER, RUN_TIME_NS
from scalatrace.trace.model.trace_tables import TraceHeader
from scalatrace.trace.symbolic import origin

__all__ = ["MACHINE", "anonymous_header"]

MACHINE = ("hosts", "ranks-per-host", "cores-per-host")
"""Entries that describe the machine."""

_WORD = r"[A-Za-z_]\w*"
_LIMIT = rf"{_WORD}(\.{_WORD})?=(keep|drop|histogram:\d+)"
_NUMBERS = r"\d+(, \d+)*"
_SHARE = r"\d+(\.\d+)?(e-\d+)? %"
_DROPPED = f"up to {_SHARE} of the events were dropped"

_ENTRIES = {
    "version": r"\d+(\.\d+)*",
    "options": r"stacks=(python|native|both|auto|none) stack-depth=\d+( fold-recursion=(yes|no))?",
    "parameters": rf"{_LIMIT}( {_LIMIT})*",
    "signature_tolerance": r"\d+",
    "threads": r"\d+",
    "elapsed-ns": r"\d+",
    RUN_TIME_NS: r"\d+\.\.\d+",
    THREAD_LEVEL: "|".join(THREAD_LEVELS),
    "choices": "Waitany and Testany in the order of the requests",
    origin.UNCONFIRMED: origin.ACCEPTED,
    origin.LOSSY: rf"{_DROPPED}|({_DROPPED}, )?counts of up to {_SHARE} of the events are means",
    "oversubscribed": f"runs with more ranks than cores: {_NUMBERS}",
    origin.FOUND_SIZE: r"n=\d+",
    origin.EXTRAPOLATED: rf"from {_NUMBERS} ranks to \d+(x\d+)*(, column-major)?",
}
"""Entries that stay if their text has this form: the recorder's and the extrapolation's own."""

_LIBRARIES = (
    "Open MPI", "CRAY MPICH", "MPICH", "MVAPICH2", "MVAPICH", "Intel(R) MPI Library", "ParaStationMPI",
    "Microsoft MPI", "Fujitsu MPI", "Spectrum MPI",
)  # fmt: skip
_VERSION = re.compile(r"(?<![\w.])v?(\d{1,4}(?:\.\d{1,4}){1,3})(?![\w])")
_NAMED_NUMBER = re.compile(r"(.*?)(=?)(-?[0-9]+)", re.DOTALL)
_OPTIONS_OF_SELECTION = ("only", "except", "only-sites", "except-sites", "min-bytes", "max-bytes", "window",
                         "communicators")  # fmt: skip


T = TypeVar("T", bound=TraceHeader)


def anonymous_header(trace: T, names: AnonymousNames, options: AnonymizeOptions) -> T:
    """Return a trace with what may be given away of its header, and without names of statistics."""

    def stat(name: str) -> str:
        return statistic_name(name, names)

    meta = dict(_entries(trace.meta, names, options, stat))
    return replace(trace, meta=meta, stats=[replace(entry, name=stat(entry.name)) for entry in trace.stats])


def _entries(
    meta: Mapping[str, str],
    names: AnonymousNames,
    options: AnonymizeOptions,
    rename_stat: Callable[[str], str],
) -> Iterator[tuple[str, str]]:
    for key, text in meta.items():
        if key == "program":
            yield key, text if "program" in options.keep else _program(text, names, options)
        elif key == "mpi":
            yield key, _library(text)
        elif key == "levels":
            yield key, " ".join(map(rename_stat, text.split()))
        elif key == "selection":
            yield key, _selection(text)
        elif key == origin.EXTRAPOLATED:
            yield key, _known(key, origin.split_origin(meta)[0])
        elif key in _ENTRIES:
            yield key, _known(key, text)
        elif key in MACHINE:
            if "machine" in options.keep and text.isdecimal():
                yield key, text
        elif key.startswith(PARAMETER) and not options.drop_parameters and _is_parameter(key, text):
            yield key, str(int(text))


def _known(key: str, text: str) -> str:
    return text if re.fullmatch(_ENTRIES[key], text, re.ASCII) else "yes"


def _is_parameter(key: str, text: str) -> bool:
    """Return whether extrapolation can use a parameter: a name of formulas and an integer."""
    name = key.removeprefix(PARAMETER)
    return name.isascii() and name.isidentifier() and re.fullmatch(r"-?[0-9]{1,19}", text) is not None


def _program(text: str, names: AnonymousNames, options: AnonymizeOptions) -> str:
    """Return a name for the command line's program, and the integers of its arguments if they are to stay."""
    program, _, arguments = text.partition(" ")
    words = [names.name("program", program)]
    if "numbers" in options.keep:
        words += (_argument(word, names) for word in arguments.split())
    return " ".join(words) if text else ""


def _argument(word: str, names: AnonymousNames) -> str:
    match = _NAMED_NUMBER.fullmatch(word)
    if match is None or (match[1] and not match[2]):
        return names.name("argument", word)
    return (names.name("argument", match[1]) if match[1] else "") + match[2] + match[3]


def _library(text: str) -> str:
    """Return name and version of an MPI library: "Open MPI 5.0.6"; "" where neither is known."""
    name = next((library for library in _LIBRARIES if library.lower() in text.lower()), "")
    version = _VERSION.search(text) if name else None
    return f"{name} {version[1]}" if version else name


def _selection(text: str) -> str:
    """Return the options by which calls were selected, without their values."""
    options_of_text = (word.partition("=")[0] for word in text.split())
    return (
        " ".join(dict.fromkeys(option for option in options_of_text if option in _OPTIONS_OF_SELECTION))
        or "yes"
    )
