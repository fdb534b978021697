"""Explanations of disabled action instances: the false `require`, its location, and the values in it."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any

from checker.errors import Disabled
from checker.explain.reasons import reason_of_expression
from checker.explain.returned_calls import EvaluationScope
from checker.language.error_location import source_files
from checker.language.source import require_at
from checker.language.spec import Spec


def why_disabled(spec: Spec, error: Disabled) -> str:
    """Return why a step of a spec raised `Disabled`, as `require(...) is false (file.py:12): ...`."""
    # `Spec.step` raises an error of its own from that of the `require`.
    origin = error.__cause__ if isinstance(error.__cause__, Disabled) else error
    innermost = _innermost(origin.__traceback__, set(source_files(type(spec))))
    if innermost is None:
        return "a require is false"
    frame, line = innermost
    function = _function_of(type(spec), frame.f_code)
    call = require_at(frame.f_code.co_filename, line) if function is not None else None
    place = f"({Path(frame.f_code.co_filename).name}:{line})"
    if function is None or call is None:
        return f"a require is false {place}"
    text = f"{ast.unparse(call)} is false {place}"
    try:
        with spec.bound():
            reason = reason_of_expression(call.args[0], EvaluationScope(function, dict(frame.f_locals)), truth=False)
    except Exception:
        # An explanation is a convenience: without it, the text has only the guard.
        return text
    values = ", ".join(f"{name} = {value!r}" for name, value in reason.bindings.items())
    words = reason.text.removeprefix(f"{ast.unparse(call.args[0])} is false: ")
    return f"{text}: {values}: {words}" if values else f"{text}: {words}"


def _innermost(traceback: TracebackType | None, files: set[str]) -> tuple[FrameType, int] | None:
    innermost = None
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename in files:
            innermost = (traceback.tb_frame, traceback.tb_lineno)
        traceback = traceback.tb_next
    return innermost


def _function_of(spec: type[Spec], code: CodeType) -> Callable[..., Any] | None:
    """Return the method that a code object belongs to; None if it is not a method of the spec."""
    for base in spec.__mro__:
        for value in vars(base).values():
            if inspect.isfunction(value) and value.__code__ is code:
                return value
    return None
