"""The base class of specs, and the declarations of scenarios and bugs."""

from __future__ import annotations

import copy
import importlib
import inspect
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, ClassVar, Self

from checker.errors import BoundsError, CollectedErrors, SizeError, SpecError, UserError
from checker.language.class_body import DECLARED_AT, SpecClass, class_error, declaration_error, is_part
from checker.language.declarations import Binding, Constant, Plain, is_type
from checker.language.drawing import Drawing
from checker.language.fairness import NEXT, Fairness, FairUnion, Strength, fairness_from
from checker.language.interpreter import Interpreter
from checker.language.refinement import AbstractBehaviour, Refinement
from checker.language.roles import DEADLOCK, PROPERTY_ROLES, Role, fairness_of, message_of, role_of
from checker.language.source import source_of
from checker.language.symbols import OpenNumber
from checker.language.value_types import value_type
from checker.language.values import attach


class StateVariable:
    """A state variable of a spec class: a read returns a snapshot attached to its place, a write checks the type."""

    def __init__(self, name: str, declaration: Any):
        self.name, self.declaration = name, declaration

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        if instance._values is None:
            raise SpecError(f"{self.name} is a state variable: read it from a state, or from spec.in_state(state)")
        return attach(instance._values[self.name], instance, self.name)

    def __set__(self, instance: Any, value: Any) -> None:
        instance._put(self.name, value)


def snake_case(name: str) -> str:
    """Return `Kip320FirstTry` as `kip320_first_try`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


FILE_MODULE_PREFIX = "spec_file_"
"""Prefix of the module name under which a user's file is imported."""


def _spec_name(cls: type) -> str:
    """Return the name of a spec: the class name in snake case.

    A class name does not show where a word ends and a number starts, so a module's name with the same letters and
    digits decides: `Kip320Without7128` in `kip320_without_7128.py` has the name `kip320_without_7128`.
    """
    module = cls.__module__.rpartition(".")[2].removeprefix(FILE_MODULE_PREFIX).strip("_")
    return module if module.replace("_", "") == cls.__name__.lower() else snake_case(cls.__name__)


class Spec(Interpreter, metaclass=SpecClass):
    """The base class of specs; see docs/language.md. `Kip320(replicas=2)` is a spec with its constants set."""

    name: ClassVar[str] = ""
    abstract: ClassVar[bool] = True
    declared_fairness: ClassVar[dict[str, Fairness]] = {}
    fair_unions: ClassVar[dict[str, tuple[str, ...]]] = {}
    fair_next: ClassVar[Strength | None] = None
    draws: ClassVar[Drawing | None] = None

    def __init_subclass__(cls, abstract: bool = False, **named: Any):
        super().__init_subclass__(**named)
        cls.abstract = abstract
        cls.name = cls.__dict__.get("name", _spec_name(cls))
        _check_bases(cls)
        errors = CollectedErrors()
        for attribute, value in list(vars(cls).items()):
            with errors.collecting():
                _check_declaration(cls, attribute, value)
                # A class that is defined in the spec's body is a type of the spec, and not a variable of this type.
                if is_type(value) and not _is_nested(cls, value):
                    setattr(cls, attribute, StateVariable(attribute, value))
        errors.raise_found()
        cls._collect()
        cls._check_fair_unions()
        if not abstract:
            cls._check_refinements()
        cls._check_normalisation()
        if cls.draws is not None and not abstract:
            try:
                cls.draws.check(cls)
            except SpecError as error:
                raise declaration_error(cls, "draws", error.message) from None

    @classmethod
    def _check_normalisation(cls) -> None:
        for name in cls.normalises:
            if not isinstance(getattr(cls, name, None), FunctionType) or name in (*cls.roles, "init"):
                raise declaration_error(
                    cls, "normalises", f"normalises names {name}, which is not a helper of the spec"
                )

    @classmethod
    def _check_refinements(cls) -> None:
        for name, role in cls.roles.items():
            if role is Role.REFINEMENT:
                try:
                    getattr(cls, name).check(cls)
                except SpecError as error:
                    raise declaration_error(cls, name, f"{name}: {error.message}") from None

    @classmethod
    def _collect(cls) -> None:
        """Collect constants, variables, roles and fairness from the bases, the oldest base first.

        `name = None` in a subclass removes an action, a property or a union. An override keeps the role of what it
        overrides.
        """
        cls.declared_constants, cls.declared_variables, cls.roles = {}, {}, {}
        cls.declared_fairness, cls.fair_unions = {}, {}
        # From the oldest base on, so that a derived class overrides and a variable keeps the place of its first
        # declaration.
        for base in reversed(cls.__mro__):
            if not issubclass(base, Spec) or base is Spec:
                continue
            for attribute, value in vars(base).items():
                if isinstance(value, Constant):
                    cls.declared_constants[attribute] = value
                elif isinstance(value, StateVariable):
                    cls.declared_variables[attribute] = value.declaration
                elif isinstance(value, Refinement):
                    cls.roles[attribute] = Role.REFINEMENT
                elif (role := role_of(value)) is not None:
                    cls.roles[attribute] = role
                    cls.fair_unions.pop(attribute, None)
                    # A new decorator replaces the fairness too; an override without one keeps it.
                    cls.declared_fairness.pop(attribute, None)
                    if (fairness := fairness_of(value)) is not None:
                        cls.declared_fairness[attribute] = fairness
                elif isinstance(value, FairUnion):
                    cls.roles.pop(attribute, None)
                    cls.fair_unions[attribute] = value.actions
                    cls.declared_fairness[attribute] = value.fairness
                elif value is None:
                    for declared in (cls.roles, cls.declared_fairness, cls.fair_unions):
                        declared.pop(attribute, None)

    @classmethod
    def _check_fair_unions(cls) -> None:
        """Raise SpecError if a union names something that is not an action, or a parameter that an action lacks."""
        for name, actions in cls.fair_unions.items():
            for action in actions:
                if cls.roles.get(action) is not Role.ACTION:
                    message = f"the union {name} names {action}, which is not an action of {cls.__name__}"
                    raise declaration_error(cls, name, message)
                try:
                    cls.declared_fairness[name].require_parameters(action, _parameter_names(cls, action))
                except SpecError as error:
                    raise declaration_error(cls, name, f"the union {name}: {error.message}") from None

    def __init__(self, /, **constants: Any):
        # Before the types, of which the messages would not name the constant.
        values = self.constants_as_given(constants)
        self._values = None
        self.fairness = dict(self.declared_fairness)
        if self.fair_next is not None:
            self.fairness[NEXT] = Fairness(self.fair_next)
        self._bind(values)
        self._check_assumptions()

    @classmethod
    def constants_as_given(cls, given: Mapping[str, Any]) -> dict[str, Plain]:
        """Return the plain values of all constants, some of which are given; raise SpecError for a wrong one."""
        unknown = sorted(given.keys() - cls.declared_constants.keys())
        if unknown:
            known = ", ".join(cls.declared_constants) or "none"
            raise SpecError(f"{cls.name} has no constant {unknown[0]}; the constants are: {known}")
        defaults = {name: constant.default for name, constant in cls.declared_constants.items()}
        # Defaults are checked too: a wrong one is reported at the first use of the spec.
        values: dict[str, Plain] = {}
        name = ""
        # One `try` for all: importing a family checks thousands of constants.
        try:
            for name, value in (defaults | dict(given)).items():
                values[name] = cls.declared_constants[name].check(value)
            binding = Binding(values)
            for name, constant in cls.declared_constants.items():
                constant.check_bounds(values[name], binding)
        except SpecError as error:
            if name in given:
                raise
            # The place of the declaration belongs to an error about a default.
            raise declaration_error(cls, name, f"{cls.__name__}.{name}: {error.message}") from None
        return values

    def _bind(self, values: dict[str, Plain]) -> None:
        """Set the constants, and resolve the types of the variables with them."""
        self.constants = values
        self._refined: dict[str, AbstractBehaviour] = {}
        self._binding = Binding(values)
        self.constant_values = {name: self._constant_value(name, plain) for name, plain in values.items()}
        self.variables = {}
        errors = CollectedErrors()
        for variable, declaration in self.declared_variables.items():
            with errors.collecting():
                try:
                    self.variables[variable] = self._binding.resolve(declaration)
                except UserError as error:
                    message = f"{type(self).__name__}.{variable}: {error.message}"
                    located = declaration_error(type(self), variable, message)
                    raise (SizeError.at(located) if isinstance(error, SizeError) else located) from None
        errors.raise_found()

    def _constant_value(self, name: str, plain: Plain) -> Any:
        """Return a constant as methods read it: a collection is a value of the language, with an order."""
        constant = self.declared_constants[name]
        if not constant.is_structured:
            return plain
        value = constant.value_of(plain)
        kind = value_type(value, self._binding.resolve)
        if kind is None:
            hint = "a dict needs a value for each key of a Domain, Enum or bool, or of consecutive integers"
            message = f"constant {name} is {plain}: its items need one type, and {hint}"
            raise declaration_error(type(self), name, message)
        try:
            return kind.coerce(value)
        except BoundsError as error:
            raise SpecError(f"constant {name} is {plain}: {error}") from None

    def _check_assumptions(self) -> None:
        """Raise SpecError if the constants do not satisfy an assumption."""
        for name in self.names_of(Role.ASSUMPTION):
            method = getattr(self, name)
            source = source_of(method.__func__)
            try:
                with self.bound():
                    is_true = method()
            except (BoundsError, TypeError, AttributeError, LookupError, ArithmeticError, ValueError) as error:
                raise source.error(source.tree, f"the assumption {name}: {error}") from None
            if not isinstance(is_true, bool):
                raise source.error(source.tree, f"the assumption {name} must return a bool")
            if not is_true:
                shown = ", ".join(f"{constant}={plain}" for constant, plain in self.constants.items())
                says = message_of(method) or (method.__doc__ or "").strip().split("\n")[0]
                because = f": {says}" if says else ""
                raise source.error(source.tree, f"{shown} contradicts the assumption {name}{because}")

    @property
    def constants_of_types(self) -> frozenset[str]:
        """The constants on which the types depend that were resolved so far, those of all variables among them."""
        return frozenset(self._binding.used)

    def with_fairness(self, changes: Mapping[str, Fairness | str | None]) -> Self:
        """Return the spec with the fairness of some actions, of unions, or of `fair_next` changed.

        None removes a promise. "weak" and "strong" keep the parameters of the present promise or, if there is none, of
        the declared one. Raises SpecError for an unknown name or a wrong value.
        """
        check_fairness_changes(type(self), changes)
        copied = copy.copy(self)
        before = self.declared_fairness | self.fairness
        fairness = {name: fairness_from(value, before.get(name)) for name, value in changes.items()}
        copied.fairness = {
            name: strength for name, strength in (self.fairness | fairness).items() if strength is not None
        }
        return copied

    def without_view(self) -> Self:
        """Return the spec without its view: every two states differ, as a proof needs them."""
        copied = copy.copy(self)
        copied.roles = {name: role for name, role in self.roles.items() if role is not Role.VIEW}
        return copied

    def unbounded(self, names: Collection[str]) -> Self:
        """Return the spec with some constants left open, for the prover.

        Bounds of types that depend on these constants are open numbers (`checker.language.symbols`). Raises SpecError
        if a constant cannot be left open.
        """
        opened: dict[str, Plain] = dict(self.constants)
        for name in names:
            constant = self.declared_constants.get(name)
            if constant is None:
                known = ", ".join(self.declared_constants) or "none"
                raise SpecError(f"{self.name} has no constant {name}; the constants are: {known}")
            if type(constant.default) is not int:
                raise SpecError(f"constant {name} is not an integer: it cannot be left unbounded")
            self._require_independent(name)
            opened[name] = OpenNumber.constant(name, *constant.bounds(self._binding))
        copied = copy.copy(self)
        # The numbers of instances depend on the types, which are resolved again.
        copied._shapes = None
        copied._bind(opened)
        return copied

    def _require_independent(self, name: str) -> None:
        """Raise SpecError if an assumption or the bounds of constants relate a constant to other constants."""
        for constant in self.declared_constants.values():
            texts = [bound for bound in (constant.at_least, constant.at_most) if isinstance(bound, str)]
            if texts and (constant.name == name or any(re.search(rf"\b{name}\b", text) for text in texts)):
                raise SpecError(f"constant {name} cannot be left unbounded: {constant.name} has the bound {texts[0]}")
        # A helper may read the constant for the assumption, so every method without a role counts.
        for base in type(self).__mro__:
            for method, value in vars(base).items() if issubclass(base, Spec) and base is not Spec else ():
                role = self.roles.get(method)
                is_asked = role is Role.ASSUMPTION or (role is None and isinstance(value, FunctionType))
                if is_asked and name in value.__code__.co_names and self.names_of(Role.ASSUMPTION):
                    message = f"constant {name} cannot be left unbounded: {method} may restrict it for an assumption"
                    raise SpecError(message)

    def explore(self) -> Any:
        """Return a `checker.ExploredPath` in the first initial state: steps are taken by hand, and it draws itself."""
        # By its name, and only when it is called: the language depends on none of its users.
        return importlib.import_module("checker").ExploredPath(self)

    def __repr__(self) -> str:
        constants = ", ".join(f"{name}={value!r}" for name, value in self.constants.items())
        return f"{type(self).__name__}({constants})"

    def _repr_html_(self) -> str:
        """Return the summary, constants, variables, actions and properties, for a notebook."""
        import html

        rows = {
            "constants": ", ".join(f"{name} = {value}" for name, value in self.constants.items()),
            "variables": "; ".join(f"{name}: {kind}" for name, kind in self.variables.items()),
            "actions": ", ".join(self.actions),
            "properties": ", ".join(self.properties),
        }
        cells = "".join(f"<tr><th>{key}</th><td>{html.escape(text)}</td></tr>" for key, text in rows.items() if text)
        return f"<p><b>{html.escape(repr(self))}</b><br>{html.escape(self.summary())}</p><table>{cells}</table>"

    @classmethod
    def summary(cls) -> str:
        """Return the first line of the docstring."""
        return (cls.__doc__ or "").strip().split("\n")[0]


def require_steps(spec: type[Spec]) -> None:
    """Raise SpecError if a spec has no state variable or no action: every property would hold."""
    missing = "" if spec.declared_variables else "state variable: declare one, as in x = Range(0, 3)"
    if not missing and Role.ACTION not in spec.roles.values():
        missing = "action: decorate a method with @action"
    if missing:
        name = spec.__name__
        hint = f"for a base of other specs, write class {name}(Spec, abstract=True)"
        raise class_error(spec, f"{name} has no {missing}; {hint}")


def check_fairness_changes(spec: type[Spec], changes: Mapping[str, Fairness | str | None]) -> None:
    """Raise SpecError if a change of fairness names no action or union of a spec, or if its value is not a fairness."""
    actions = [name for name, role in spec.roles.items() if role is Role.ACTION]
    for name, value in changes.items():
        if name not in (*actions, *spec.fair_unions, NEXT):
            raise SpecError(f"fair names {name}, which is not an action of {spec.name}; write fair={{ACTION: None}}")
        if value is not None and not isinstance(value, Fairness) and value not in ("weak", "strong"):
            raise SpecError(f"fair[{name!r}] is {value!r}: write 'weak', 'strong', Fairness(...) or None")
        if isinstance(value, Fairness) and value.for_each and name == NEXT:
            raise SpecError("fair_next has no parameters: write 'weak' or 'strong'")
        if isinstance(value, Fairness) and name != NEXT:
            for action in spec.fair_unions.get(name, (name,)):
                value.require_parameters(action, _parameter_names(spec, action))


def _parameter_names(spec: type[Spec], action: str) -> tuple[str, ...]:
    """Return the names of the parameters of an action."""
    code = getattr(spec, action).__code__
    return tuple(code.co_varnames[1 : code.co_argcount])


def plain_constants(spec: type[Spec], constants: Mapping[str, Any]) -> dict[str, Any]:
    """Return constants of a spec, of which collections and members are texts."""
    declared = spec.declared_constants
    return {
        name: declared[name].check(value) if name in declared and declared[name].is_structured else value
        for name, value in constants.items()
    }


_OPTIONS = {
    "name": "it is the name of the spec, a text of letters, digits and underscores",
    "draws": "it is a Drawing(...), or None",
    "normalises": 'it is a tuple of names of helpers: write normalises = ("forget",)',
    NEXT: "it is 'weak', 'strong' or None",
}
"""The attributes of `Spec` that a spec may set, and what they are."""


def _is_option(name: str, value: Any) -> bool:
    """Return whether an attribute that a spec may set has a value of its kind."""
    if name == "name":
        return isinstance(value, str) and re.fullmatch(r"\w+", value) is not None
    if name == "draws":
        return value is None or isinstance(value, Drawing)
    if name == "normalises":
        return isinstance(value, (tuple, list)) and all(isinstance(item, str) for item in value)
    return value is None or (isinstance(value, str) and value in ("weak", "strong"))


_RESERVED = frozenset(
    name
    for base in Spec.__mro__[:-1]
    for name in (*vars(base), *inspect.get_annotations(base))
    if not name.startswith("__")
)
"""The names of the base class; a spec that replaced one would break the engines."""


def _is_nested(spec: type, value: Any) -> bool:
    return isinstance(value, type) and value.__qualname__.startswith(spec.__qualname__ + ".")


def _check_bases(spec: type[Spec]) -> None:
    """Raise SpecError if a base that is no spec declares a part of one: it would be left out."""
    for base in (base for base in spec.__mro__ if base not in Spec.__mro__ and not issubclass(base, Spec)):
        for name, value in vars(base).items():
            if is_part(value) and not _is_nested(base, value):
                kind = f"class {base.__name__}(Spec, abstract=True)"
                message = f"{base.__name__} is no spec, so that its {name} would be left out: write {kind}"
                raise class_error(spec, message)


def _check_declaration(spec: type[Spec], name: str, value: Any) -> None:
    """Raise SpecError if an attribute of a spec's class body is wrong; it says what to write instead."""
    problem = _declaration_problem(spec, name, value) or _hidden_declaration(spec, name, value)
    if problem:
        raise declaration_error(spec, name, f"{spec.__name__}.{name}: {problem}")


def _declaration_problem(spec: type[Spec], name: str, value: Any) -> str:
    is_declaration = is_type(value) or isinstance(value, (Constant, FairUnion, FunctionType, Refinement))
    if name in ("__init__", "__new__"):
        return "a spec has no constructor: set the variables in `def init(self)`, and constants in a scenario"
    if name == "abstract" and name in vars(spec)[DECLARED_AT]:
        return f"write it as an argument: class {spec.__name__}(Spec, abstract=True)"
    # Python 3.14 has a function for the annotations.
    is_dunder = name.startswith("__") and name.endswith("__") and not name.startswith("__annotate")
    if is_dunder and (is_declaration or isinstance(value, property)):
        return "names with two underscores at both ends belong to Python, choose another"
    if name.startswith("__") or name in ("abstract", DECLARED_AT):
        return ""
    if name in _OPTIONS and not is_type(value) and not _is_option(name, value):
        return _OPTIONS[name]
    if name in _RESERVED and (is_declaration or name not in _OPTIONS):
        return "the name is reserved by the language, choose another"
    if name == DEADLOCK:
        return f"{DEADLOCK} is the built-in property that a state without successors violates, choose another name"
    if name == "init" and (not isinstance(value, FunctionType) or role_of(value) is not None):
        return "init is the method that sets the initial state: write `def init(self)`, without a decorator"
    if name == "scenarios":
        return "scenarios belong to the module: write `scenarios = [...]` below the class"
    inner = getattr(value, "__wrapped__", getattr(value, "fget", None))
    if not isinstance(value, FunctionType) and (role_of(value) or role_of(inner)) is not None:
        return "a method of a spec takes `self`: remove the decorator that is not of the language"
    return ""


def _hidden_declaration(spec: type[Spec], name: str, value: Any) -> str:
    """Return what is wrong if an attribute replaces one of another kind in a base of the spec, or ""."""
    base = next((base for base in spec.__mro__[1:] if issubclass(base, Spec) and name in vars(base)), None)
    if base is None:
        return ""
    before, now = _kind(vars(base)[name]), _kind(value)
    if before == now or before not in ("constant", "state variable", "method"):
        return ""
    where = f"{name} is a {before} of {base.__name__}"
    if now == "removal":
        return "" if before == "method" else f"{where}: only a method can be removed with `{name} = None`"
    if before == "constant" and now == "value":
        return f"{where}: to change its default, write {name} = Constant({value!r})"
    return f"{where}: choose another name"


def _kind(value: Any) -> str:
    if isinstance(value, Constant):
        return "constant"
    if isinstance(value, StateVariable) or is_type(value):
        return "state variable"
    if isinstance(value, FunctionType):
        return "method"
    return "removal" if value is None else "value"


FairnessChanges = Mapping[str, Fairness | str | None]
Expectation = str | Mapping[str, int | None]


@dataclass(frozen=True)
class Scenario:
    """A configuration of a spec and its expected verdict.

    `expect` is "holds", "error", or a mapping from each violated property to the number of states of its shortest
    counterexample (None leaves it open). `properties` names the properties to check (None: all). With `deadlock`, a
    state without successors violates the built-in property `deadlock`. `fair` changes the fairness of actions:
    `{"retry": None}` removes the promise that `retry` is fair (see `Spec.with_fairness`). With `symmetry` the explorer
    stores one state for all that differ only in the names of the members of symmetric domains. `fixed_by` is the name
    of the scenario that shows the remedy, `SPEC/SCENARIO` within the family.
    """

    spec: type[Spec]
    name: str
    constants: Mapping[str, Any] = field(default_factory=dict)
    expect: Expectation = "holds"
    properties: tuple[str, ...] | list[str] | None = None
    deadlock: bool = False
    description: str = ""
    fair: FairnessChanges = field(default_factory=dict)
    symmetry: bool = False
    fixed_by: str = ""

    def __post_init__(self) -> None:
        if not (isinstance(self.spec, type) and issubclass(self.spec, Spec)):
            raise SpecError(
                f"a scenario begins with the class of its spec, not {self.spec!r}: Scenario(MySpec, 'name')"
            )
        if not isinstance(self.name, str) or not self.name.strip() or not self.name.isprintable():
            raise SpecError(f"the name of a scenario is one line of text, not {self.name!r}")
        try:
            object.__setattr__(self, "constants", plain_constants(self.spec, self.constants))
            self.spec.constants_as_given(self.constants)
            check_fairness_changes(self.spec, self.fair)
        except SpecError as error:
            if error.line is not None:
                raise
            raise SpecError(f"scenario {self.spec.name}/{self.name}: {error.message}") from None
        expected = list(self.expect) if isinstance(self.expect, Mapping) else []
        known = [*(name for name, role in self.spec.roles.items() if role in PROPERTY_ROLES), DEADLOCK]
        for name in [*expected, *(self.properties or ())]:
            if name not in known:
                raise SpecError(f"scenario {self.spec.name}/{self.name} names {name}, which is not a property")
        if isinstance(self.expect, str) and self.expect not in ("holds", "error"):
            raise SpecError(
                f"scenario {self.spec.name}/{self.name}: expect is {self.expect!r}, not 'holds', 'error' or a mapping"
            )

    def configured_spec(self) -> Spec:
        """Return the spec with the constants and the fairness of the scenario."""
        return self.spec(**self.constants).with_fairness(self.fair)


@dataclass(frozen=True)
class Bug:
    """A bug and its remedy: up to three scenarios.

    Scenario `name` violates the properties in `violates` (see `Scenario.expect`) with the constants `size | faulty`.
    Scenario `{name}_fixed` holds with `size | fixed`, and `{name}_fixed_larger` with `larger | fixed` if `larger` is
    given. `fixed_name` replaces `{name}_fixed`.
    `promises` names the properties that the fixed scenarios check (None: all); with `deadlock` they also check the
    built-in property `deadlock`. `description` describes the bug, `remedy` the fixed scenarios.
    `spec` is the faulty spec. If the remedy is another spec and not a constant, `fixed_spec` is that spec.
    `fair` changes the fairness of actions in all scenarios, `fixed_fair` also in the fixed ones (see `Scenario.fair`).
    """

    name: str
    spec: type[Spec]
    violates: Mapping[str, int | None]
    size: Mapping[str, Any] = field(default_factory=dict)
    faulty: Mapping[str, Any] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    larger: Mapping[str, Any] | None = None
    promises: tuple[str, ...] | list[str] | None = None
    description: str = ""
    remedy: str = ""
    fixed_spec: type[Spec] | None = None
    fixed_name: str = ""
    deadlock: bool = False
    fair: FairnessChanges = field(default_factory=dict)
    fixed_fair: FairnessChanges = field(default_factory=dict)

    def scenarios(self) -> list[Scenario]:
        """Return the faulty scenario, then the fixed ones; raise SpecError for a name that is not a property."""
        repaired = self.fixed_spec or self.spec
        remedy = self.remedy or (f"Fixed: {self.description}" if self.description else "")
        faulty = {**self.size, **self.faulty}
        fixed_name = self.fixed_name or f"{self.name}_fixed"
        both = [
            Scenario(
                self.spec,
                self.name,
                faulty,
                self.violates,
                list(self.violates),
                description=self.description,
                fair=self.fair,
                fixed_by=f"{repaired.name}/{fixed_name}",
            )
        ]
        sizes = {fixed_name: self.size, f"{fixed_name}_larger": self.larger}
        return both + [
            Scenario(
                repaired,
                name,
                {**size, **self.fixed},
                properties=self.promises,
                deadlock=self.deadlock,
                description=remedy,
                fair={**self.fair, **self.fixed_fair},
            )
            for name, size in sizes.items()
            if size is not None
        ]
