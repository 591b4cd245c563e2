"""Consistency of the calls of all ranks of a trace: partners of messages, sizes, roots."""
