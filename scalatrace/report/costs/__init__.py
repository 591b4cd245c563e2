"""What calls cost: rows of calls, bytes and times per operation, call site or rank, and their comparison."""
