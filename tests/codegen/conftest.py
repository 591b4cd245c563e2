"""No time limits per example: the hypothesis profile of the trace tests."""

import support.traces  # noqa: F401
