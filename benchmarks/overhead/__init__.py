"""Time of the tracer per MPI call, and its memory."""
