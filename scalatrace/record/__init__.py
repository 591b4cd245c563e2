"""Recorder: launch a program with the tracer, build the shim, switch recording on and off."""

from scalatrace.record.switch import tracing

__all__ = ["tracing"]
