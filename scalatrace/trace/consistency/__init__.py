"""Whether the calls of all ranks of a trace fit together: partners of messages, sizes, roots."""
