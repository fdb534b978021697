"""Requests of the command line, and the runs that they ask for."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from checker.errors import CollectedErrors, InputError, SizeError, SpecError, UserError
from checker.language.constant_values import setting_text
from checker.language.fairness import NEXT, Strength
from checker.language.liveness import liveness_names
from checker.language.roles import Role
from checker.language.spec import Expectation, Scenario, Spec
from checker.run import registry
from checker.run.expectation import expectation_for, properties_to_check, property_names, stop_for
from checker.run.plan import DEADLOCK, Stop
from checker.run.result import Violation

EXIT_OK, EXIT_VIOLATED, EXIT_WRONG_INPUT, EXIT_STOPPED = 0, 1, UserError.exit_status, 3


def worst_status(statuses: Iterable[int]) -> int:
    """Return the exit status of several comparisons: a difference outranks one that is undecided."""
    return max(statuses, key=[EXIT_OK, EXIT_STOPPED, EXIT_VIOLATED].index)


@dataclass(frozen=True)
class Request:
    """The arguments and options of a command that select its runs.

    `symmetry` is None if each scenario says whether it is explored with symmetry.
    """

    targets: tuple[str, ...]
    settings: tuple[str, ...] = ()
    fair: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    deadlock: bool = False
    keep_going: bool = False
    symmetry: bool | None = None

    @property
    def words(self) -> list[str]:
        """The command-line arguments of this request."""
        repeated = {"--set": self.settings, "--fair": self.fair, "--property": self.properties}
        flags = {
            "--deadlock": self.deadlock,
            "--keep-going": self.keep_going,
            "--symmetry": self.symmetry is True,
            "--no-symmetry": self.symmetry is False,
        }
        return [
            *self.targets,
            *(word for option, values in repeated.items() for value in values for word in (option, value)),
            *(option for option, is_given in flags.items() if is_given),
        ]


@dataclass(frozen=True)
class Run:
    """A spec with its constants, the properties to check, and the expected result (None: no expectation).

    `settings` are the constants that `--set` changed, `fair` the fairness that `--fair` changed. `symmetry`: the run
    stores one state of each orbit.
    """

    entry: registry.SpecEntry
    scenario: str | None
    spec: Spec
    properties: tuple[str, ...]
    expected: Expectation | None
    keep_going: bool
    settings: Mapping[str, int | bool | str]
    fair: Mapping[str, Strength | None] = field(default_factory=dict)
    symmetry: bool = False

    @property
    def name(self) -> str:
        """The full name of the scenario, or of the spec if it runs without a scenario."""
        return self.entry.name if self.scenario is None else f"{self.entry.name}/{self.scenario}"

    @property
    def stop(self) -> Stop:
        """When the run may stop."""
        return "all" if self.keep_going else stop_for(self.expected or "holds")

    def command(self, violation: Violation) -> str:
        """Return the command line that finds a violation of this run again."""
        words = ["run", *self.words]
        if violation.kind != "bounds_error":
            words += ["--property", violation.property]
        return shlex.join(["python", "-m", "checker", *words])

    @property
    def words(self) -> list[str]:
        """The command-line arguments that select this configuration."""
        words = [self.entry.target if self.scenario is None else f"{self.entry.target}/{self.scenario}"]
        for name, value in self.settings.items():
            words += ["--set", setting_text(name, value)]
        return words + self.fair_words

    @property
    def fair_words(self) -> list[str]:
        """The command-line arguments that change the fairness."""
        changes = (f"{name}={strength or 'none'}" for name, strength in self.fair.items())
        return [word for change in changes for word in ("--fair", change)]


def runs_for(request: Request) -> list[Run]:
    """Return the runs of a request; raise UserError for unknown names and wrong constants.

    If a declaration of a spec is wrong, the error has all errors of the specs of the request.
    """
    selections = _selections(request)
    known = dict.fromkeys(name for selection in selections for name in _properties_of(selection.entry.spec))
    for name in request.properties:
        if name not in known:
            raise InputError(f"unknown property {name}: {registry.suggestion(name, known)}")
    runs, wrong = [], CollectedErrors()
    for selection in selections:
        for scenario in _scenarios(selection, request):
            with wrong.collecting_located():
                run = _run(selection.entry, scenario, request)
                if run.properties or not request.properties:
                    runs.append(run)
    if wrong:
        # Imported here: a spec whose machine code is in the cache needs no front end.
        from checker.frontend.liveness_typing import check_language

        for run in runs:
            with wrong.collecting():
                check_language(run.spec, [name for name in run.properties if name != DEADLOCK])
    wrong.raise_found()
    return runs


def _selections(request: Request) -> list[registry.Selection]:
    if request.targets:
        # As `_scenarios` has it, a run with other constants or fairness uses no scenario of a spec.
        select = registry.select_for_constants if request.settings or request.fair else registry.select
        return [selection for target in request.targets for selection in select(target)]
    if request.settings:
        raise InputError("--set needs a spec: python -m checker run SPEC --set NAME=VALUE")
    if request.fair:
        raise InputError("--fair needs a spec: python -m checker run SPEC --fair ACTION=weak")
    entries = [entry for family in registry.families() for entry in family.entries]
    if not entries:
        raise InputError("no specs are installed here: name a file, as in python -m checker run path/to/my_spec.py")
    return [registry.Selection(entry) for entry in entries]


def _scenarios(selection: registry.Selection, request: Request) -> list[Scenario | None]:
    """Return the scenarios to run; None is the spec without a scenario."""
    if selection.scenario is not None:
        return [selection.scenario]
    if request.settings or request.fair or not selection.entry.scenarios:
        return [None]
    return list(selection.entry.scenarios)


def _run(entry: registry.SpecEntry, scenario: Scenario | None, request: Request) -> Run:
    constants = dict(scenario.constants) if scenario is not None else {}
    settings = settings_of(entry.spec, request.settings)
    fair = fairness_of(entry.spec, request.fair)
    usual = properties_to_check(scenario) if scenario is not None else tuple(property_names(entry.spec))
    properties = usual
    if request.properties:
        known = _properties_of(entry.spec)
        properties = tuple(name for name in dict.fromkeys(request.properties) if name in known)
    # The expectation of a scenario covers only its own constants, its fairness, and the properties that it checks.
    is_changed = bool(request.settings or request.fair)
    is_expected = scenario is not None and not is_changed and set(properties) <= set(usual)
    expected = expectation_for(scenario, properties) if scenario is not None and is_expected else None
    if request.deadlock and DEADLOCK not in properties:
        properties = (*properties, DEADLOCK)
    name = scenario.name if scenario is not None else None
    try:
        spec = entry.spec(**(constants | settings)).with_fairness(scenario.fair if scenario is not None else {})
    except SpecError as error:
        if not (request.settings and all(isinstance(each, SizeError) for each in error.parts)):
            raise
        # The user changed a number, and not the spec.
        set_to = ", ".join(request.settings)
        raise InputError(f"--set {set_to} is too large: {error.message}") from None
    symmetry = scenario is not None and scenario.symmetry if request.symmetry is None else request.symmetry
    run = Run(entry, name, spec.with_fairness(fair), properties, expected, request.keep_going, settings, fair, symmetry)
    if fair and not liveness_names(spec, properties):
        raise InputError(f"{run.name} checks no liveness property, so --fair would change nothing")
    return run


def _properties_of(spec: type[Spec]) -> list[str]:
    return [*property_names(spec), DEADLOCK]


def settings_of(spec: type[Spec], settings: tuple[str, ...]) -> dict[str, int | bool | str]:
    """Return the values of `NAME=VALUE` settings; raise UserError for an unknown constant or a wrong value."""
    values = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise InputError(f"--set {setting}: write NAME=VALUE, as in --set replicas=2")
        constant = spec.declared_constants.get(name)
        if constant is None:
            known = registry.suggestion(name, spec.declared_constants)
            raise InputError(f"{spec.name} has no constant {name}: {known}")
        values[name] = constant.parse(text)
    return values


def fairness_of(spec: type[Spec], changes: tuple[str, ...]) -> dict[str, Strength | None]:
    """Return the changes of fairness `NAME=weak|strong|none`; raise UserError for an unknown name or a wrong value."""
    names = [*(name for name, role in spec.roles.items() if role is Role.ACTION), *spec.fair_unions, NEXT]
    strengths: dict[str, Strength | None] = {"weak": "weak", "strong": "strong", "none": None}
    fairness = {}
    for change in changes:
        name, _, value = change.partition("=")
        if value not in strengths:
            raise InputError(f"--fair {change}: write NAME=weak, NAME=strong or NAME=none")
        if name not in names:
            raise InputError(f"{spec.name} has no action {name}: {registry.suggestion(name, names)}")
        fairness[name] = strengths[value]
    return fairness
