"""The work of `conform FILE.py`: each adapter of a file beside its spec."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from checker.errors import BoundsError, InputError, UserError
from checker.language.error_location import with_location
from checker.run import registry
from checker.run.request import EXIT_OK, EXIT_STOPPED, EXIT_VIOLATED, settings_of
from checker.testing.adapter import Adapter
from checker.testing.conformance import ConformanceResult, conform


def adapters_of(name: str) -> list[type[Adapter]]:
    """Return the adapters that a file defines, those with a spec; the one of `FILE.py/Adapter`.

    No adapter for the name of a spec, or for a file without adapters. Raises SpecError if the file cannot be imported,
    InputError if it has adapters but none of this name, or none with a spec.
    """
    file, rest = registry.file_and_rest(name)
    if file is None:
        return []
    module = registry.load_module(file)
    defined = [each for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__]
    adapters = [each for each in defined if issubclass(each, Adapter)]
    with_spec = {each.__name__: each for each in adapters if each.spec is not None}
    if adapters and not with_spec:
        raise InputError(f"{adapters[0].__name__} in {file} names no spec: add spec = ... with the class of the spec")
    wanted = rest.strip("/")
    if not adapters or not wanted:
        return list(with_spec.values())
    if wanted not in with_spec:
        raise InputError(f"{file} has no adapter {wanted}: choose from {', '.join(with_spec)}")
    return [with_spec[wanted]]


def conform_adapters(adapters: Sequence[type[Adapter]], settings: Sequence[str], most_pairs: int) -> int:
    """Compare implementations with their specs and print the results; return the exit status.

    `settings` are `NAME=VALUE` texts of constants. Raises UserError if the spec or an adapter is wrong.
    """
    statuses = set()
    for adapter in adapters:
        result = _result_of(adapter, settings, most_pairs)
        print(f"{adapter.__name__}: {result}", flush=True)
        ends = EXIT_OK if result.is_complete else EXIT_STOPPED
        statuses.add(EXIT_VIOLATED if result.difference else ends)
    return EXIT_VIOLATED if EXIT_VIOLATED in statuses else max(statuses)


def _result_of(adapter: type[Adapter], settings: Sequence[str], most_pairs: int) -> ConformanceResult:
    assert adapter.spec is not None
    spec = adapter.spec(**settings_of(adapter.spec, tuple(settings)))
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
