"""The library that generated programs carry their part of: functions in the target language, cut into pieces.

A piece begins with a line that names what it gives and what it needs:

    //: Irecv Recv_init | tally buffers comms requests

A piece with several names is taken once for each name that is wanted, with the name in place of `$op`. What
is needed with a `?` is needed by the names that make a request only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from scalatrace.operations import operation

__all__ = ["RuntimeLibrary", "TextPiece", "library"]

_HEAD = re.compile(r"^(?://|#): (?P<names>[\w ]+)\|(?P<needs>[\w? ]*)$", re.MULTILINE)


_PARAMETERS = re.compile(r"\$op\((?P<list>[^)]*)\)")


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A part of the library.

    Attributes:
        name: what it is asked for by.
        needs: other pieces that must stand before it.
        text: in the target language.
    """

    name: str
    needs: tuple[str, ...]
    text: str

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameters of an operation's function, as they are declared."""
        match = _PARAMETERS.search(self.text)
        return tuple(p.strip() for p in match["list"].split(",") if p.strip()) if match else ()


class RuntimeLibrary:
    """All pieces of one language."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.pieces = {piece.name: piece for text in texts for piece in _cut(text)}

    def __contains__(self, name: object) -> bool:
        return name in self.pieces

    def collect(self, wanted: Iterable[str], texts: Iterable[str] = ()) -> Iterator[TextPiece]:
        """The wanted pieces and what they need, each once and after what it needs.

        Args:
            texts: names of pieces that the program has otherwise.
        """
        done = set(texts)
        for name in wanted:
            yield from self._with_needs(name, done)

    def _with_needs(self, name: str, done: set[str]) -> Iterator[TextPiece]:
        if name in done:
            return
        done.add(name)
        piece = self.pieces[name]
        for need in piece.needs:
            yield from self._with_needs(need, done)
        yield piece


def _cut(text: str) -> Iterator[TextPiece]:
    heads = list(_HEAD.finditer(text))
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        body = text[head.end() : following.start() if following else len(text)].strip("\n")
        for name in head["names"].split():
            yield TextPiece(name, tuple(_needs(head["needs"], operation(name).makes_request)), body)


def _needs(words: str, makes_request: bool) -> Iterator[str]:
    for word in words.split():
        if makes_request or not word.endswith("?"):
            yield word.removesuffix("?")


@cache
def library(suffix: str, names: tuple[str, ...]) -> RuntimeLibrary:
    """The library in the files `runtime/<name>.<suffix>` of this package."""
    folder = files("scalatrace.codegen.emit") / "runtime"
    return RuntimeLibrary((folder / f"{name}.{suffix}").read_text(encoding="utf-8") for name in names)
