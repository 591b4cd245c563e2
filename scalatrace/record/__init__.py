"""Putting the tracer under a program: launching it, building the shim, switching it on and off."""

from scalatrace.record.switch import tracing

__all__ = ["tracing"]
