"""The interpreter, the reference for all engines: it calls a spec's methods as they are, on Python objects.

`Interpreter` is the part of `Spec` that runs it: initial states, successors, properties. To debug an action, put a
breakpoint in it and call `spec.successors(state)`.
"""

from __future__ import annotations

import ast
import copy
import html
import itertools
import math
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from checker.errors import BoundsError, CollectedErrors, Disabled, SpecError, UserError
from checker.language.declarations import Binding
from checker.language.fairness import Fairness
from checker.language.roles import LIVENESS_ROLES, PROPERTY_ROLES, SAFETY_ROLES, Role
from checker.language.source import Source, false_require, source_of
from checker.language.types import BagType, SetType, Type
from checker.language.values import plain, show

# Every value of a parameter is an action instance in every state: more of them would make each state slow to expand.
ENUMERATED = 256
"""The most values of a parameter that needs no leading `require(parameter in self.collection)`."""

# Python's own errors in a method (a division by zero, an attribute of None) are bounds errors of the language.
_RUNTIME_ERRORS = (BoundsError, TypeError, AttributeError, LookupError, ArithmeticError, ValueError)


class State:
    """A state: an immutable, hashable assignment of values to a spec's variables, which are its attributes."""

    __slots__ = ("_hash", "values")

    def __init__(self, values: dict[str, Any]):
        self.values = values
        self._hash: int | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return State, (self.values,)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.values[name]
        except KeyError:
            raise AttributeError(f"the state has no variable {name}") from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self.values == other.values

    def __hash__(self) -> int:
        # Lazy: most states are never hashed.
        if self._hash is None:
            self._hash = hash(tuple(self.values.values()))
        return self._hash

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def to_dict(self) -> dict[str, Any]:
        """Return the values as Python's own, which JSON can represent: see `plain`."""
        return {name: plain(value) for name, value in self.values.items()}

    def _repr_html_(self) -> str:
        rows = ((name, show(value)) for name, value in self.values.items())
        cells = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>" for name, text in rows)
        return f"<table>{cells}</table>"

    def __repr__(self) -> str:
        return "State(" + ", ".join(f"{name}={show(value)}" for name, value in self.values.items()) + ")"


@dataclass(frozen=True)
class Step:
    """An enabled action instance with its number and its successor state."""

    action: str
    arguments: tuple[Any, ...]
    instance: int
    state: State

    def __str__(self) -> str:
        return call_text(self.action, self.arguments)


@dataclass(frozen=True)
class BoundsFailure:
    """An action instance in which a value left the bounds of its type, with the message."""

    action: str
    arguments: tuple[Any, ...]
    instance: int
    message: str


def call_text(action: str, arguments: tuple[Any, ...]) -> str:
    """Return the text of an action instance: `follower_fetch(b2, b1)`."""
    return f"{action}({', '.join(show(argument) for argument in arguments)})"


@dataclass(frozen=True)
class ParameterDeclaration:
    """A parameter of an action or of `init`.

    If its type has too many values to enumerate, `collection` is the expression in the `require(parameter in ...)` that
    binds it, else None. `choices` is the number of its values: those of its type, or the capacity of the collection.
    """

    name: str
    type: Type
    choices: int
    collection: ast.expr | None


@dataclass(frozen=True)
class ActionShape:
    """An action's parameters, and the number of its first instance among all instances of the spec.

    Instances are numbered consecutively, action by action, in the order of the arguments; the last parameter varies
    fastest. A parameter that is bound to a collection is numbered by its position in the collection.
    """

    name: str
    parameters: tuple[ParameterDeclaration, ...]
    first_instance: int

    @property
    def instances(self) -> int:
        """The number of instances of the action."""
        count = 1
        for parameter in self.parameters:
            count *= parameter.choices
        return count


def plain_parameters(
    source: Source, method: str, *, is_method: bool = True, may_default: bool = False
) -> list[ast.arg]:
    """Return the parameters of a method, `self` first, or of a function; raise SpecError if it has others."""
    declared = source.tree.args
    if declared.vararg or declared.kwarg or declared.kwonlyargs or declared.posonlyargs:
        raise source.error(source.tree, f"{method} takes plain parameters only: no *, ** or /")
    if declared.defaults and not may_default:
        raise source.error(source.tree, f"{method} takes plain parameters only: no defaults")
    if is_method and not declared.args:
        raise source.error(source.tree, f"{method} has no parameter for the state: write def {method}(self)")
    return declared.args


def _binding_collection(source: Source, parameter: str) -> ast.expr | None:
    """Return the collection in the leading `require(parameter in collection)` of an action, or None."""
    # Only leading `require` statements count: after any other statement the collection may have changed.
    for statement in source.tree.body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "require"):
            return None
        test = call.args[0] if call.args else None
        if (
            isinstance(test, ast.Compare)
            and isinstance(test.left, ast.Name)
            and test.left.id == parameter
            and len(test.ops) == 1
            and isinstance(test.ops[0], ast.In)
        ):
            return test.comparators[0]
    return None


class Interpreter:
    """Runs a spec's methods. `Spec` derives from it and provides the declarations."""

    name: ClassVar[str]
    roles: ClassVar[dict[str, Role]] = {}
    constants: dict[str, int | bool | str]
    """The constants in their plain form, of which collections and members are texts."""
    constant_values: dict[str, Any]
    """The constants as methods read them."""
    variables: dict[str, Type]
    fairness: dict[str, Fairness] = {}
    """The fair actions and unions, and `fair_next` if the whole next-state relation is fair."""
    fair_unions: ClassVar[dict[str, tuple[str, ...]]] = {}
    """The actions of each union that a spec declares."""
    _binding: Binding
    _values: dict[str, Any] | None
    _shapes: list[ActionShape] | None = None
    _most_choices: float = ENUMERATED

    def names_of(self, *roles: Role) -> list[str]:
        """Return the names of the methods with one of these roles, the oldest base's first."""
        return [name for name, role in self.roles.items() if role in roles]

    @property
    def actions(self) -> list[str]:
        """The names of the actions."""
        return self.names_of(Role.ACTION)

    @property
    def properties(self) -> list[str]:
        """The names of the properties: those of states and steps, and those of behaviours."""
        return self.names_of(*PROPERTY_ROLES)

    @property
    def safety_properties(self) -> list[str]:
        """The names of invariants, step invariants and reachables."""
        return self.names_of(*SAFETY_ROLES)

    def bound(self) -> AbstractContextManager[None]:
        """While this holds, ranges and domains have the members that this spec's constants give."""
        return self._binding.active()

    def resolved_type(self, declaration: Any) -> Any:
        """Return the resolved type of a declaration under this spec's constants; raise SpecError if it has none."""
        return self._binding.resolve(declaration)

    # The working copy: a copy of the spec with a state of its own, on which a method runs.

    def _working(self, values: dict[str, Any]) -> Any:
        # Not `type(self)(...)`: that would check the constants and resolve all types again, in every step.
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        # A new dict of immutable values: the method replaces entries, and the state that it started from stays as it
        # is.
        copy._values = dict(values)
        return copy

    def _put(self, name: str, value: Any) -> None:
        assert self._values is not None
        try:
            # Every write converts, also writes to a part of the variable, because a part gives its owner a new whole
            # value.
            self._values[name] = self.variables[name].coerce(value)
        except BoundsError as error:
            raise BoundsError(f"{name}: {error}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        # Without this check, a misspelt variable would become an attribute of the working copy and be lost after the
        # step.
        is_attribute = name in ("constants", "constant_values", "variables") or name in type(self).__dict__
        if not (name.startswith("_") or is_attribute) and not hasattr(type(self), name):
            raise SpecError(f"self.{name} is not a state variable: declare it in the class, or use a local")
        object.__setattr__(self, name, value)

    def state_of(self, values: dict[str, Any]) -> State:
        """Return the state with these values; raise BoundsError if a value is not of its variable's type."""
        with self.bound():
            return State({name: kind.coerce(values[name]) for name, kind in self.variables.items()})

    # Parameters.

    def with_symbolic_parameters(self) -> Self:
        """Return the spec for an engine with symbolic parameters: a parameter may have any number of values."""
        # A shallow copy shares the binding and its types, which do not depend on the parameters.
        copied = copy.copy(self)
        copied._shapes, copied._most_choices = None, math.inf
        return copied

    def with_enumerated_parameters(self) -> Self:
        """Return the spec for an engine that enumerates the parameters: the opposite of `with_symbolic_parameters`."""
        copied = copy.copy(self)
        copied._shapes, copied._most_choices = None, ENUMERATED
        return copied

    def restricted_to(self, actions: Collection[str]) -> Self:
        """Return the spec with some of its actions only; the others remain as plain methods."""
        copied = copy.copy(self)
        # The instances are numbered again, so numbers of the restricted spec differ from those of the whole one.
        roles = {name: role for name, role in self.roles.items() if role is not Role.ACTION or name in actions}
        copied.roles, copied._shapes = roles, None  # type: ignore[misc]
        return copied

    def shapes(self) -> list[ActionShape]:
        """Return the parameters and instance numbers of the actions; raise SpecError for a wrong parameter."""
        if self._shapes is None:
            shapes, first = [], 0
            errors = CollectedErrors()
            for name in self.actions:
                with errors.collecting():
                    shape = ActionShape(name, self.parameters_of(name), first)
                    first += shape.instances
                    shapes.append(shape)
            errors.raise_found()
            self._shapes = shapes
        return self._shapes

    def parameters_of(self, method: str) -> tuple[ParameterDeclaration, ...]:
        """Return the parameters of an action or of `init`; raise SpecError if one has no type or a wrong one."""
        function = getattr(type(self), method)
        source = source_of(function)
        arguments = plain_parameters(source, method)
        return tuple(self._parameter(function, source, argument) for argument in arguments[1:])

    def _parameter(self, function: Callable[..., Any], source: Source, argument: ast.arg) -> ParameterDeclaration:
        if argument.annotation is None:
            raise source.error(argument, f"parameter {argument.arg} needs a type: {argument.arg}: Replica")
        # Annotations are texts if the spec's module has `from __future__ import annotations`.
        declaration = function.__annotations__[argument.arg]
        try:
            if isinstance(declaration, str):
                declaration = eval(declaration, function.__globals__)
            kind = self.resolved_type(declaration)
        except UserError as error:
            raise source.error(argument, error.message) from None
        except Exception:
            raise source.error(argument, f"{ast.unparse(argument.annotation)} is not a type") from None
        count = kind.cardinality()
        if count <= self._most_choices:
            return ParameterDeclaration(argument.arg, kind, count, None)
        return self._collected(source, argument, kind, count)

    def _collected(self, source: Source, argument: ast.arg, kind: Type, count: int) -> ParameterDeclaration:
        if self.roles.get(source.tree.name) in LIVENESS_ROLES:
            message = f"{argument.arg} has {count} values: a property takes a parameter of at most {ENUMERATED} values"
            raise source.error(argument, message)
        collection = _binding_collection(source, argument.arg)
        if collection is None:
            raise source.error(
                argument,
                f"{argument.arg} has {count} values: begin the action with require({argument.arg} in self.collection), "
                "where the collection is a SetOf or a Bag",
            )
        if not (isinstance(collection, ast.Attribute) and ast.unparse(collection).startswith("self.")):
            raise source.error(collection, f"write require({argument.arg} in self.variable) with a SetOf or a Bag")
        variable = self.variables.get(collection.attr)
        if not isinstance(variable, (SetType, BagType)) or variable.item != kind:
            raise source.error(collection, f"self.{collection.attr} is not a SetOf or a Bag of {kind}")
        capacity = variable.capacity if variable.capacity is not None else variable.item.cardinality()
        return ParameterDeclaration(argument.arg, kind, capacity, collection)

    def _choices(self, parameter: ParameterDeclaration, values: dict[str, Any]) -> Iterator[tuple[int, Any]]:
        """Iterate over the numbers and values of a parameter's choices; equal items of a bag are one choice."""
        if parameter.collection is None:
            yield from enumerate(parameter.type.values())
            return
        assert isinstance(parameter.collection, ast.Attribute)
        items = list(values[parameter.collection.attr])
        for number, item in enumerate(items):
            # Items are sorted, so equal ones are adjacent. The native engine numbers and skips them in the same way.
            if number == 0 or items[number - 1] != item:
                yield number, item

    def arguments_of(self, instance: int, state: State) -> tuple[str, tuple[Any, ...]]:
        """Return the action and the arguments of an instance number in a state; raise SpecError if it has none."""
        for shape in self.shapes():
            if instance < shape.first_instance + shape.instances:
                for number, arguments in self.instances_of(shape, state):
                    if number == instance:
                        return shape.name, arguments
        raise SpecError(f"{self.name} has no action instance {instance} in this state")

    def instances_of(self, shape: ActionShape, state: State) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Iterate over the numbers and arguments of an action's instances in a state, enabled or not.

        Call it inside `with spec.bound():`.
        """
        options = [list(self._choices(parameter, state.values)) for parameter in shape.parameters]
        for chosen in itertools.product(*options):
            # A mixed-radix number: the last parameter varies fastest, as in `itertools.product`.
            number = 0
            for parameter, (position, _) in zip(shape.parameters, chosen, strict=True):
                number = number * parameter.choices + position
            yield shape.first_instance + number, tuple(value for _, value in chosen)

    # Running.

    def initial_states(self) -> list[State]:
        """Return the distinct initial states; raise BoundsError if a value leaves its type's bounds in `init`."""
        with self.bound():
            first = {name: kind.first() for name, kind in self.variables.items()}
            if not hasattr(self, "init"):
                return [State(first)]
            # A dict in place of a set keeps the order: the number of an initial state must be the same in every
            # process.
            states: dict[State, None] = {}
            for arguments in itertools.product(*(list(p.type.values()) for p in self.parameters_of("init"))):
                try:
                    states[State(self._run("init", first, arguments))] = None
                # A choice of parameters that `init` refuses gives no initial state.
                except Disabled:
                    continue
            return list(states)

    def _run(self, method: str, values: dict[str, Any], arguments: tuple[Any, ...]) -> dict[str, Any]:
        working = self._working(values)
        try:
            getattr(working, method)(*arguments)
        except _RUNTIME_ERRORS as error:
            raise _bounds_error(error) from error
        return dict(working._values)

    def expand(self, state: State) -> tuple[list[Step], list[BoundsFailure]]:
        """Return the enabled action instances with their successors, and the instances that left a type's bounds."""
        steps, failures = [], []
        with self.bound():
            for shape in self.shapes():
                for number, arguments in self.instances_of(shape, state):
                    try:
                        values = self._run(shape.name, state.values, arguments)
                    except Disabled:
                        continue
                    # Recorded and not raised, so that the other instances are expanded as well.
                    except BoundsError as error:
                        failures.append(BoundsFailure(shape.name, arguments, number, str(error)))
                        continue
                    steps.append(Step(shape.name, arguments, number, State(values)))
        return steps, failures

    def successors(self, state: State) -> list[Step]:
        """Return the enabled action instances with their successors; raise BoundsError if one left a type's bounds."""
        steps, failures = self.expand(state)
        if failures:
            first = failures[0]
            raise BoundsError(f"{call_text(first.action, first.arguments)}: {first.message}")
        return steps

    def step(self, state: State, action: str, *arguments: Any) -> State:
        """Return the state after an action. Arguments are values or their texts ("b1").

        Raises Disabled if the instance is not enabled, BoundsError if a value leaves its type's bounds, and SpecError
        for an unknown action or a wrong argument.
        """
        shape = next((shape for shape in self.shapes() if shape.name == action), None)
        if shape is None:
            raise SpecError(f"{self.name} has no action {action}; the actions are: {', '.join(self.actions)}")
        if len(arguments) != len(shape.parameters):
            parameters = ", ".join(parameter.name for parameter in shape.parameters)
            raise SpecError(
                f"{action} takes {len(shape.parameters)} arguments ({parameters}), {len(arguments)} were given"
            )
        with self.bound():
            given = tuple(
                _argument(parameter.type, argument)
                for parameter, argument in zip(shape.parameters, arguments, strict=True)
            )
            try:
                return State(self._run(action, state.values, given))
            except Disabled as error:
                raise Disabled(f"{call_text(action, given)} is not enabled: {false_require(error)}") from error

    def holds(self, name: str, state: State, old: State | None = None, arguments: tuple[Any, ...] = ()) -> bool:
        """Return whether a property is true in `state`, or a step invariant for the step from `old` to `state`.

        `arguments` are those of a property with parameters. Raises BoundsError if a value leaves its type's bounds.
        """
        with self.bound():
            working = self._working(state.values)
            # The old state gets its own working copy, because the two differ in their values only.
            if old is not None:
                arguments = (self._working(old.values),)
            try:
                return bool(getattr(working, name)(*arguments))
            except _RUNTIME_ERRORS as error:
                raise _bounds_error(error) from error

    def in_state(self, state: State) -> Any:
        """Return a copy of the spec in a state. Call its methods and read its variables inside `with spec.bound():`."""
        return self._working(state.values)

    def within_constraints(self, state: State) -> bool:
        """Return whether every `@constraint` is true in a state."""
        return all(self.holds(name, state) for name in self.names_of(Role.CONSTRAINT))


def _bounds_error(error: Exception) -> BoundsError:
    return error if isinstance(error, BoundsError) else BoundsError(f"{type(error).__name__}: {error}")


def _argument(kind: Type, argument: Any) -> Any:
    """Return an argument given as a value or as its text; raise SpecError if it is not a value of the type."""
    if isinstance(argument, str):
        # Texts come from the command line and from traces, which show values by `show`.
        for value in kind.values():
            if show(value) == argument:
                return value
    try:
        return kind.coerce(argument)
    except BoundsError:
        raise SpecError(f"{show(argument)} is not a value of {kind}") from None
