"""The interpreter, the reference for all engines: it calls a spec's methods as they are, on Python objects.

`Interpreter` is the part of `Spec` that runs it: initial states, successors, properties. To debug an action, put a
breakpoint in it and call `spec.successors(state)`.
"""

from __future__ import annotations

import ast
import copy
import itertools
import math
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from checker.errors import BoundsError, CollectedErrors, Disabled, SpecError, UserError
from checker.language.choices import Choosing
from checker.language.declarations import Binding, Constant
from checker.language.fairness import Fairness
from checker.language.parameters import (
    BOUND_FROM,
    MOST_ENUMERATED,
    MOST_INITIAL_CHOICES,
    ActionShape,
    CallArguments,
    ChoiceStatement,
    CollectionTyper,
    ParameterDeclaration,
    binding_collection,
    choice_statements,
    evaluated,
    free_names,
    names_of_function,
    plain_parameters,
)
from checker.language.roles import LIVENESS_ROLES, PROPERTY_ROLES, SAFETY_ROLES, Role
from checker.language.source import Source, false_require, source_of
from checker.language.types import Type, count_text
from checker.language.values import BagValue, SetValue, plain, show

# Python's own errors in a method (a division by zero, an attribute of None) are bounds errors of the language.
_RUNTIME_ERRORS = (BoundsError, TypeError, AttributeError, LookupError, ArithmeticError, ValueError)


class State:
    """A state: an immutable, hashable assignment of values to a spec's variables, which are its attributes.

    A method runs on a copy of `values`. It gets and sets items of it and nothing else, so `values` may be another
    object with a `copy`, which notes what the method reads.
    """

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
        import html

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
    """Return the text of an action instance: `follower_fetch(b2, b1)`, `accept(b1, quorum={a1, a2})`."""
    chosen = arguments.chosen if isinstance(arguments, CallArguments) else ()
    first = len(arguments) - len(chosen)
    texts = [show(argument) for argument in arguments[:first]]
    texts += [f"{name}={show(argument)}" for name, argument in zip(chosen, arguments[first:], strict=True)]
    return f"{action}({', '.join(texts)})"


class Interpreter:
    """Runs a spec's methods. `Spec` derives from it and provides the declarations."""

    name: ClassVar[str]
    declared_constants: ClassVar[dict[str, Constant]] = {}
    declared_variables: ClassVar[dict[str, Any]] = {}
    roles: dict[str, Role] = {}
    constants: dict[str, int | bool | str]
    """The constants in their plain form, of which collections and members are texts."""
    constant_values: dict[str, Any]
    """The constants as methods read them."""
    variables: dict[str, Type]
    fairness: dict[str, Fairness] = {}
    """The fair actions and unions, and `fair_next` if the whole next-state relation is fair."""
    fair_unions: ClassVar[dict[str, tuple[str, ...]]] = {}
    """The actions of each union that a spec declares."""
    normalises: ClassVar[tuple[str, ...]] = ()
    """The helpers that only make states equal which have the same effect: see `without_normalisation`."""
    _binding: Binding
    _values: dict[str, Any] | None
    _shapes: list[ActionShape] | None = None
    _is_symbolic: bool = False

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
        # A new dict of immutable values: the method replaces entries, and the state that it started from stays as it
        # is. Not `copy._values = ...`, because `__setattr__` takes longer than the rest of this method.
        copy.__dict__.update(self.__dict__, _values=values.copy())
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
        copied._shapes, copied._is_symbolic = None, True
        return copied

    def with_enumerated_parameters(self) -> Self:
        """Return the spec for an engine that enumerates the parameters: the opposite of `with_symbolic_parameters`."""
        copied = copy.copy(self)
        copied._shapes, copied._is_symbolic = None, False
        return copied

    def restrict_to(self, actions: Collection[str]) -> Self:
        """Return the spec with some of its actions only; the others remain as plain methods."""
        copied = copy.copy(self)
        # The instances are numbered again, so numbers of the restricted spec differ from those of the whole one.
        roles = {name: role for name, role in self.roles.items() if role is not Role.ACTION or name in actions}
        copied.roles, copied._shapes = roles, None
        return copied

    def without_normalisation(self) -> Self:
        """Return the spec in which the helpers of `normalises` do nothing.

        Its behaviours are those of the modelled system: counterexamples are shown with its states. It has more states.
        """
        copied = copy.copy(self)
        copied.__dict__.update(dict.fromkeys(self.normalises, _do_nothing))
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
        """Return the parameters of an action, of `init` or of a property; raise SpecError if one is wrong.

        The parameters of an action include the locals that `choose` binds.
        """
        function = getattr(type(self), method)
        source = source_of(function)
        arguments = plain_parameters(source, method)
        parameters: list[ParameterDeclaration] = []
        for argument in arguments[1:]:
            parameters.append(self._parameter(function, source, argument, parameters))
        count = math.prod(parameter.choices for parameter in parameters)
        if method == "init" and count > MOST_INITIAL_CHOICES and not self._is_symbolic:
            found_count, most = count_text(count), f"{MOST_INITIAL_CHOICES:,}"
            message = f"init has {found_count} choices of its parameters, over {most}: use smaller types"
            raise source.error(source.tree, message)
        for choice in choice_statements(function, source):
            if self.roles.get(method) is not Role.ACTION:
                message = f"choose belongs to actions: make {choice.name} a parameter of {method}"
                raise source.error(choice.call, message)
            parameters.append(self._choice(function, source, choice, parameters))
        return tuple(parameters)

    def _parameter(
        self, function: Callable[..., Any], source: Source, argument: ast.arg, earlier: list[ParameterDeclaration]
    ) -> ParameterDeclaration:
        if argument.annotation is None:
            raise source.error(argument, f"parameter {argument.arg} needs a type: {argument.arg}: Replica")
        # Annotations are texts if the spec's module has `from __future__ import annotations`.
        kind = self._annotation_type(function, source, argument, function.__annotations__[argument.arg])
        count = kind.cardinality()
        if count <= BOUND_FROM or self._is_symbolic:
            return ParameterDeclaration(argument.arg, kind, count, None)
        role = self.roles.get(source.tree.name)
        if role in LIVENESS_ROLES:
            values = count_text(count)
            message = f"{argument.arg} has {values} values: a property takes a parameter of at most {BOUND_FROM} values"
            raise source.error(argument, message)
        if source.tree.name == "init":
            return ParameterDeclaration(argument.arg, kind, count, None)
        collection = binding_collection(source, argument.arg)
        if collection is not None:
            return self._collection_parameter(function, source, argument.arg, kind, collection, earlier)
        return self._free_parameter(source, argument, argument.arg, kind, is_choice=False)

    def _annotation_type(
        self, function: Callable[..., Any], source: Source, node: ast.arg | ast.expr, declaration: Any
    ) -> Type:
        """Return the type that an annotation declares."""
        try:
            if isinstance(declaration, str):
                declaration = eval(declaration, names_of_function(function))
            return self.resolved_type(declaration)  # type: ignore[no-any-return]
        except UserError as error:
            raise source.error(node, error.message) from None
        except Exception:
            annotation = node.annotation if isinstance(node, ast.arg) else node
            text = "" if annotation is None else ast.unparse(annotation)
            raise source.error(node, f"{text} is not a type") from None

    def _collection_parameter(
        self,
        function: Callable[..., Any],
        source: Source,
        name: str,
        kind: Type,
        collection: ast.expr,
        earlier: list[ParameterDeclaration],
        *,
        is_choice: bool = False,
    ) -> ParameterDeclaration:
        """Return a parameter that ranges over the items of a collection, which depends on earlier parameters only."""
        text, known = ast.unparse(collection), {parameter.name: parameter.type for parameter in earlier}
        later = [local for local in function.__code__.co_varnames[1:] if local not in known]
        if wrong := next((local for local in free_names(collection) if local in later), None):
            raise source.error(
                collection, f"{text} depends on {wrong}, which has no value before {name}: exchange the parameters"
            )
        items = CollectionTyper(self, function, known).items(collection)
        if items is None:
            raise source.error(
                collection,
                f"{text} does not show how many values {name} has: name a set, bag or sequence of the state, "
                "or a comprehension over one",
            )
        if items.type != kind:
            raise source.error(collection, f"an item of {text} is {items.type:a}, and {name} is {kind:a}")
        if items.most < kind.cardinality():
            return ParameterDeclaration(name, kind, items.most, collection, is_choice)
        return self._free_parameter(source, collection, name, kind, is_choice=is_choice)

    def _free_parameter(
        self, source: Source, node: ast.AST, name: str, kind: Type, *, is_choice: bool
    ) -> ParameterDeclaration:
        """Return a parameter that has every value of its type in every state."""
        count = kind.cardinality()
        if count <= MOST_ENUMERATED:
            return ParameterDeclaration(name, kind, count, None, is_choice)
        message = f"{name} has {count_text(count)} values, over {MOST_ENUMERATED:,}: "
        if is_choice:
            message += (
                f"put {name} = choose(...) at the start of the action, where only require(...) and other choices "
                "precede it, and choose from a set, bag or sequence of the state"
            )
        else:
            message += (
                f"begin the action with require({name} in collection), "
                "where the collection is a set, bag or sequence of the state"
            )
        raise source.error(node, message)

    def _choice(
        self,
        function: Callable[..., Any],
        source: Source,
        choice: ChoiceStatement,
        earlier: list[ParameterDeclaration],
    ) -> ParameterDeclaration:
        """Return the parameter that `name = choose(collection)` stands for."""
        text = ast.unparse(choice.collection)
        known = {parameter.name: parameter.type for parameter in earlier}
        if choice.annotation is not None:
            kind = self._annotation_type(function, source, choice.annotation, ast.unparse(choice.annotation))
        else:
            items = CollectionTyper(self, function, known).items(choice.collection)
            if items is None:
                message = f"the type of {choice.name} is not clear: annotate it, {choice.name}: TYPE = choose({text})"
                raise source.error(choice.call, message)
            kind = items.type
        count = kind.cardinality()
        if count <= BOUND_FROM or self._is_symbolic:
            return ParameterDeclaration(choice.name, kind, count, None, is_choice=True)
        if choice.is_leading:
            return self._collection_parameter(
                function, source, choice.name, kind, choice.collection, earlier, is_choice=True
            )
        return self._free_parameter(source, choice.call, choice.name, kind, is_choice=True)

    def _choices(
        self, method: str, parameter: ParameterDeclaration, state: State, chosen: dict[str, Any]
    ) -> Iterator[tuple[int, Any]]:
        """Iterate over the numbers and values of a parameter's choices; equal items of a collection are one choice.

        `chosen` has the values of the earlier parameters.
        """
        if parameter.collection is None:
            yield from enumerate(parameter.type.values())
            return
        function = getattr(type(self), method)
        own_name = function.__code__.co_varnames[0]
        collected = evaluated(parameter.collection, function, {own_name: self._working(state.values)} | chosen)
        items = list(collected)
        if not isinstance(collected, (BagValue, SetValue)):
            # The native engine makes a set of a sequence, which has each item once, in order.
            distinct = {parameter.type.coerce(item) for item in items}
            items = sorted(distinct, key=parameter.type.sort_key)
        for number, item in enumerate(items):
            # Items are sorted, so equal ones are adjacent. The native engine numbers and skips them in the same way.
            if number == 0 or items[number - 1] != item:
                yield number, item

    def as_called(self, action: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the values of an action's parameters as its arguments, which are shown with the names of choices."""
        chosen = next((shape.chosen for shape in self.shapes() if shape.name == action), ())
        return CallArguments(values, chosen) if chosen else values

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
        chosen = shape.chosen
        for number, values in self._instances(shape, state):
            yield shape.first_instance + number, CallArguments(values, chosen) if chosen else values

    def _instances(self, shape: ActionShape, state: State) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Iterate over the instances, numbered from 0 on."""
        # Only a collection depends on earlier parameters. The parameters before the first one form a plain product.
        collected = [number for number, each in enumerate(shape.parameters) if each.collection is not None]
        start = collected[0] if collected else len(shape.parameters)
        options = [list(parameter.type.values()) for parameter in shape.parameters[:start]]
        # The last parameter varies fastest in `itertools.product`, so the position of a choice is its number.
        for number, values in enumerate(itertools.product(*options)):
            if collected:
                yield from self._later_instances(shape, state, number, values)
            else:
                yield number, values

    def _later_instances(
        self, shape: ActionShape, state: State, number: int, values: tuple[Any, ...]
    ) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Iterate over the choices of the parameters after those that have the given values and number."""
        if len(values) == len(shape.parameters):
            yield number, values
            return
        parameter = shape.parameters[len(values)]
        known = {each.name: value for each, value in zip(shape.parameters, values, strict=False)}
        for position, value in self._choices(shape.name, parameter, state, known):
            yield from self._later_instances(shape, state, number * parameter.choices + position, (*values, value))

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
                    states[State(self.values_after("init", first, arguments))] = None
                # A choice of parameters that `init` refuses gives no initial state.
                except Disabled:
                    continue
            return list(states)

    def values_after(self, method: str, values: dict[str, Any], arguments: tuple[Any, ...]) -> dict[str, Any]:
        """Return the values after an action instance or `init`; raise Disabled, or BoundsError as `holds` does.

        Call it inside `with spec.bound():`.
        """
        working = self._working(values)
        bound = getattr(working, method)
        given = bound.__func__.__code__.co_argcount - 1
        try:
            with Choosing(arguments[given:]):
                bound(*arguments[:given])
        except _RUNTIME_ERRORS as error:
            raise _bounds_error(error) from error
        after: dict[str, Any] = working._values
        return after

    def expand(self, state: State) -> tuple[list[Step], list[BoundsFailure]]:
        """Return the enabled action instances with their successors, and the instances that left a type's bounds."""
        steps, failures = [], []
        with self.bound():
            for shape in self.shapes():
                for number, arguments in self.instances_of(shape, state):
                    try:
                        values = self.values_after(shape.name, state.values, arguments)
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

    def step(self, state: State, action: str, *arguments: Any, **named: Any) -> State:
        """Return the state after an action. Arguments are values or their texts ("b1").

        The values that `choose` takes follow the arguments of the signature. Any argument can be given by its name.

        Raises Disabled if the instance is not enabled, BoundsError if a value leaves its type's bounds, and SpecError
        for an unknown action or a wrong argument.
        """
        shape = next((shape for shape in self.shapes() if shape.name == action), None)
        if shape is None:
            raise SpecError(f"{self.name} has no action {action}; the actions are: {', '.join(self.actions)}")
        arguments = _with_named(shape, arguments, named)
        with self.bound():
            given = tuple(
                _argument(parameter.type, argument)
                for parameter, argument in zip(shape.parameters, arguments, strict=True)
            )
            try:
                return State(self.values_after(action, state.values, given))
            except Disabled as error:
                call = call_text(action, self.as_called(action, given))
                raise Disabled(f"{call} is not enabled: {false_require(error)}") from error

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

    def value_of_view(self, view: str, state: State) -> Any:
        """Return the value of a view in a state, as its method returns it; raise BoundsError as `holds` does."""
        with self.bound():
            try:
                return getattr(self._working(state.values), view)()
            except _RUNTIME_ERRORS as error:
                raise _bounds_error(error) from error

    def in_state(self, state: State) -> Any:
        """Return a copy of the spec in a state. Call its methods and read its variables inside `with spec.bound():`."""
        return self._working(state.values)

    def changed(self, state: State, change: Callable[[Any], None]) -> State:
        """Return the state after a function changed a working copy of the spec; raise BoundsError as `holds` does."""
        with self.bound():
            working = self._working(state.values)
            try:
                change(working)
            except _RUNTIME_ERRORS as error:
                raise _bounds_error(error) from error
            return State(dict(working._values))

    def within_constraints(self, state: State) -> bool:
        """Return whether every `@constraint` is true in a state."""
        return all(self.holds(name, state) for name in self.names_of(Role.CONSTRAINT))


def _bounds_error(error: Exception) -> BoundsError:
    return error if isinstance(error, BoundsError) else BoundsError(f"{type(error).__name__}: {error}")


def _with_named(shape: ActionShape, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """Return the arguments of a call in the order of the parameters; raise SpecError if they are not complete."""
    names = [parameter.name for parameter in shape.parameters]
    later = names[len(arguments) :]
    if len(arguments) > len(names) or named.keys() != set(later):
        # Positional arguments alone are counted; names are listed.
        given = f"{len(arguments)} were given" if not named else f"not {', '.join([*names[: len(arguments)], *named])}"
        raise SpecError(f"{shape.name} takes {len(names)} arguments ({', '.join(names)}), {given}")
    return (*arguments, *(named[name] for name in later))


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


def _do_nothing(*_: Any) -> None:
    """Replace a helper that normalises the state."""
