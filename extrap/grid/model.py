"""The symbolic trace: result of `extrap.fit`, input of `extrap.instantiate`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scalatrace.trace.model.rules import (
    FamilyRule,
    Field,
    Model,
    ParamRule,
    Rule,
    StatRule,
    events,
    histograms,
)

__all__ = ["FamilyRule", "Model", "ParamRule", "Rule", "StatRule", "events", "fields_of", "histograms"]


def fields_of(rules: Sequence[Rule]) -> Iterator[Field]:
    """Yield the fields of rules and of their descendants."""
    for rule in rules:
        yield rule.repeat
        yield from (param.field for param in rule.params)
        yield from fields_of(rule.children)
