"""Events as CSV and as Parquet."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import chain, islice
from typing import IO

from scalatrace import escapes
from scalatrace.errors import LimitError, UsageError
from scalatrace.predict.export.events.rows import EventRow, columns, rows
from scalatrace.predict.timeline import Timeline
from scalatrace.trace.values.vec import INT64

__all__ = ["write_csv", "write_parquet"]

ROWS_AT_ONCE = 1 << 16
"""Rows that are converted together: a row group of a Parquet file."""


def write_csv(timeline: Timeline, file: IO[bytes]) -> None:
    """Write a line of column names (`columns`), then a line for each call; nothing stands for None."""
    text = io.TextIOWrapper(file, "utf-8", "backslashreplace", newline="")
    names = columns(timeline)
    escapes.write_csv(text, chain([names], (row[: len(names)] for row in rows(timeline))))
    text.detach()


def write_parquet(timeline: Timeline, file: IO[bytes]) -> None:
    """Write a table with the columns of `EventRow`. Raises UsageError if pyarrow is not installed."""
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError:
        raise UsageError(
            "Parquet needs the package pyarrow; install it: pip install 'scalatrace[parquet]'"
        ) from None
    word = arrow.dictionary(arrow.int32(), arrow.string())
    types = (
        arrow.int32(),
        word,
        arrow.int32(),
        arrow.int64(),
        arrow.int64(),
        word,
        arrow.int64(),
        arrow.int64(),
        word,
        arrow.int32(),
    )
    schema = arrow.schema(list(zip(columns(timeline), types, strict=False)))
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for batch in _batches(rows(timeline)):
            arrays = (
                arrow.array([_text(value) for value in column], kind)
                for column, kind in zip(zip(*batch, strict=True), schema.types, strict=False)
            )
            writer.write_table(arrow.Table.from_arrays(list(arrays), schema=schema))


def _batches(stream: Iterator[EventRow]) -> Iterator[list[EventRow]]:
    while batch := list(islice(stream, ROWS_AT_ONCE)):
        yield batch


def _text(value: object) -> object:
    """Return a value that Parquet can hold: text without bytes that are no UTF-8, and 64-bit integers."""
    if isinstance(value, int) and value not in INT64:
        raise LimitError(f"Parquet cannot hold {value}: it is longer than 64 bits; use --to csv")
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
