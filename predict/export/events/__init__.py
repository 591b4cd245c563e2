"""Exports of events: the calls of a time line as tables, and in the formats of viewers."""
