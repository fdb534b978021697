"""Specs extended with methods given as source text, as if a user had added the text to the spec's class."""

from __future__ import annotations

import itertools
import linecache
import re
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

import checker.language
from checker.language.spec import Spec
from checker.language.types import (
    BagType,
    DomainType,
    EnumType,
    MapType,
    OptionType,
    SeqType,
    SetType,
    StructType,
    TupleType,
    Type,
    UnionType,
)

_COUNTER = itertools.count(1)


def with_methods(spec: Spec, methods: str) -> Spec:
    """Return a spec with the same constants, for proofs: a subclass with the methods of a text, and without a view.

    The text may use the names of the class's module, the names of `checker.language`, and the spec's types.
    """
    base = type(spec)
    body = textwrap.indent(methods.strip("\n"), "    ") or "    pass"
    text = f"class {base.__name__}(_Base, abstract=True):\n    name = {spec.name!r}\n\n{body}\n"
    names: dict[str, Any] = {**vars(checker.language), **vars(sys.modules[base.__module__]), "_Base": base}
    names.update(types_of(spec))
    file = f"<{spec.name} with added methods {next(_COUNTER)}>"
    # The front end reads the source of methods through `inspect`, which looks in this cache.
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), names)
    extended: Spec = names[base.__name__](**spec.constants)
    return extended.without_view()


def types_of(spec: Spec) -> dict[str, type]:
    """Return the domains, enums and structs of a spec's variables by name."""
    return {kind.__name__: kind for variable in spec.variables.values() for kind in _declarations(variable)}


def imports_for(spec: Spec, text: str) -> list[str]:
    """Return the import statements that a text needs in the module of the spec's class."""
    there = vars(sys.modules[type(spec).__module__])
    modules: dict[str, list[str]] = {} if "lemma" in there else {"checker.language": ["lemma"]}
    for name, kind in types_of(spec).items():
        if there.get(name) is not kind and re.search(rf"\b{name}\b", text):
            modules.setdefault(kind.__module__, []).append(name)
    return [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(modules.items())]


def types_in(kind: Type) -> Iterator[Type]:
    """Iterate over a type and the types of its parts."""
    yield kind
    parts: list[Type] = []
    if isinstance(kind, StructType):
        parts = [field for _, field in kind.fields]
    elif isinstance(kind, UnionType):
        parts = [*kind.alternatives]
    elif isinstance(kind, MapType):
        parts = [kind.key, kind.value]
    elif isinstance(kind, (OptionType, SetType, SeqType, BagType)):
        parts = [kind.item]
    for part in parts:
        yield from types_in(part)


def _declarations(kind: Type) -> Iterator[type]:
    for part in types_in(kind):
        if isinstance(part, (DomainType, EnumType, StructType)) and not isinstance(part, TupleType):
            yield part.declared
