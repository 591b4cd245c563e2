"""The `scalatrace` command: a list of commands, each in a file of its own."""

from scalatrace.cli.dispatch import main

__all__ = ["main"]
