"""Local actions of a task, and its predeclared variables: computing, touching memory, logging, printing."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.errors import ProgramError
from scalatrace.codegen.conceptual.lowering import events as e
from scalatrace.codegen.conceptual.lowering.collecting import UNIT_BYTES
from scalatrace.codegen.conceptual.run.memory import RunBuffers
from scalatrace.codegen.conceptual.run.table import LogTable, Varies, number
from scalatrace.codegen.conceptual.values.draws import Draws
from scalatrace.codegen.conceptual.values.evaluate import Env, integer, real
from scalatrace.codegen.conceptual.words import TIME_UNITS

__all__ = ["OwnWork", "RunCounters"]

_COUNTED = ("bit_errors", "bytes_sent", "bytes_received", "msgs_sent", "msgs_received")


class RunCounters:
    """Counts messages, bytes, wrong bits, and microseconds."""

    def __init__(self) -> None:
        self.counts = dict.fromkeys(_COUNTED, 0)
        self._since_ns = time.perf_counter_ns()
        self._stored: list[tuple[dict[str, int], int]] = []

    def value(self, name: str) -> int:
        """Return a predeclared variable's value; elapsed_usecs in microseconds."""
        if name == "elapsed_usecs":
            return (time.perf_counter_ns() - self._since_ns) // 1000
        if name.startswith("total_"):
            counter = name.removeprefix("total_")
            return self.counts[f"{counter}_sent"] + self.counts[f"{counter}_received"]
        return self.counts[name]

    def sent(self, messages: int, nbytes: int) -> None:
        """Count messages that left, and their bytes in all."""
        self.counts["msgs_sent"] += messages
        self.counts["bytes_sent"] += nbytes

    def received(self, messages: int, nbytes: int) -> None:
        """Count messages that came, and their bytes in all."""
        self.counts["msgs_received"] += messages
        self.counts["bytes_received"] += nbytes

    def reset(self) -> None:
        """Begin anew."""
        self.counts = dict.fromkeys(_COUNTED, 0)
        self._since_ns = time.perf_counter_ns()

    def store(self) -> None:
        """Remember all values."""
        self._stored.append((dict(self.counts), time.perf_counter_ns() - self._since_ns))

    def restore(self) -> None:
        """Go back to the values last stored, as if nothing had happened since."""
        self.counts, elapsed_ns = self._stored.pop()
        self._since_ns = time.perf_counter_ns() - elapsed_ns

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let what is done inside take no time."""
        begin = time.perf_counter_ns()
        yield
        self._since_ns += time.perf_counter_ns() - begin


class OwnWork:
    """Executes the statements that take no other task.

    Attributes:
        aside: how many warm-ups this is in: within one nothing is logged or printed.
        table: what was logged since the last table.
    """

    def __init__(
        self,
        counters: RunCounters,
        buffers: RunBuffers,
        draws: Draws,
        prologue: Mapping[str, str],
        logs: bool,
    ) -> None:
        self.counters, self.buffers, self.draws = counters, buffers, draws
        self.prologue, self.logs = prologue, logs
        self.aside = 0
        self.table = LogTable()
        self._statements: dict[type, Callable[[Any, Env], None]] = {
            t.Delay: self._delay,
            t.TouchMemory: self._touch_memory,
            t.TouchBuffers: self._touch_buffers,
            t.Log: self._log,
            t.ComputeAggregates: self._aggregates,
            t.Counters: self._counters,
            t.Output: self._output,
        }

    def do(self, event: e.LocalStep) -> None:
        """Execute a statement. Raises ProgramError."""
        env = replace(event.env, counter=self.counters.value, draws=self.draws)
        self._statements[type(event.statement)](event.statement, env)

    def _delay(self, node: t.Delay, env: Env) -> None:
        usecs = max(0, integer(node.duration, env)) * TIME_UNITS[node.unit]
        if node.sleeps:
            time.sleep(usecs / 1e6)
            return
        deadline = time.perf_counter_ns() + usecs * 1000
        while time.perf_counter_ns() < deadline:
            os.sched_yield()  # others may use the core

    def _bytes(self, measure: t.UnitAmount | None, env: Env) -> int:
        if measure is None:
            return 0
        amount = 1 if measure.amount is None else integer(measure.amount, env)
        if amount < 0:
            raise ProgramError(f"a size of {amount}; expected 0 or more", measure.place)
        return (amount + 7) // 8 if measure.unit == "BITS" else amount * UNIT_BYTES[measure.unit]

    def _touch_memory(self, node: t.TouchMemory, env: Env) -> None:
        region = self.buffers.region(self._bytes(node.region, env))
        step = UNIT_BYTES[node.amount.unit] if node.amount else 1
        touches = self._bytes(node.amount, env) // step if node.amount else len(region) // step
        times = 1 if node.times is None else max(0, integer(node.times, env))
        if not len(region) or not touches:
            return
        stride = self._bytes(node.stride, env) if node.stride else step
        where = (np.arange(touches, dtype=np.int64) * stride) % len(region)
        for _ in range(times):
            if node.random_stride:
                start = self.draws.below(len(region))
                where = (
                    np.arange(touches, dtype=np.int64) * (2 * self.draws.below(2**20) + 1) + start
                ) % len(region)
            region[where] += 1

    def _touch_buffers(self, node: t.TouchBuffers, env: Env) -> None:
        self.buffers.touch(None if node.number is None else integer(node.number, env), node.current)

    def _counters(self, node: t.Counters, env: Env) -> None:
        action = {"RESETS": "reset", "STORES": "store", "RESTORES": "restore"}[node.action]
        getattr(self.counters, action)()

    def _log(self, node: t.Log, env: Env) -> None:
        if self.aside or not self.logs:
            return
        # All columns of a row show the same moment.
        values = [real(column.value, env) for column in node.columns]
        with self.counters.paused():
            for n, (column, value) in enumerate(zip(node.columns, values, strict=True)):
                functions = [
                    (f.function, 0.0 if f.percentile is None else real(f.percentile, env))
                    for f in column.functions
                ]
                try:
                    self.table.add((id(node), n), self._text(column.label), column.form, functions, value)
                except Varies as error:
                    reason = f"THE value in {self._text(column.label)!r} is not always the same: {error}"
                    raise ProgramError(reason, column.place) from None

    def _text(self, label: str | t.ValueOf) -> str:
        if isinstance(label, str):
            return label
        return self.prologue.get(label.key, os.environ.get(label.key, ""))

    def _aggregates(self, node: t.ComputeAggregates, env: Env) -> None:
        if not self.aside:
            with self.counters.paused():
                self.table.collapse()

    def _output(self, node: t.Output, env: Env) -> None:
        if not self.aside:
            shown = [
                self._text(item) if isinstance(item, (str, t.ValueOf)) else number(real(item, env))
                for item in node.items
            ]
            sys.stdout.write("".join(shown) + "\n")
            sys.stdout.flush()
