"""`models`: formulas at four levels and their values, as tables or LaTeX."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from scalatrace.escapes import clean
from scalatrace.report.style import DIM, SITE, duration, nbytes, number, percent, short_site, table

__all__ = ["ModelsReporter", "ProgramReporter"]

SYMBOLS = (
    "S bytes, P ranks; alpha latency and overheads, beta time per byte, gamma that of the operator; "
    "tau(S) time between messages of one sender, rho(S) of one receiver, phi(S) of both, g = tau(0); "
    "R entries of a matching queue, m each; "
    "d packing; C messages that share a link"
)
TERMS_SHOWN = 10


class ModelsReporter:
    """Shows the data of `models` for operations: `platform`, `ranges`, `operations`."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data

    def render(self, console: Console) -> None:
        """Print parameters, formulas and values."""
        rows = table("messages", "alpha", "beta", right=("alpha", "beta"))
        for each in self.data["ranges"]:
            rows.add_row(each["sizes"], duration(each["alpha_ns"]), f"{each['beta_ns']:.4g} ns/B")
        console.print(Text(f"platform {clean(self.data['platform'])}", style="bold"))
        console.print(rows)
        formulas = table("operation", "algorithm", "growth", "dominant", "exact", "upper bound")
        for operation in self.data["operations"]:
            for model in operation["models"]:
                levels = [model[name]["text"] for name in ("asymptotic", "dominant", "exact", "upper")]
                growth, *others = levels
                formulas.add_row(operation["operation"], model["algorithm"], f"Θ({growth})", *others)
        console.print(formulas)
        if self.data["congestion"]["text"] != "1":
            console.print(Text(f"C <= {self.data['congestion']['text']}"))
        console.print(Text(SYMBOLS, style=DIM))
        console.print(self._times())

    def _times(self) -> Any:
        numbers = ("bytes", "ranks", "time", "upper bound")
        rows = table("operation", "algorithm", *numbers, "fastest", right=numbers)
        for operation in self.data["operations"]:
            for value in operation["times"]:
                shown = [nbytes(value["nbytes"]), number(value["nranks"])]
                shown += [duration(value["exact_ns"]), duration(value["upper_ns"])]
                rows.add_row(operation["operation"], value["algorithm"], *shown, self._fastest(value))
        return rows

    def _fastest(self, value: Mapping[str, Any]) -> str:
        """Return the fastest algorithm and its time, if another one is taken."""
        fastest, time = value["fastest"], value["fastest_ns"]
        return "" if fastest == value["algorithm"] else f"{fastest}, {duration(time)}"

    def latex(self) -> str:
        """Return the formulas as an `align*` environment."""
        lines = []
        for operation in self.data["operations"]:
            for model in operation["models"]:
                name = rf"T_{{\mathrm{{{_word(operation['operation'])},\,{_word(model['algorithm'])}}}}}"
                lines += [
                    rf"{name} &= \Theta\left({model['asymptotic']['latex']}\right) \\",
                    rf"{name} &= {model['dominant']['latex']} \\",
                    rf"{model['lower']['latex']} \leq {name} &\leq {model['upper']['latex']} \\",
                    rf"{name} &= {model['exact']['latex']} \\",
                ]
        return "\n".join([r"\begin{align*}", *lines, r"\end{align*}"])


class ProgramReporter:
    """Shows the data of `models --trace`: the formula, its values, and the calls that make it up."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data

    def render(self, console: Console) -> None:
        """Print formula, values and terms."""
        last = self.data["grids"][-1]
        console.print(Text(f"communication time of the busiest rank on {clean(self.data['platform'])}, ns:"))
        console.print(Text(f"  T = {last['formula']['text']}", style="bold"), soft_wrap=True)
        if last["growth"]:
            console.print(Text(f"  T = Θ({last['growth']['text']})"))
        ranges = f"protocols and algorithms as on {number(last['nranks'])} ranks, {last['grid']}"
        console.print(Text(ranges, style=DIM))
        rows = table("ranks", "grid", "time", "rank", right=("ranks", "time"))
        for each in self.data["grids"]:
            where = ", ".join(each["place"])
            rows.add_row(number(each["nranks"]), each["grid"], duration(each["time_ns"]), where)
        console.print(rows)
        terms = table("call", "site", "calls", "each, ns", "time", "share", right=("time", "share"))
        for term in last["terms"][:TERMS_SHOWN]:
            site = Text(short_site(term["site"]), style=SITE)
            shares = duration(term["time_ns"]), percent(term["time_ns"], last["time_ns"])
            terms.add_row(term["op"], site, term["calls"]["text"], term["each"]["text"], *shares)
        console.print(terms)
        if (more := len(last["terms"]) - TERMS_SHOWN) > 0:
            console.print(Text(f"… {more} more", style=DIM))
        for reason in last["left_out"]:
            console.print(Text(f"left out: {clean(reason)}", style="yellow"), soft_wrap=True)

    def latex(self) -> str:
        """Return the formula."""
        return f"T = {self.data['grids'][-1]['formula']['latex']}"


def _word(name: str) -> str:
    return name.replace("_", r"\_")
