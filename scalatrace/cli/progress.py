"""Progress of a command on standard error: shown on a terminal, after a second, until the command prints.

The dispatcher shows it for all commands but those that leave the terminal to a program. Commands name the
stage that they are in with `stage`, or count its steps with `track`.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from scalatrace.launched import launched_rank

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["DELAY_S", "PrintedSteps", "hide", "progress_of", "stage", "step", "track"]

T = TypeVar("T")

DELAY_S = 1.0
"""Seconds that a command takes before its progress is shown."""
END_S = 2.0
"""Seconds in which the line has to be removed."""
PRINT_S = 10.0
"""Seconds between two printed lines."""
REDRAW_S = 0.1
"""Seconds between two drawings of the line."""


class _Activity:
    """The stage of the running command, and the line that shows it.

    A thread imports rich and draws, always with `lock`: in a process that is forked meanwhile, nothing would
    release the locks of modules and streams.
    """

    def __init__(self, name: str) -> None:
        self.name, self.text, self.done = name, "", 0
        self.total: int | None = None
        self.bar: Progress | None = None
        self.lock = threading.Lock()
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self._draw, name="progress", daemon=True)

    def set(self, text: str, done: int, total: int | None) -> None:
        """Set what is shown next."""
        self.text, self.done, self.total = text, done, total

    def end(self) -> None:
        """Remove the line for good."""
        self.ending.set()
        if self.thread.is_alive():
            self.thread.join(END_S)  # a stopped terminal must not keep the command

    def _description(self) -> str:
        return f"{self.name}: {self.text}" if self.text else self.name

    def _draw(self) -> None:
        if self.ending.wait(DELAY_S):
            return
        with self.lock:
            bar = self.bar = _new_bar()
            task = bar.add_task(self._description(), total=self.total, completed=self.done)
            bar.start()
        try:
            while not self.ending.is_set():
                with self.lock:
                    bar.update(task, description=self._description(), completed=self.done)
                    bar.tasks[0].total = self.total  # update() ignores None
                    bar.refresh()
                self.ending.wait(REDRAW_S)
        except OSError:
            pass  # the terminal is gone; the command goes on
        finally:
            with self.lock, suppress(OSError):
                bar.stop()


_current: _Activity | None = None


@contextmanager
def progress_of(name: str) -> Iterator[None]:
    """Show the progress of a command while it runs, where standard error is a terminal.

    Under a launcher, only the first rank shows it.
    """
    global _current
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb" or launched_rank() not in (None, 0):
        yield
        return
    activity, stdout = _Activity(name), sys.stdout
    _current, sys.stdout = activity, _HidesProgress(stdout, activity)
    activity.thread.start()
    try:
        yield
    finally:
        activity.end()
        _current, sys.stdout = None, stdout


def stage(text: str, total: int | None = None) -> None:
    """Name what the command does now; `total`: the steps that `step` counts."""
    if (activity := _current) is not None:
        activity.set(text, 0, total)


def step(done: int, total: int | None = None) -> None:
    """Set the steps of the stage that are done."""
    if (activity := _current) is not None:
        activity.set(activity.text, done, activity.total if total is None else total)


def track(items: Iterable[T], text: str, total: int | None = None) -> Iterator[T]:
    """Yield the items of a stage and count them; `total`: how many, where they have no length."""
    stage(text, len(items) if total is None and isinstance(items, Sized) else total)
    for done, item in enumerate(items, 1):
        yield item
        step(done)


class PrintedSteps:
    """Counts steps as `step`; where no line shows them, prints one now and then: under mpiexec, in a file."""

    def __init__(self, text: str) -> None:
        self._text, self._last = text, float("-inf")

    def __call__(self, done: int, total: int) -> None:
        step(done, total)
        now = time.monotonic()
        if _current is None and (now - self._last >= PRINT_S or done == total):
            self._last = now
            print(f"scalatrace: {self._text}: {done:,} of {total:,}", file=sys.stderr, flush=True)


def hide() -> None:
    """Remove the line, before something else is written to the terminal."""
    if (activity := _current) is not None:
        activity.end()


class _HidesProgress:
    """Standard output: the first text or bytes that are written to it end the progress."""

    def __init__(self, stream: TextIO, activity: _Activity) -> None:
        self._stream, self._activity = stream, activity

    def write(self, text: str) -> int:
        self._activity.end()
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":  # bytes pass this object
            self._activity.end()
        return getattr(self._stream, name)


def _new_bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    spinner = "dots" if (sys.stderr.encoding or "").lower().startswith("utf") else "line"
    columns = (
        SpinnerColumn(spinner),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
    )
    # What else is written to standard error appears above the line. Standard output may be a file.
    return Progress(
        *columns, console=Console(stderr=True), transient=True, redirect_stdout=False, auto_refresh=False
    )


_held: _Activity | None = None
"""The activity whose lock is held while the process is forked."""


def _before_fork() -> None:
    global _held
    if (activity := _current) is not None:
        activity.lock.acquire()
        _held = activity


def _after_fork() -> None:
    global _held
    if (activity := _held) is not None:
        _held = None
        activity.lock.release()


def _forget() -> None:
    """Detach a forked process from the line, which its parent's thread draws."""
    global _current, _held
    if _held is not None:
        _current = _held = None
        sys.stderr = sys.__stderr__
        if isinstance(sys.stdout, _HidesProgress):
            sys.stdout = sys.stdout._stream


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_forget)
