"""Grammars as data: one .lark file per language."""

from __future__ import annotations

from importlib.resources import files

__all__ = ["text"]


def text(name: str) -> str:
    """The grammar `name`.lark. Raises FileNotFoundError when there is none."""
    return files(__name__).joinpath(f"{name}.lark").read_text(encoding="utf-8")
