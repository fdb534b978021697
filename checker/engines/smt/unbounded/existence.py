"""The values of an open constant at which its spec exists: at some values its types or assumptions refuse it."""

from __future__ import annotations

from checker.errors import UserError
from checker.language.declarations import Binding
from checker.language.spec import Spec

MOST_PROBES = 64
"""The values below that of the scenario that are tried."""


def values_text(spec: Spec, names: list[str]) -> str:
    """Return the values of open constants that a proof is about: `n at which the spec exists (n >= 1)`.

    The note is left out if the spec exists at every declared value up to that of the scenario. `spec` has the constants
    of the scenario.
    """
    missing = {name: _missing(spec, name) for name in names}
    bounds = [_lower_end(spec, name, values) for name, values in missing.items() if values]
    if not bounds:
        return ", ".join(names)
    known = ", ".join(bound for bound in bounds if bound)
    return f"{', '.join(names)} at which the spec exists{f' ({known})' if known else ''}"


def _missing(spec: Spec, name: str) -> list[int]:
    """Return the declared values up to that of the scenario at which there is no spec."""
    present = spec.constants[name]
    assert isinstance(present, int)
    at_least = spec.declared_constants[name].bounds(Binding(spec.constants))[0]
    first = present - MOST_PROBES if at_least is None else max(at_least, present - MOST_PROBES)
    return [value for value in range(first, present) if not _exists(spec, name, value)]


def _exists(spec: Spec, name: str, value: int) -> bool:
    try:
        type(spec)(**(spec.constants | {name: value}))
    except UserError:
        return False
    return True


def _lower_end(spec: Spec, name: str, missing: list[int]) -> str:
    """Return the smallest value if the missing ones are all below it, or ""."""
    is_interval = missing == [*range(missing[0], missing[-1] + 1)] and not _exists(spec, name, missing[0] - 1)
    return f"{name} >= {missing[-1] + 1}" if is_interval else ""
