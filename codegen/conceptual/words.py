"""The reserved words of coNCePTuaL 1.5 and the one terminal that stands for all spellings of a word."""

from __future__ import annotations

__all__ = ["FUNCTIONS", "KEYWORDS", "PREDECLARED", "TIME_UNITS", "TYPES", "UNITS"]

# With and without the plural's or the third person's S: grammatical number means nothing.
_NUMBERED = (
    "await bit buffer byte completion compute day doubleword execute halfword hour integer log message "
    "microsecond millisecond minute multicast output page processor quadword receive repetition reduce "
    "reset restore result second send sleep store synchronize task time word"
)

_IRREGULAR = {
    "touch": "TOUCHES", "touches": "TOUCHES", "a": "A", "an": "A", "is": "IS", "are": "IS",
    "it": "IT", "them": "IT", "its": "ITS", "their": "ITS",
}  # fmt: skip

_SINGLE = (
    "abs absolute aggregates aligned all and arithmetic as assert assigned asynchronously backend be but "
    "cbrt ceiling comes counters current data declares default deviation divides each even factor10 "
    "file_data final floor for from geometric gigabyte greater group harmonic histogram if in into "
    "kilobyte knomial_child knomial_children knomial_parent language less let log10 max maximum mean "
    "median megabyte memory mesh_coordinate mesh_distance mesh_neighbor min minimum misaligned mod my "
    "nonunique not odd of or other otherwise percentile plus processor_of random random_gaussian "
    "random_pareto random_poisson random_uniform real reduces region require root round sized sqrt "
    "standard static_file_data stride such sum synchronization synchronously tag task_of than that the "
    "then to touching tree_child tree_parent unaligned unique unsuspecting using value variance "
    "verification version warmup where while who with without xor"
)

KEYWORDS: dict[str, str] = {word: word.upper() for word in _SINGLE.split()}
"""Every reserved word in lower case -> its terminal."""
KEYWORDS |= {form: word.upper() + "S" for word in _NUMBERED.split() for form in (word, word + "s")}
KEYWORDS |= _IRREGULAR

PREDECLARED = (
    "num_tasks", "elapsed_usecs", "bit_errors", "bytes_sent", "bytes_received", "total_bytes",
    "msgs_sent", "msgs_received", "total_msgs",
)  # fmt: skip
"""Variables that every task has from the start and no program may declare."""

TYPES = ("BYTES", "HALFWORDS", "WORDS", "INTEGERS", "DOUBLEWORDS", "QUADWORDS", "PAGES")
UNITS = (*TYPES, "BITS", "KILOBYTE", "MEGABYTE", "GIGABYTE")

TIME_UNITS = {
    "MICROSECONDS": 1,
    "MILLISECONDS": 1_000,
    "SECONDS": 1_000_000,
    "MINUTES": 60_000_000,
    "HOURS": 3_600_000_000,
    "DAYS": 86_400_000_000,
}
"""Terminal -> microseconds."""

FUNCTIONS: dict[str, tuple[int, int | None]] = {
    **dict.fromkeys(
        ("ABS", "BITS", "CBRT", "CEILING", "FACTOR10", "FLOOR", "LOG10", "ROUND", "SQRT"), (1, 1)
    ),
    **dict.fromkeys(("PROCESSOR_OF", "TASK_OF", "RANDOM_POISSON"), (1, 1)),
    **dict.fromkeys(("ROOT", "RANDOM_UNIFORM", "RANDOM_GAUSSIAN"), (2, 2)),
    "RANDOM_PARETO": (2, 3),
    "MIN": (1, None),
    "MAX": (1, None),
    "TREE_PARENT": (1, 2),
    "TREE_CHILD": (2, 3),
    "KNOMIAL_PARENT": (1, 3),
    "KNOMIAL_CHILDREN": (1, 3),
    "KNOMIAL_CHILD": (2, 4),
}
"""Function -> least and most arguments; None: any number."""
