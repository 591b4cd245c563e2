"""Recorder: launch a program with the tracer, build the shim, switch recording on and off, mark kernels."""

from scalatrace.record.annotations import kernel, tracing

__all__ = ["kernel", "tracing"]
