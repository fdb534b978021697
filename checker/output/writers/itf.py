"""Counterexamples in the Informal Trace Format (ITF), which Apalache and Quint write and their viewers open.

Source: Apalache, ADR-015, "Informal Trace Format in JSON". A trace has the shape `{"#meta": ..., "params": [names],
"vars": [names], "states": [...]}`, and a file's name ends with `.itf.json`.
"""

from __future__ import annotations

import json
from typing import Any

from checker.language.spec import Spec
from checker.language.types import (
    BagType,
    BoolType,
    DomainType,
    EnumType,
    IntType,
    MapType,
    OptionType,
    SeqType,
    SetType,
    StructType,
    TupleType,
    Type,
    UnionType,
)
from checker.language.values import show
from checker.output.formats import Counterexample
from checker.run.result import TraceStep, Violation
from traces.trace_file import Origin, arguments_to_json

_SAFE = 2**53 - 1
"""The largest integer that every JSON parser reads exactly; larger ones are written as `#bigint`."""


def write(counterexample: Counterexample) -> str:
    """Return a counterexample as ITF."""
    content = to_itf(counterexample.spec, counterexample.violation, counterexample.origin)
    return json.dumps(content, indent=1) + "\n"


def to_itf(spec: Spec, violation: Violation, origin: Origin) -> dict[str, Any]:
    """Return a violation with its trace as an ITF object; `#meta` of a state has the action that led to it.

    The states of a lasso do not repeat the first state of the loop: `loop` is its index, and `closing_step` of `#meta`
    the action that returns to it, null if the system stays in that state.
    """
    closing = violation.closing_step
    with spec.bound():
        steps = violation.trace if closing is None else violation.trace[:-1]
        states = [_state(spec, index, step) for index, step in enumerate(steps)]
    return {
        "#meta": {
            "format": "ITF",
            "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
            "source": origin.name,
            "description": f"{violation.property}: {violation.explanation}",
            "property": violation.property,
            "kind": violation.kind,
            "constants": origin.constants,
            "command": origin.command,
            **({} if violation.loop_start is None else _lasso_meta(spec, violation)),
        },
        "params": [],
        "vars": list(spec.variables),
        "states": states,
        **({} if violation.loop_start is None else {"loop": violation.loop_start}),
    }


def itf_value(kind: Type, value: Any) -> Any:
    """Return a value of a type as an ITF expression.

    Sets become `#set`; maps and bags (item to count) become `#map`. An empty `Option` is a record with the tag `None`,
    as in Quint. Members of domains and enums become strings.
    """
    match kind:
        case BoolType():
            return value
        case IntType():
            return value if abs(value) <= _SAFE else {"#bigint": str(value)}
        case DomainType() | EnumType():
            return show(value)
        case OptionType():
            if value is None:
                return {"tag": "None", "value": {"#tup": []}}
            return {"tag": "Some", "value": itf_value(kind.item, value)}
        case UnionType():
            alternative = kind.alternative_of(value)
            return {"tag": str(alternative), "value": itf_value(alternative, value)}
        case TupleType():
            return {"#tup": [itf_value(part, item) for part, item in zip(kind.items, value, strict=True)]}
        case StructType():
            return {name: itf_value(part, value.field(name)) for name, part in kind.fields}
        case MapType():
            pairs = zip(kind.key.values(), value.items_in_order(), strict=True)
            return {"#map": [[itf_value(kind.key, key), itf_value(kind.value, item)] for key, item in pairs]}
        case SetType():
            return {"#set": [itf_value(kind.item, item) for item in value]}
        case SeqType():
            return [itf_value(kind.item, item) for item in value]
        case BagType():
            return {"#map": [[itf_value(kind.item, item), value.count(item)] for item in dict.fromkeys(value)]}
    raise AssertionError(f"a {kind} cannot be part of a state")


def _lasso_meta(spec: Spec, violation: Violation) -> dict[str, Any]:
    closing = violation.closing_step
    return {
        "closing_step": closing and _call(spec, closing),
        "bindings": {name: show(value) for name, value in violation.bindings},
        "owed_since": violation.owed_since,
        "fairness": list(violation.fairness),
    }


def _call(spec: Spec, step: TraceStep) -> dict[str, Any]:
    return {"action": step.action, "arguments": arguments_to_json(spec, step.action, step.arguments)}


def _state(spec: Spec, index: int, step: TraceStep) -> dict[str, Any]:
    meta: dict[str, Any] = {"index": index}
    if step.action is not None:
        meta |= _call(spec, step)
    return {"#meta": meta} | {name: itf_value(kind, step.state.values[name]) for name, kind in spec.variables.items()}
