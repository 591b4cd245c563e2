"""The first sentence of a page: the largest problem, or that none stands out and what takes the time then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scalatrace.report.page.overview.advice import Advice
from scalatrace.report.page.overview.causes import MIN_WAITING, WaitCauses
from scalatrace.report.page.overview.small_messages import SmallMessages
from scalatrace.report.page.overview.waits import TimeBasis
from scalatrace.report.style import coarse_percent, short_site
from scalatrace.trace.model.callsite import split_frame

__all__ = ["verdict_of"]

MIN_CORES = 0.05
"""Part of the run time that a core for each rank saves, from which on it is named."""

MIN_NAMED_WAIT = 0.002
"""Part of the run time from which on a call that waits is named."""


def verdict_of(
    causes: WaitCauses | None,
    small: SmallMessages | None,
    advice: Sequence[Advice],
    basis: TimeBasis,
    waits: Mapping[tuple[str, str], float],
    *,
    shared_cores: bool,
) -> str:
    """Return the sentence; "": the times do not tell.

    Args:
        small: small messages that are the result; None: they are not.
        advice: all entries.
        waits: operation and frame of calls that wait -> part of the run time.
        shared_cores: whether ranks of the recorded run shared cores.
    """
    if small is not None:
        return small.sentence
    if causes is not None and causes.why:
        return f"In the recorded run: {causes.why}" if basis.simulated and causes.starts else causes.why
    computation = next((entry for entry in advice if entry.kind == "computation"), None)
    if basis.simulated:
        is_uneven = any(entry.kind == "load" for entry in advice)
        return "" if computation is None else _predicted(computation, waits, is_uneven)
    parts = None if causes is None else causes.parts
    if parts is None or (computation is None and not shared_cores):
        return ""
    if parts.waiting >= MIN_WAITING or (parts.transfer or 0) >= parts.computing:
        return ""
    waits_for_cores = any(entry.kind == "cores" and entry.share >= MIN_CORES for entry in advice)
    text = f"Nothing in MPI stands out{' except waiting for shared cores' if waits_for_cores else ''}."
    if computation is None:
        return text
    share = coarse_percent(computation.share)
    return f"{text} The longest computation takes {share} of the run time, {computation.where}."


def _predicted(computation: Advice, waits: Mapping[tuple[str, str], float], is_uneven: bool) -> str:
    text = (
        f"The longest computation takes {coarse_percent(computation.share)} of the predicted run time, "
        f"{computation.where}."
    )
    (op, site), share = max(waits.items(), key=lambda each: each[1], default=(("", ""), 0.0))
    if share >= MIN_NAMED_WAIT:
        where = split_frame(site).place or short_site(site)
        text += f" Most waiting is in {op} {where}, {coarse_percent(share)}."
    return text if is_uneven else f"No rank stands out. {text}"
