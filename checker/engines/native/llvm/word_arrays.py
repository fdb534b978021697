"""The types of packed states. A module that may run without NumPy imports them only for type checks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
"""Packed words, such as the states (n, words)."""

PackedStates = Words | list[list[int]]
"""Packed states (n, words): an array if there may be many."""
