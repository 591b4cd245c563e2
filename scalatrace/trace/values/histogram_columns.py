"""Histograms of times as columns, one per quantity of all histograms (docs/reference/format.md).

The numbers of a histogram keep a few leading digits and are stored as differences, mostly of one byte.
A column of similar bytes deflates well, which rows of different quantities do not.
"""

from __future__ import annotations

from functools import cache

from scalatrace.trace.values.histogram import Bin, Histogram
from scalatrace.trace.values.naturals import numbers as _numbers
from scalatrace.trace.values.naturals import put as _put
from scalatrace.trace.values.rounding import COARSE, pack, unpack

__all__ = ["COLUMNS", "ColumnReader", "ColumnWriter", "rounded"]

COLUMNS = (
    "counts", "means", "means' low bytes", "deviations", "numbers of bins",
    "bins' counts", "bins' minima", "bins' means", "bins' maxima",
)  # fmt: skip
"""The columns, in the order of the file."""

MEAN_BITS = 10
"""Bits of a mean: within 0.05 %, in two bytes."""

BIN_BITS = 4
"""Bits of a bin's numbers: within 3 %."""

DEVIATION_BITS = 3
"""Bits of a standard deviation: within 6 %."""

MAX_BINS = 64
MAX_CODE = 1 << 16


class ColumnWriter:
    """Writer of histograms in columns."""

    def __init__(self) -> None:
        self._columns = tuple(bytearray() for _ in COLUMNS)
        self._count = 0

    @property
    def columns(self) -> tuple[bytes, ...]:
        """The columns that the file stores."""
        return tuple(map(bytes, self._columns))

    def add(self, histogram: Histogram) -> bool:
        """Append one. False: it does not fit, as one sample or negative numbers."""
        bins = _code_bins(histogram)
        if histogram.count < 2 or len(bins) > MAX_BINS or histogram.mean < 0 or histogram.std < 0:
            return False
        if any(not 0 <= low <= mean <= high for _, low, mean, high in bins):
            return False
        if len(bins) > 1 and any(count < 1 or (count == 1 and low < high) for count, low, _, high in bins):
            return False
        code = pack(histogram.mean, MEAN_BITS)
        before = pack(unpack(code, MEAN_BITS), BIN_BITS)
        if len(bins) == 1 and not bins[0][1] - 1 <= before <= bins[0][3] + 1:
            return False
        counts, means, low_bytes, deviations, numbers, bin_counts, minima, bin_means, maxima = self._columns
        _put(counts, 0 if histogram.count == self._count else histogram.count)
        self._count = histogram.count
        means.append(code >> 8)
        low_bytes.append(code & 0xFF)
        deviation = pack(histogram.std, DEVIATION_BITS)
        _put(deviations, _to_unsigned(deviation - pack(unpack(code, MEAN_BITS), DEVIATION_BITS)))
        _put(numbers, len(bins))
        if len(bins) == 1:
            low, high = min(bins[0][1], before), max(bins[0][3], before)
            if deviation == 0:
                low = high = before
            _put(minima, _to_unsigned(low - before))
            _put(maxima, high - low)
            return True
        for count, low, mean, high in bins:
            _put(bin_counts, count)
            _put(minima, _to_unsigned(low - before))
            if count > 1:
                _put(bin_means, mean - low)
                _put(maxima, high - mean)
            before = high
        return True


class ColumnReader:
    """Reader of histograms in the order in which they were added."""

    def __init__(self, columns: object = (b"",) * len(COLUMNS)) -> None:
        """Prepare the columns of a file. Raises ValueError when they are none."""
        if type(columns) is not tuple or len(columns) != len(COLUMNS):
            raise ValueError(f"histograms do not have {len(COLUMNS)} columns")
        if any(type(column) is not bytes for column in columns):
            raise ValueError("a column of histograms is not bytes")
        of_bytes = {COLUMNS.index("means"), COLUMNS.index("means' low bytes")}
        self._columns = [iter(c) if i in of_bytes else _numbers(c) for i, c in enumerate(columns)]
        self._count = 0

    def next(self) -> Histogram:
        """Return the next histogram. Raises ValueError if there is none, or the data is no histogram."""
        try:
            return self._next()
        except StopIteration:
            raise ValueError("a column of histograms ends too early") from None

    def _next(self) -> Histogram:
        counts, means, low_bytes, deviations, numbers, bin_counts, minima, bin_means, maxima = self._columns
        self._count = next(counts) or self._count
        mean = unpack(next(means) << 8 | next(low_bytes), MEAN_BITS)
        deviation = _to_signed(next(deviations)) + pack(mean, DEVIATION_BITS)
        nbins = next(numbers)
        if self._count < 2 or not 1 <= nbins <= MAX_BINS or not 0 <= deviation < MAX_CODE:
            raise ValueError("a histogram in columns has too few samples, no bins or a negative deviation")
        std = unpack(deviation, DEVIATION_BITS)
        before = pack(mean, BIN_BITS)
        if nbins == 1:
            first = before + _to_signed(next(minima))
            ends = _value(first), _value(first + next(maxima))
            within = _shorten_mean(mean)
            if std == 0:
                return Histogram(self._count, within, within, mean, 0)
            return Histogram(self._count, min(*ends, within), max(*ends, within), mean, std)
        bins = []
        for _ in range(nbins):
            size, first = next(bin_counts), before + _to_signed(next(minima))
            middle = last = first
            if size != 1:
                middle = first + next(bin_means)
                last = middle + next(maxima)
            if size < 1:
                raise ValueError("a histogram in columns has a bin without samples")
            bins.append(Bin(_value(size), _value(first), _value(last), _value(middle)))
            before = last
        low, high = min(b.min for b in bins), max(b.max for b in bins)
        return Histogram(self._count, low, high, mean, std, tuple(bins))

    def finish(self) -> None:
        """Check that all were taken. Raises ValueError."""
        if any(next(column, None) is not None for column in self._columns):
            raise ValueError("columns hold more histograms than the events have")


def rounded(histogram: Histogram) -> Histogram:
    """Return the histogram as a file with columns stores it."""
    writer = ColumnWriter()
    return ColumnReader(writer.columns).next() if writer.add(histogram) else histogram.rounded()


def _code_bins(histogram: Histogram) -> list[tuple[int, int, int, int]]:
    """For each bin the codes of count, minimum, mean, maximum; bins that rounding made one value are one."""
    bins: list[tuple[float, int, int, int]] = []
    for b in histogram.all_bins:
        low, mean, high = (pack(value, BIN_BITS) for value in (b.min, b.mean, b.max))
        if bins and low == high == bins[-1][1] == bins[-1][3]:
            bins[-1] = (bins[-1][0] + b.count, low, low, low)
        else:
            bins.append((b.count, low, mean, high))
    return [(pack(count, BIN_BITS), low, mean, high) for count, low, mean, high in bins]


def _shorten_mean(mean: int) -> int:
    """Return a mean with as many digits as ends of bins have in rows, and the same code: rows can hold it."""
    return mean >> (cut := max(0, mean.bit_length() - COARSE - 1)) << cut


@cache
def _value(code: int) -> int:
    """Return the number of a code. Raises ValueError for one that no number has."""
    if not 0 <= code < MAX_CODE:
        raise ValueError("a histogram in columns has a number below 0 or above 64 bits")
    return unpack(code, BIN_BITS)


def _to_unsigned(n: int) -> int:
    """0, -1, 1, -2, ... as 0, 1, 2, 3, ..."""
    return 2 * n if n >= 0 else -2 * n - 1


def _to_signed(n: int) -> int:
    """Return the reverse of `_to_unsigned`."""
    return n >> 1 if n % 2 == 0 else -(n >> 1) - 1
