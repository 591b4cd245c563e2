"""LogGOPS parameters of one network from measured messages, by piecewise regression.

The time of a message is known best, from the ping-pong; send and receive overheads are parts of it. So
latency and gap per byte are the rest, and the sum is exactly the fit of the ping-pong. The latency is above 0
and does not fall with the size (`_joint_lines`); overheads are limited to what it leaves.

    T(n) = A_s + n B_s    for messages in segment s,    0 < A_0 <= A_1 <= ...    and 0 < B_s

A_s holds the latency, so a longer message has no smaller one; B_s is the time per byte. Lines that are fitted
one by one break this where the time per byte grows: the last intercept falls to 0. The increments of A, and
all B, are the unknowns of one least-squares problem without negative solutions; residuals are relative.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from math import ceil
from statistics import median

import numpy as np
import numpy.typing as npt

from scalatrace.arrays import Floats
from scalatrace.errors import FormatError
from scalatrace.predict.calibrate.archive import Archive, Measurement
from scalatrace.predict.calibrate.typical import Series, by_size, select_undisturbed, series, typical
from scalatrace.predict.platform import NOISE_PARTS, Network, Segment
from scalatrace.stats.least_squares import solve_nonnegative
from scalatrace.stats.piecewise import PiecewiseLinear, fit_piecewise

__all__ = ["NetworkFit", "fit_network", "one_way_ns"]

_Indices = npt.NDArray[np.intp]


_MIN_FIXED_SHARE = 0.05
"""Least constant time of a message, as a part of the shortest one."""
_MIN_PER_BYTE_NS = 2e-6
"""Least time per byte: more than 0 in a platform file, which has six digits."""

_MAX_SEGMENTS = 16
_MIN_SIZES = 5
"""Sizes of a segment, at least."""
_MAX_EXCESS = 0.02
"""A segment is divided if its lines are off by so much more than lines without these conditions."""


@dataclass(frozen=True)
class JointLine:
    """The time of messages of `from_bytes` and more: fixed_ns + n per_byte_ns."""

    from_bytes: int
    fixed_ns: float
    per_byte_ns: float


def _joint_lines(points: Series, starts: Sequence[int], free: Callable[[float], float]) -> list[JointLine]:
    """Return a line per segment; segments are divided where the conditions cost accuracy.

    Args:
        points: sizes, ascending, and times.
        starts: smallest size of each segment, the first is 0.
        free: time by size, fitted without the conditions.
    """
    sizes, ns = (np.array(values, float) for values in points)
    unavoidable = np.abs(np.array([free(size) for size in sizes]) / ns - 1)
    starts = list(starts)
    while True:
        segment = np.array([bisect_right(starts, size) - 1 for size in sizes])
        fixed, per_byte = _solve(segment, len(starts), sizes, ns)
        excess = np.abs((fixed[segment] + sizes * per_byte[segment]) / ns - 1) - unavoidable
        split = _worst(segment, len(starts), sizes, excess)
        if split is None or len(starts) >= _MAX_SEGMENTS:
            return [JointLine(*row) for row in zip(starts, fixed.tolist(), per_byte.tolist(), strict=True)]
        starts = sorted({*starts, split})


def _solve(
    segment: _Indices,
    count: int,
    sizes: Floats,
    ns: Floats,
) -> tuple[Floats, Floats]:
    """Return A and B of each segment."""
    least = _MIN_FIXED_SHARE * float(ns.min())
    steps = (segment[:, None] >= np.arange(count)).astype(float)
    slopes = (segment[:, None] == np.arange(count)) * sizes[:, None]
    design = np.concatenate([steps, slopes], axis=1) / ns[:, None]
    solution = solve_nonnegative(design, 1 - (least + sizes * _MIN_PER_BYTE_NS) / ns)
    return least + np.cumsum(solution[:count]), _MIN_PER_BYTE_NS + solution[count:]


def _worst(
    segment: _Indices,
    count: int,
    sizes: Floats,
    excess: Floats,
) -> int | None:
    """Return the size at which to divide the segment with the largest excess; None: none is worth it."""
    worst, split = _MAX_EXCESS, None
    for number in range(count):
        members = segment == number
        if members.sum() >= 2 * _MIN_SIZES and (mean := float(excess[members].mean())) > worst:
            worst, split = mean, int(np.sort(sizes[members])[members.sum() // 2])
    return split


MAX_BREAKPOINTS, MAX_OVERHEAD_BREAKPOINTS = 6, 3
MIN_SIZES = 5
OUTLIER = 2.0
MIN_LATENCY_SHARE = 0.05
"""Part of the constant time of short messages that is latency, at least: overheads may overlap."""
TOLERATED = 0.02
"""Share of a message by which one handshake latency for all segments may lengthen it."""
UNEXPLAINED = 0.1
"""Share of a burst's interval that transfer and overheads must leave, for a gap g."""


@dataclass(frozen=True)
class NetworkFit:
    """The parameters of a network, and how well they predict the measured ping-pongs.

    Attributes:
        error: median over all sizes of |predicted - measured| / measured.
        worst_error: the largest.
        sizes: measured sizes.
        disturbed: share of the repeats that the system interrupted; they do not count.
    """

    network: Network
    error: float
    worst_error: float
    sizes: int
    disturbed: float


def _fit(points: Series, breakpoints: Sequence[int], max_breakpoints: int) -> tuple[PiecewiseLinear, Series]:
    """Fit a series; sizes off by more than a factor do not count. Returns the others, too.

    All repeats of such a size were interrupted, or none while the repeats of its neighbours were. The
    breakpoints are moved to whole bytes, and from the first size measured above a known one to that one.
    """
    sizes, ns = points
    while True:
        function = fit_piecewise(sizes, ns, breakpoints=breakpoints, max_breakpoints=max_breakpoints)
        ratios = [time / function.at(size) for size, time in zip(sizes, ns, strict=True)]
        kept = [i for i, ratio in enumerate(ratios) if 1 / OUTLIER < ratio < OUTLIER]
        if len(kept) in (len(sizes), 0) or len(kept) < MIN_SIZES:
            return _starting_at(function, breakpoints, sizes), (sizes, ns)
        sizes, ns = [sizes[i] for i in kept], [ns[i] for i in kept]


def one_way_ns(network: Network, nbytes: int) -> float:
    """Return the time of a message whose receive is posted, rendezvous included."""
    handshake = 0.0 if network.is_eager(nbytes) else network.rendezvous_latency_ns
    return network.segment(nbytes).message_ns(nbytes) + handshake


def fit_network(archive: Archive, level: str) -> NetworkFit:
    """Fit the network of a level, "memory" or "network".

    Raises:
        FormatError: there are too few measurements.
    """
    pingpong, send = (series(archive.of(kind, level)) for kind in ("pingpong", "send"))
    recv = series(archive.of("recv", level))
    has_whole_messages = bool(archive.metadata.get("whole_messages"))
    for kind, (sizes, _) in (("pingpong", pingpong), ("send", send)):
        if len(sizes) < MIN_SIZES and not (kind == "send" and has_whole_messages):
            raise FormatError(
                f"the archive has {len(sizes)} sizes of {kind} ({level}); {MIN_SIZES} are needed"
            )
    eager = _thresholds(archive, level)
    breakpoints = sorted({size + 1 for size in eager.values()})
    limit = eager.get("eager")
    pingpong_fit, counted = _fit(pingpong, breakpoints, MAX_BREAKPOINTS)
    sending = None if has_whole_messages else _fit(send, breakpoints, MAX_OVERHEAD_BREAKPOINTS)[0]
    receiving = _fit(recv, (), MAX_OVERHEAD_BREAKPOINTS)[0] if len(recv[0]) >= MIN_SIZES else None
    lines = _joint_lines(counted, [int(piece.from_x) for piece in pingpong_fit.pieces], pingpong_fit.at)
    segments = _segments(lines, sending, receiving, limit)
    segments = _with_gaps(segments, series(archive.of("burst", level)))
    segments = _with_noise(segments, archive.of("pingpong", level))
    network = _with_rendezvous(segments, limit)
    return _check(network, counted, _count_disturbed(archive, level))


def _thresholds(archive: Archive, level: str) -> dict[str, int]:
    """Return the largest sizes of the tests of Algorithms 3 and 4, where they found one."""
    thresholds = archive.of("threshold", level)
    return {m.name: max(m.nbytes, 0) for m in thresholds if not m.params.get("all")}


def _starting_at(
    function: PiecewiseLinear, breakpoints: Sequence[int], measured: Sequence[int]
) -> PiecewiseLinear:
    """Move breakpoints to whole bytes, and from the first size measured above a known one to that one."""
    first = {min((size for size in measured if size >= start), default=start): start for start in breakpoints}
    pieces = (replace(p, from_x=first.get(ceil(p.from_x), ceil(p.from_x))) for p in function.pieces[1:])
    return replace(function, pieces=(replace(function.pieces[0], from_x=0), *pieces))


def _segments(
    lines: Sequence[JointLine],
    sending: PiecewiseLinear | None,
    receiving: PiecewiseLinear | None,
    limit: int | None,
) -> list[Segment]:
    """Split the time of messages into overheads, latency and transfer, segment by segment."""
    functions = [function for function in (sending, receiving) if function]
    starts = {int(piece.from_x) for function in functions for piece in function.pieces}
    segments: list[Segment] = []
    for start in sorted(starts | {line.from_bytes for line in lines}):
        line = lines[bisect_right(lines, start, key=lambda line_segment: line_segment.from_bytes) - 1]
        before = segments[-1].latency_ns if segments else MIN_LATENCY_SHARE * line.fixed_ns
        segments.append(_segment(start, line, before, sending, receiving, limit))
    return segments


def _segment(
    start: int,
    line: JointLine,
    least_latency_ns: float,
    sending: PiecewiseLinear | None,
    receiving: PiecewiseLinear | None,
    limit: int | None,
) -> Segment:
    """Split the time of a message into overheads, latency and transfer."""
    send = (0.0, 0.0) if sending is None else _overhead(sending, start)
    rendezvous = limit is not None and start > limit
    # A rendezvous message is received while it is transferred: only the constant overhead is apart.
    recv = (0.0, 0.0) if receiving is None else _overhead(receiving, 0 if rendezvous else start)
    if rendezvous:
        recv = (recv[0], 0.0)
    fixed = _shares(line.fixed_ns - least_latency_ns, (send[0], recv[0]))
    growing = _shares(line.per_byte_ns, (send[1], recv[1]))
    return Segment(
        from_bytes=start,
        latency_ns=line.fixed_ns - sum(fixed),
        per_byte_ns=line.per_byte_ns - sum(growing),
        send_overhead_ns=fixed[0],
        recv_overhead_ns=fixed[1],
        send_overhead_per_byte_ns=growing[0],
        recv_overhead_per_byte_ns=growing[1],
    )


def _overhead(function: PiecewiseLinear, start: int) -> tuple[float, float]:
    piece = function.piece(start)
    return piece.intercept, piece.slope


def _shares(total: float, parts: tuple[float, float]) -> tuple[float, float]:
    """Return the parts, made smaller in proportion if they exceed the total: sender and receiver overlap."""
    scale = min(1.0, total / sum(parts)) if sum(parts) else 1.0
    return min(parts[0] * scale, total), min(parts[1] * scale, max(0.0, total - parts[0] * scale))


def _members(segments: Sequence[Segment], sizes: Sequence[int]) -> list[list[int]]:
    """Return the indices of the sizes that each segment holds."""
    ends = [s.from_bytes for s in segments[1:]] + [max(sizes, default=0) + 1]
    return [
        [i for i, size in enumerate(sizes) if segment.from_bytes <= size < end]
        for segment, end in zip(segments, ends, strict=True)
    ]


def _with_gaps(segments: list[Segment], burst: Series) -> list[Segment]:
    """Add g where messages of a burst follow each other more slowly than transfer and overheads explain."""
    sizes, intervals = burst
    extended = []
    for segment, members in zip(segments, _members(segments, sizes), strict=True):
        unexplained = [i for i in members if _busy_ns(segment, sizes[i]) < (1 - UNEXPLAINED) * intervals[i]]
        if 2 * len(unexplained) > len(members):
            gaps = sorted(intervals[i] for i in unexplained)
            segment = replace(segment, gap_ns=gaps[len(gaps) // 4])
        extended.append(segment)
    return extended


def _busy_ns(segment: Segment, nbytes: int) -> float:
    """Return the least time between two messages without a gap g."""
    return max(
        nbytes * segment.per_byte_ns,
        segment.send_overhead_ns + nbytes * segment.send_overhead_per_byte_ns,
        segment.recv_overhead_ns + nbytes * segment.recv_overhead_per_byte_ns,
    )


def _with_noise(segments: list[Segment], measurements: Sequence[Measurement]) -> list[Segment]:
    """Add how durations of one size vary: factors on their median, and half the range of the middle 68 %."""
    durations = by_size(measurements)
    sizes = list(durations)
    extended = []
    for segment, members in zip(segments, _members(segments, sizes), strict=True):
        durations_of_segment = [durations[sizes[i]] for i in members]
        ratios = [
            ns / typical(repeats) for repeats in durations_of_segment for ns in select_undisturbed(repeats)
        ]
        low, high = np.percentile(ratios, (16, 84)) if ratios else (1.0, 1.0)
        segment = replace(segment, relative_noise=float(high - low) / 2)
        if len(ratios) >= NOISE_PARTS:
            parts = np.array_split(np.sort(ratios), NOISE_PARTS)
            segment = replace(segment, noise_factors=tuple(float(part.mean()) for part in parts))
        extended.append(segment)
    return extended


def _with_rendezvous(segments: list[Segment], limit: int | None) -> Network:
    """Move latency that only rendezvous messages have into the parameter for it, one for all segments."""
    above = [s for s in segments if limit is not None and s.from_bytes > limit]
    below = [s for s in segments if s not in above]
    if limit is None or not above or not below:
        return Network(tuple(segments), limit)
    # The latency of later segments is a small part of their messages, so it is uncertain.
    most = min(s.latency_ns + TOLERATED * s.message_ns(s.from_bytes) for s in above)
    handshake = max(0.0, min(above[0].latency_ns - below[-1].latency_ns, most))
    moved = [replace(s, latency_ns=max(0.0, s.latency_ns - handshake)) for s in above]
    return Network((*below, *moved), limit, handshake)


def _check(network: Network, pingpong: Series, disturbed: float) -> NetworkFit:
    rounded = Network(
        tuple(_round(segment) for segment in network.segments),
        network.rendezvous_above_bytes,
        round(network.rendezvous_latency_ns, 1),
    )
    errors = [abs(one_way_ns(rounded, size) - ns) / ns for size, ns in zip(*pingpong, strict=True)]
    return NetworkFit(rounded, median(errors), max(errors), len(errors), disturbed)


def _round(segment: Segment) -> Segment:
    """Round to digits that people can read: 0.1 ns, and a millionth of a ns per byte."""
    names = [member.name for member in fields(segment) if member.name not in ("from_bytes", "noise_factors")]
    digits = {name: 6 if "per_byte" in name else 4 if name == "relative_noise" else 1 for name in names}
    values = {name: round(max(0.0, float(getattr(segment, name))), n) for name, n in digits.items()}
    return Segment(
        segment.from_bytes, **values, noise_factors=tuple(round(f, 3) for f in segment.noise_factors)
    )


def _count_disturbed(archive: Archive, level: str) -> float:
    durations = by_size(archive.of("pingpong", level)).values()
    return 1 - sum(len(select_undisturbed(ns)) for ns in durations) / sum(len(ns) for ns in durations)
