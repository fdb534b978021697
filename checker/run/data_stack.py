"""The data stack: the memory in which CPython keeps the frames of the functions of a thread.

It has chunks of 16 KB. A call that finds its chunk full maps another one, and the return unmaps it. Compiling a spec
calls and returns across the end of a chunk over a thousand times: a twentieth of the time.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import TypeVar

Returned = TypeVar("Returned")

_FRAME_WORDS = 1 << 16
"""The size of a frame for which CPython maps a chunk of 1 MB, the next power of two: the frame itself takes 512 KB.

The other half has room for about a thousand frames; deeper calls get further chunks of 16 KB. Memory that is not used
is not taken.
"""


def _call(function: Callable[[], Returned]) -> Returned:
    return function()


def call_in_large_chunk(function: Callable[[], Returned]) -> Returned:
    """Return `function()`; its frames and those of its callees are in one large chunk of the data stack."""
    large = types.FunctionType(_call.__code__.replace(co_stacksize=_FRAME_WORDS), globals())
    found: Returned = large(function)
    return found
