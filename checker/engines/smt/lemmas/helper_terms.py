"""Helpers of a spec as terms of the vocabulary: `self.leader()`, `self.presumes_leadership({a})`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from checker.engines.smt.lemmas.lemma_source import types_in, with_methods
from checker.engines.smt.lemmas.vocabulary import MAX_KEYS, SLOTS, StateTerm, texts_of
from checker.errors import SpecError
from checker.frontend import compile_spec
from checker.frontend.symmetry import calls_in
from checker.language.spec import Spec
from checker.language.types import DomainType, EnumType, IntType, Type

_PROBE = "probe"


def helper_terms(spec: Spec) -> list[StateTerm]:
    """Return the calls of helpers that read the state and have up to two parameters of few values.

    A parameter has few values if its annotation is a domain, an enum or a range of the spec's variables.
    """
    kinds = {name: kind for variable in spec.variables.values() for name, kind in _names_in(variable)}
    terms = []
    for name, helper in inspect.getmembers(type(spec), inspect.isfunction):
        if name.startswith("_") or name == "init" or name in spec.roles or hasattr(Spec, name):
            continue
        annotations = [parameter.annotation for parameter in list(inspect.signature(helper).parameters.values())[1:]]
        slots = [kinds.get(getattr(annotation, "__name__", "")) for annotation in annotations]
        if len(slots) > len(SLOTS) or any(slot is None or slot.cardinality() > MAX_KEYS for slot in slots):
            continue
        given = tuple(slot for slot in slots if slot is not None)
        result = _result(spec, name, given)
        if result is not None:
            places = ", ".join(f"{{{SLOTS[number]}}}" for number in range(len(given)))
            terms.append(StateTerm(f"self.{name}({places})", result, given, rank=1))
    return terms


def _result(spec: Spec, name: str, slots: tuple[Type, ...]) -> Type | None:
    """Return the type of a helper's result; None if it changes the state, disables an action or is no helper."""
    call = f"self.{name}({', '.join(texts_of(slot)[0] for slot in slots)})"
    probe = f"@invariant\ndef {_PROBE}(self):\n    value = {call}\n    return value == value"
    try:
        program = compile_spec(with_methods(spec, probe), [_PROBE])
    except SpecError:
        return None
    function = next(one.function for one in calls_in(program.properties[0].function) if one.function.name == name)
    return None if function.writes or function.requires else function.result


def _names_in(kind: Type) -> Iterator[tuple[str, Type]]:
    """Iterate over the domains, enums and declared ranges in a type, by name."""
    for part in types_in(kind):
        if isinstance(part, (DomainType, EnumType)):
            yield part.declared.__name__, part
        elif isinstance(part, IntType) and part.name:
            yield part.name, part
