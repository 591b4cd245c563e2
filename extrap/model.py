"""The symbolic trace, made by `extrap.fit` from traces, turned into a trace by `extrap.instantiate`."""

from __future__ import annotations

from scalatrace.trace.symbolic import FamilyRule, Model, ParamRule, Rule, StatRule, events, histograms

__all__ = ["FamilyRule", "Model", "ParamRule", "Rule", "StatRule", "events", "histograms"]
