"""What the tracer makes of the workloads: sizes, what each step of the compression brings, time per event."""
