"""The work of `conform FILE.py`: each adapter of a file beside its spec."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence

from checker.errors import BoundsError, InputError, UserError
from checker.language.error_location import with_location
from checker.language.spec import Spec
from checker.printable import printable_lines
from checker.run import registry
from checker.run.request import EXIT_OK, EXIT_STOPPED, EXIT_VIOLATED, settings_of, worst_status
from checker.testing.adapter import Adapter
from checker.testing.conformance import ConformanceResult, conform


def adapters_of(name: str) -> dict[str, type[Adapter]]:
    """Return the adapters with a spec that a file defines, by name; the one of `FILE.py/Adapter`.

    No adapter for the name of a spec, or for a file without adapters. Raises SpecError if the file cannot be imported,
    InputError if none has this name, or one has no spec.
    """
    file, rest = registry.file_and_rest(name)
    if file is None:
        return {}
    module = registry.load_module(file)
    adapters = {
        name: each
        for name, each in vars(module).items()
        if isinstance(each, type) and issubclass(each, Adapter) and each.__module__ == module.__name__
    }
    for name, each in adapters.items():
        is_base = any(issubclass(other, each) and other is not each for other in adapters.values())
        if each.spec is None and not is_base:
            raise InputError(f"{name} in {file} names no spec: add spec = ... with the class of the spec")
    with_spec = {name: each for name, each in adapters.items() if each.spec is not None}
    wanted = rest.strip("/")
    if not adapters or not wanted:
        return with_spec
    if wanted not in with_spec:
        raise InputError(f"{file} has no adapter {wanted}: choose from {', '.join(with_spec)}")
    return {wanted: with_spec[wanted]}


def conform_adapters(adapters: Mapping[str, type[Adapter]], settings: Sequence[str], most_pairs: int) -> int:
    """Compare implementations with their specs and print the results; return the exit status.

    `settings` are `NAME=VALUE` texts of constants. Raises UserError if the spec or an adapter is wrong.
    """
    statuses = []
    for name, adapter in adapters.items():
        result = _result_of(name, adapter, settings, most_pairs)
        print(printable_lines(f"{name}: {result}"), flush=True)
        ends = EXIT_OK if result.is_complete else EXIT_STOPPED
        statuses.append(EXIT_VIOLATED if result.difference else ends)
    return worst_status(statuses)


def _result_of(name: str, adapter: type[Adapter], settings: Sequence[str], most_pairs: int) -> ConformanceResult:
    kind = adapter.spec
    if not (isinstance(kind, type) and issubclass(kind, Spec)) or kind is Spec:
        raise InputError(f"the spec of {name} is {kind!r}: name the class of a spec, and set its constants with --set")
    spec = kind(**settings_of(kind, tuple(settings)))
    try:
        return conform(spec, adapter, most_pairs)
    except BoundsError as error:
        raise InputError(f"{spec.name} leaves the bounds of a type ({error}): `run` shows where") from error
    except UserError:
        raise
    except Exception as error:
        # The methods of the adapter that are no actions: start, observe, project, fork, identity and close.
        files = [inspect.getfile(each) for each in adapter.__mro__ if issubclass(each, Adapter) and each is not Adapter]
        raise with_location(error, files) from error
