"""What the tracer costs per MPI call, and how much memory it holds."""
