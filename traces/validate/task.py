"""A validation task, described by names and numbers so that it can be sent to another process, and its execution."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Mapping as AnyMapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from checker.errors import BoundsError, InputError, SizeError, SpecError, UserError
from checker.language.error_location import with_location
from checker.language.spec import Scenario, Spec
from checker.run import registry
from checker.run.result import Violation
from traces.validate.controls import ControlResults, try_controls
from traces.validate.events import RecordedTrace
from traces.validate.explanation import explaining_behaviour
from traces.validate.forgetting import WINDOWS, Forgetting
from traces.validate.larger_constants import LargerConstants, larger_constants, limiting_constants
from traces.validate.mapping import OWN_ERRORS, Mapping
from traces.validate.moves import REMEMBERED, REMEMBERED_IN_WINDOW, invariants_of, moves_of
from traces.validate.sized_validation import SizedValidation, too_long
from traces.validate.validator import ValidationLimits, Validator
from traces.validate.verdict import TraceVerdict


@dataclass(frozen=True)
class ValidationTask:
    """A validation: the spec and the mapping by name, constants of the command line, and limits.

    `target` names a spec or a scenario. `mapping` names a file or a module, with `:Name` if it has several mappings.
    If `silent` is None, the mapping's limit applies. `controls` is the number of altered copies of each conforming
    trace that are tried.
    """

    target: str
    mapping: str
    settings: AnyMapping[str, int | bool | str] = field(default_factory=dict)
    engine: str = "native"
    candidates: int = 10_000
    silent: int | None = None
    controls: int = 0
    seed: int = 1


class RunningValidation:
    """Execution of a task, with a validator for each choice of constants.

    Raises UserError if the mapping does not fit the spec.
    """

    def __init__(self, task: ValidationTask):
        self.task = task
        self.entry, self.scenario = _select(task.target)
        self.mapping = load_mapping(task.mapping)
        self._validators: dict[str, Validator] = {}

    @property
    def name(self) -> str:
        """The name of the spec or scenario."""
        return self.entry.name if self.scenario is None else f"{self.entry.name}/{self.scenario.name}"

    @property
    def expected(self) -> frozenset[str]:
        """The invariants that the scenario expects to be violated."""
        expect = self.scenario.expect if self.scenario is not None else "holds"
        return frozenset() if isinstance(expect, str) else frozenset(expect)

    def outcome(self, recorded: RecordedTrace) -> TraceVerdict:
        """Return the verdict on a trace; a trace that cannot be read has the verdict `unreadable`."""
        try:
            outcome = self._with_sizes(recorded).validate(recorded)
            return outcome if outcome.rejection is None else self._beyond_limits(recorded, outcome)
        except SpecError as error:
            return (
                too_long(recorded)
                if self._is_too_long(recorded, error)
                else unreadable(recorded.name, recorded.file, error)
            )
        except UserError as error:
            return unreadable(recorded.name, recorded.file, error)

    def _beyond_limits(self, recorded: RecordedTrace, outcome: TraceVerdict) -> TraceVerdict:
        """Return the verdict on a trace without an explanation after larger values of the constants that limit it.

        The values that the command, the scenario or the log gives are facts about the implementation, and stay.
        """
        if outcome.forgotten or not outcome.limits <= {"bounds"}:
            return outcome
        given = self._constants(recorded)
        larger = larger_constants(
            outcome,
            lambda reached: limiting_constants(self.entry.spec(**reached.constants), reached) - given.keys(),
            lambda constants: self._validator(given | dict(constants)).validate(recorded),
        )
        if larger.is_decided:
            if not larger.settings:
                return outcome
            if outcome.verdict == larger.outcome.verdict == "rejected":
                return larger.outcome
        outcome.verdict, outcome.limits = "undecided", outcome.limits | {"bounds"}
        outcome.message = _message(larger)
        return outcome

    def controls(self, recorded: RecordedTrace, outcome: TraceVerdict) -> ControlResults | None:
        """Return the results of the controls of a conforming trace; None if no controls were requested."""
        if not self.task.controls or outcome.verdict != "conforms":
            return None
        return try_controls(self._with_sizes(recorded), recorded, self.task.controls, self.task.seed)

    def explanation(self, recorded: RecordedTrace, outcome: TraceVerdict) -> tuple[Spec, Violation] | None:
        """Return the spec of a trace and a behaviour of it that explains the trace as far as possible.

        None: the model forgot records, so that no behaviour of it begins where the trace begins.
        """
        if outcome.forgotten or "window" in outcome.limits:
            return None
        validator = self._validator(dict(outcome.constants))
        return validator.spec, explaining_behaviour(validator, recorded)

    def _with_sizes(self, recorded: RecordedTrace) -> SizedValidation:
        """Return the validation of a trace, which also fits its controls: they have the constants of the trace."""
        constants = self._constants(recorded)
        make = functools.partial(self._validator, constants)
        return SizedValidation(self.mapping, self._forgetting(recorded, constants), make)

    def _forgetting(self, recorded: RecordedTrace, constants: dict[str, Any]) -> Forgetting | None:
        """Return the mapping's forgetting if a trace is long enough, and its spec and constants permit it."""
        forgetting = self.mapping.forgetting
        if forgetting is None or forgetting.constants({}, WINDOWS[0]).keys() & self.task.settings.keys():
            return None
        if forgetting.total([event.found for event in recorded.events]) <= WINDOWS[0]:
            return None
        return forgetting if forgetting.fits(self.entry.spec(**forgetting.constants(constants, WINDOWS[0]))) else None

    def _is_too_long(self, recorded: RecordedTrace, error: SpecError) -> bool:
        """Return whether the constants that follow from a trace make the spec too large."""
        given = self.task.settings.keys() | (self.scenario.constants.keys() if self.scenario is not None else set())
        is_size = all(isinstance(part, SizeError) for part in error.parts)
        return is_size and bool(self._constants_of_recording(recorded).keys() - given)

    def _constants(self, recorded: RecordedTrace) -> dict[str, Any]:
        constants = dict(self.scenario.constants) if self.scenario is not None else {}
        return constants | self._constants_of_recording(recorded) | dict(self.task.settings)

    def _validator(self, constants: dict[str, Any], window: int | None = None) -> Validator:
        """Return the validator with some constants of a trace, and with all its records or a window of them."""
        checked = _invariants(self.entry.spec, self.scenario)
        unchecked: tuple[str, ...] = ()
        forgetting = self.mapping.forgetting
        if window is not None and forgetting is not None:
            constants = forgetting.constants(constants, window)
            unchecked = tuple(name for name in checked if name not in forgetting.checked)
            checked = tuple(name for name in checked if name in forgetting.checked)
        # As text: a log can have any value, which the spec refuses in a sentence.
        key = repr((window, sorted(constants.items(), key=lambda item: item[0])))
        if key not in self._validators:
            spec = self.entry.spec(**constants)
            silent = self.mapping.silent_bound if self.task.silent is None else self.task.silent
            limits = ValidationLimits(self.task.candidates, silent)
            try:
                remembered = REMEMBERED if window is None else REMEMBERED_IN_WINDOW
                moves = moves_of(spec, self.task.engine, checked, remembered)
                self._validators[key] = Validator(moves, self.mapping, limits, window, unchecked)
            except BoundsError as error:
                raise InputError(f"the initial state of {self.name} leaves the bounds of a type: {error}") from None
        return self._validators[key]

    def _constants_of_recording(self, recorded: RecordedTrace) -> dict[str, int | bool | str]:
        """Return the constants that follow from a trace; raise InputError if the mapping cannot find them in it."""
        try:
            return self.mapping.constants([event.found for event in recorded.events])
        except UserError:
            raise
        except OWN_ERRORS as error:
            # An event or a field that the mapping needs is missing.
            what = f"{type(self.mapping).__name__}.constants finds no constants in its events"
            own_error = self.mapping.own_error(error, what)
            raise InputError(own_error.message, file=recorded.file) from error


def unreadable(name: str, file: str, error: UserError) -> TraceVerdict:
    """Return the verdict on a trace that cannot be read."""
    return TraceVerdict(name, file, verdict="unreadable", message=str(error))


def _message(larger: LargerConstants) -> str:
    """Return what became of a trace with larger constants."""
    texts = []
    if larger.settings:
        settings = " ".join(f"--set {name}={value}" for name, value in larger.settings.items())
        rejection = larger.outcome.rejection
        place = f" at line {rejection.line}" if rejection is not None else ""
        texts = [f"with {settings}: {larger.outcome.verdict}{place}"]
    return "; ".join(texts if larger.is_decided else [*texts, "larger constants could not all be tried"])


def _select(target: str) -> tuple[registry.SpecEntry, Scenario | None]:
    selections = registry.select(target)
    if len(selections) > 1:
        known = ", ".join(selection.entry.target for selection in selections)
        raise InputError(f"{target} has several specs; name one of {known}")
    return selections[0].entry, selections[0].scenario


def _invariants(spec: type[Spec], scenario: Scenario | None) -> tuple[str, ...]:
    known = invariants_of(spec)
    if scenario is None or scenario.properties is None:
        return tuple(known)
    return tuple(name for name in known if name in scenario.properties)


def load_mapping(name: str) -> Mapping:
    """Return the mapping of `FILE.py`, `FILE.py:Name`, `package.module` or `package.module:Name`.

    Raises UserError if it cannot be loaded.
    """
    where, _, wanted = name.partition(":")
    module = _load(where)
    mappings = {
        key: value
        for key, value in vars(module).items()
        if inspect.isclass(value) and issubclass(value, Mapping) and value.__module__ == module.__name__
    }
    if wanted:
        if wanted not in mappings:
            raise InputError(f"{where} has no mapping {wanted}: {registry.suggestion(wanted, mappings)}")
        return _make(mappings[wanted])
    if len(mappings) != 1:
        what = "has several mappings" if mappings else "has no mapping: derive a class from traces.validate.Mapping"
        raise InputError(
            f"{where} {what}" + (f"; name one of {', '.join(f'{where}:{key}' for key in mappings)}" if mappings else "")
        )
    return _make(next(iter(mappings.values())))


def _make(mapping: type[Mapping]) -> Mapping:
    try:
        return mapping()
    except OWN_ERRORS as error:
        raise with_location(error, [inspect.getfile(mapping)]) from error


def _load(where: str) -> ModuleType:
    path = Path(where)
    try:
        if path.suffix != ".py":
            return importlib.import_module(where)
        if not path.is_file():
            raise InputError(f"there is no file {where}")
        name = f"mapping_file_{path.stem}"
        description = importlib.util.spec_from_file_location(
            name, path, loader=registry.UncachedLoader(name, str(path))
        )
        assert description is not None and description.loader is not None
        module = importlib.util.module_from_spec(description)
        sys.modules[name] = module
        description.loader.exec_module(module)
    except SyntaxError as error:
        raise InputError(
            f"{error.msg}: this is not valid Python", file=error.filename, line=error.lineno, text=error.text
        ) from None
    except ModuleNotFoundError as error:
        if error.name and where.startswith(error.name):
            raise InputError(f"there is no mapping {where}: name a file, mapping.py, or a module") from None
        raise InputError(f"the mapping {where} cannot be imported: {error}") from None
    except UserError:
        raise
    except OWN_ERRORS as error:
        raise with_location(error, [str(path), str(path.resolve())]) from error
    return module
