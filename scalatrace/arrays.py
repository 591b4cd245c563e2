"""Types of numpy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Floats", "Ints", "Mask"]

Floats = np.ndarray[Any, np.dtype[np.float64]]
Ints = np.ndarray[Any, np.dtype[np.int64]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]
