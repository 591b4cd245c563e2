"""`models`: formulas at four levels and their values, as tables or LaTeX."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from rich.console import Console
from rich.text import Text

from scalatrace.escapes import clean
from scalatrace.formula.printing.latex import escape_name
from scalatrace.report.predictions.columns import (
    MESSAGE_RANGES,
    MODEL_SENDS,
    MODEL_SIZES,
    MODEL_TERMS,
    MODEL_TIMES,
    OPERATION_MODELS,
)
from scalatrace.report.style import DIM, duration, number, print_more, text_table

__all__ = ["ModelsReporter", "PartitionedReporter", "ProgramTimeReporter"]

SYMBOLS = (
    "S bytes, P ranks; alpha latency and overheads, beta time per byte, gamma that of the operator; "
    "tau(S) time between messages of one sender, rho(S) of one receiver, phi(S) of both, g = tau(0); "
    "R entries of a matching queue, m each; "
    "d packing; C messages that share a link"
)
TERMS_SHOWN = 10


class ModelsReporter:
    """Shows the data of `models` for operations: `platform`, `ranges`, `operations`."""

    table = MODEL_TIMES

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data

    def render(self, console: Console) -> None:
        """Print parameters, formulas and values."""
        console.print(Text(f"platform {clean(self.data['platform'])}", style="bold"))
        console.print(text_table(MESSAGE_RANGES, self.data["ranges"]))
        console.print(text_table(OPERATION_MODELS, self._models()))
        if self.data["congestion"]["text"] != "1":
            console.print(Text(f"C <= {self.data['congestion']['text']}"))
        console.print(Text(SYMBOLS, style=DIM))
        console.print(
            text_table(MODEL_TIMES, ({**row, "fastest": self._fastest(row)} for row in self.rows()))
        )

    def _models(self) -> Iterator[dict[str, str]]:
        for operation in self.data["operations"]:
            for model in operation["models"]:
                levels = {name: model[name]["text"] for name in ("asymptotic", "dominant", "exact", "upper")}
                levels["asymptotic"] = f"Θ({levels['asymptotic']})"
                yield {"operation": operation["operation"], "algorithm": model["algorithm"], **levels}

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield times with the columns of MODEL_TIMES."""
        for operation in self.data["operations"]:
            for value in operation["times"]:
                yield {"operation": operation["operation"], **value}

    def _fastest(self, value: Mapping[str, Any]) -> str:
        """Return the fastest algorithm and its time, if another one is taken."""
        fastest, time = value["fastest"], value["fastest_ns"]
        return "" if fastest == value["algorithm"] else f"{fastest}, {duration(time)}"

    def latex(self) -> str:
        """Return the formulas as an `align*` environment."""
        lines = []
        for operation in self.data["operations"]:
            for model in operation["models"]:
                of, by = escape_name(operation["operation"]), escape_name(model["algorithm"])
                name = rf"T_{{\mathrm{{{of},\,{by}}}}}"
                lines += [
                    rf"{name} &= \Theta\left({model['asymptotic']['latex']}\right) \\",
                    rf"{name} &= {model['dominant']['latex']} \\",
                    rf"{model['lower']['latex']} \leq {name} &\leq {model['upper']['latex']} \\",
                    rf"{name} &= {model['exact']['latex']} \\",
                ]
        return _aligned(lines)


class PartitionedReporter:
    """Shows the data of `models --partitioned`: `platform`, `threads`, `spread_ns`, `sends`."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data

    def render(self, console: Console) -> None:
        """Print the threads, and the sends of each size."""
        platform, threads = clean(self.data["platform"]), number(self.data["threads"])
        spread = duration(self.data["spread_ns"])
        text = f"partitioned send on {platform}: {threads} threads, the slowest {spread} after the fastest"
        console.print(Text(text, style="bold"), soft_wrap=True)
        sends = (
            {
                **send,
                "overlapped": f"{send['overlapped']:.1f}",
                **{name: f"{send[name] / 1e6:,.0f} MB/s" for name in ("bandwidth", "single_bandwidth")},
            }
            for send in self.data["sends"]
        )
        console.print(text_table(MODEL_SENDS, sends))


class ProgramTimeReporter:
    """Shows the data of `models --trace`: the formula, its values, and the calls that make it up."""

    table = MODEL_TERMS

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data

    def render(self, console: Console) -> None:
        """Print formula, values and terms."""
        last = self.data["grids"][-1]
        console.print(Text(f"communication time of the busiest rank on {clean(self.data['platform'])}, ns:"))
        levels = (
            ("asymptotic", "T = Θ({})", last["growth"]),
            ("dominant", "T = {}", last["dominant"]),
            ("bounded", "T <= {}", last["upper"]),
            ("exact", "T = {}", last["formula"]),
        )
        for level, text, formula in levels:
            if formula:
                line = f"  {level:<12}{text.format(formula['text'])}"
                console.print(Text(line, style="bold" if level == "exact" else ""), soft_wrap=True)
        if self.data["congestion"]["text"] != "1":
            console.print(Text(f"  C <= {self.data['congestion']['text']}"), soft_wrap=True)
        ranges = f"protocols and algorithms as on {number(last['nranks'])} ranks, {last['grid']}"
        console.print(Text(ranges, style=DIM))
        sizes = ({**size, "place": ", ".join(size["place"])} for size in self.data["grids"])
        console.print(text_table(MODEL_SIZES, sizes))
        terms = islice(_terms(last), TERMS_SHOWN)
        total_ns = last["time_ns"]
        console.print(
            text_table(MODEL_TERMS, ({**term, "share": (term["time_ns"], total_ns)} for term in terms))
        )
        print_more(console, len(last["terms"]) - TERMS_SHOWN)
        for reason in last["left_out"]:
            console.print(Text(f"left out: {clean(reason)}", style="yellow"), soft_wrap=True)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the calls on all numbers of ranks with the columns of MODEL_TERMS."""
        return chain.from_iterable(map(_terms, self.data["grids"]))

    def latex(self) -> str:
        """Return the formulas as an `align*` environment."""
        last = self.data["grids"][-1]
        lines = [
            *([rf"T &= \Theta\left({last['growth']['latex']}\right) \\"] if last["growth"] else []),
            *([rf"T &= {last['dominant']['latex']} \\"] if last["dominant"] else []),
            rf"T &\leq {last['upper']['latex']} \\",
            rf"T &= {last['formula']['latex']} \\",
        ]
        return _aligned(lines)


def _aligned(lines: Sequence[str]) -> str:
    return "\n".join([r"\begin{align*}", *lines, r"\end{align*}"])


def _terms(grid: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for term in grid["terms"]:
        texts = {name: term[name]["text"] for name in ("calls", "each")}
        yield {"grid": grid["grid"], "nranks": grid["nranks"], **term, **texts}
