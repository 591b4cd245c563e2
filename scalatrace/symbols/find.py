"""Find the programs and libraries whose calls a trace holds: it knows their file names, not their folders."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from scalatrace.compilers.programs import find_program, run_tool
from scalatrace.trace.model.trace import MODULES

__all__ = ["Finder"]

_CACHED = re.compile(r"^\s+(\S+) \(.*\) => (/.*)$", re.MULTILINE)


class Finder:
    """Finds the files of modules by name.

    Args:
        program: the command line in the trace's header.
        files: programs and libraries that the user names; they come first.
        folders: where the user wants libraries to be searched; they come next.
        modules: paths and build IDs in the trace's header, a line `build ID, path` each; without ID: `-`.
    """

    def __init__(
        self, program: str, files: Sequence[str] = (), folders: Sequence[str] = (), modules: str = ""
    ) -> None:
        self.program, self.folders = program, list(folders)
        self.recorded, self.build_ids = dict[str, Path](), dict[str, str]()
        for line in modules.splitlines():
            number, _, path = line.partition(" ")
            name = os.path.basename(path)
            self.recorded[name] = Path(path)
            self.build_ids[name] = "" if number == "-" else number
        self.files = {os.path.basename(file): Path(file) for file in files}

    @classmethod
    def of(cls, meta: Mapping[str, str], files: Sequence[str] = (), folders: Sequence[str] = ()) -> Finder:
        """A finder of the modules that the header of a trace names."""
        return cls(meta.get("program", ""), files, folders, meta.get(MODULES, ""))

    def find(self, module: str) -> Path | None:
        """The path of a module; None: it is nowhere."""
        if module in self.files:
            return self.files[module]
        if not self.folders and module in self.recorded and self.recorded[module].is_file():
            return self.recorded[module]
        for word in self._words:
            if os.path.basename(word) == module and (path := shutil.which(word)):
                return Path(path)
        for folder in (*self.folders, *os.environ.get("LD_LIBRARY_PATH", "").split(":")):
            if folder and (candidate := Path(folder, module)).is_file():
                return candidate
        return self._libraries.get(module)

    @property
    def _words(self) -> list[str]:
        try:
            return shlex.split(self.program)
        except ValueError:
            return self.program.split()

    @cached_property
    def _libraries(self) -> dict[str, Path]:
        """The libraries of this machine, as the dynamic linker's cache knows them."""
        linker = find_program("ldconfig") or shutil.which("ldconfig", path="/sbin:/usr/sbin")
        if linker is None:
            return {}
        listing = run_tool([linker, "-p"]).stdout
        return {name: Path(path) for name, path in reversed(_CACHED.findall(listing))}
