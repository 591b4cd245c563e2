"""Ways in which programs end under the tracer: the messages, the recovered calls, the exit status."""
