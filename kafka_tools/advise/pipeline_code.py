"""The machine code of the pipelines that advice explores, shared by all configurations of equal size.

Settings such as `acks` or `min.insync.replicas` are read at run time; the number of replicas or records is part of the
code. Code with room for several requests in flight also serves a pipeline with fewer. See
`checker.engines.native.shared_code`.
"""

from __future__ import annotations

from collections.abc import Sequence

from checker.engines.native.shared_code import SharedCode, compile_shared_code
from checker.language.spec import Spec
from kafka_tools.advise.models import Model
from kafka_tools.advise.questions import FAILURES, QUESTIONS, is_relevant, properties_for
from specs.pipeline.partition import Broker
from specs.pipeline.pipeline import Pipeline

_ROOM = ("max_in_flight",)
"""The constants that types use for sizes only. `test_survey.py` compares explorations with more and with less room."""

_codes: list[SharedCode] = []
"""The code of this process. Forked processes inherit it."""


def code_for(spec: Spec) -> SharedCode:
    """Return the code of a pipeline; it is compiled if no known code serves the pipeline."""
    known = _shared_code(spec)
    if known is None:
        known = compile_code(spec)
        add(known)
    return known


def add(code: SharedCode) -> None:
    """Make code known that another process has compiled."""
    _codes.append(code)


def compile_code(spec: Spec, *, for_many: bool = False) -> SharedCode:
    """Return new code of a pipeline that checks every property of its kind. `for_many` explorations it is optimised."""
    # With one request in flight there are too few states.
    quick = not for_many or spec.constants["max_in_flight"] == 1
    return compile_shared_code(spec, list(_properties_of(spec)), symmetric=Broker, room=_ROOM, quick=quick)


def without_code(specs: Sequence[Spec]) -> list[Spec]:
    """Return the pipelines that no known code serves, one of each size: its code may serve the others."""
    by_need: dict[object, Spec] = {}
    for spec in sorted(specs, key=lambda spec: spec.constants["max_in_flight"], reverse=True):
        if _shared_code(spec) is None:
            sizes = tuple((name, spec.constants[name]) for name in sorted(spec.constants_of_types - {*_ROOM}))
            by_need.setdefault((_properties_of(spec), sizes), spec)
    return list(by_need.values())


def _properties_of(spec: Spec) -> tuple[str, ...]:
    """Return the properties that answer the questions about a pipeline: with a consumer others than without one."""
    with_consumer = spec.constants["consumer"] != "none"
    asked = [
        properties_for(question, failure, Model(Pipeline, ()))
        for question in QUESTIONS
        for failure in FAILURES
        if question.of_consumer == with_consumer and is_relevant(question, failure) and not failure.of_consumer_group
    ]
    return tuple(dict.fromkeys(name for properties in asked for name in properties))


def _shared_code(spec: Spec) -> SharedCode | None:
    properties = _properties_of(spec)
    return next((code for code in _codes if code.serves(spec, properties)), None)
