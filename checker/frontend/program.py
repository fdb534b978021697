"""Compilation of a spec with its constants set to a typed `Program`."""

from __future__ import annotations

import ast
import copy
import math
import types
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from checker.errors import CollectedErrors, SpecError, UserError
from checker.frontend import choice_typing
from checker.frontend.call_typing import display_guide, plain_arguments
from checker.frontend.expression_typing import ExpressionTyping
from checker.frontend.python_collections import PythonCollections
from checker.frontend.scope import TypingScope, parameter_key
from checker.frontend.statement_typing import StatementTyping
from checker.frontend.type_relations import can_become
from checker.frontend.typers import ExpressionTyper
from checker.frontend.views import check_view, make_view
from checker.ir import nodes
from checker.language.class_body import declaration_error
from checker.language.messages import check_message
from checker.language.parameters import ParameterDeclaration, plain_parameters
from checker.language.refinement import Refinement
from checker.language.roles import LIVENESS_ROLES, SAFETY_ROLES, Role
from checker.language.source import source_of
from checker.language.spec import Spec
from checker.language.type_joins import NONE, join
from checker.language.types import BoolType, Type
from checker.nesting import allow_nested_calls


def compile_spec(spec: Spec, properties: list[str] | None = None) -> nodes.Program:
    """Return the typed program of a spec.

    `properties` names the invariants, step invariants and reachables to include; None includes all. Raises SpecError,
    with the file, the line and what to write instead, if the source is outside the language.
    """
    return FrontendCompiler(spec).program(spec.safety_properties if properties is None else properties)


def compile_shared(
    spec: Spec, properties: list[str], room: Collection[str] = ()
) -> tuple[nodes.Program, tuple[str, ...]]:
    """Return a typed program that serves several values of the spec's constants, and the names of these constants.

    The program reads them at run time (`nodes.ConstantRead`). All other constants have their values in the program:
    those on which a type depends, so that the variables and instances are the same for all values of the others, and
    collections. If the language needs the value of a constant elsewhere, such as in `Replica[first]`, in a branch that
    is an error for other values, or in a refinement, all constants have their values in the program. Raises SpecError
    as `compile_spec` does.

    `room`: constants that types use for nothing but the size of a sequence or a number, so that a larger type adds no
    behaviour. The program reads them too, and its variables have room for the values of the spec.
    """
    runtime: set[str] = set()
    if not any(spec.roles[name] is Role.REFINEMENT for name in properties):
        runtime = {name for name, constant in spec.declared_constants.items() if not constant.is_structured}
    while True:
        runtime -= spec.constants_of_types - set(room)
        try:
            largest = {name: int(spec.constants[name]) if name in room else None for name in runtime}
            program = FrontendCompiler(_hiding(spec, runtime), largest).program(properties)
        except SpecError:
            if not runtime:
                raise
            runtime.clear()
            continue
        # Typing resolves further types, such as those of annotations.
        if not runtime & spec.constants_of_types - set(room):
            return program, tuple(sorted(runtime))


def _hiding(spec: Spec, names: Collection[str]) -> Spec:
    """Return a spec without the values of some constants: a look-up of one is an error, and not a silent folding."""
    hiding = copy.copy(spec)
    hiding.constants = {name: value for name, value in spec.constants.items() if name not in names}
    hiding.constant_values = {name: value for name, value in spec.constant_values.items() if name not in names}
    return hiding


def compile_view(spec: Spec) -> nodes.View | None:
    """Return the view of a spec, or None; raise SpecError as `compile_spec` does."""
    return FrontendCompiler(spec).view()


@dataclass(frozen=True)
class LabelCall:
    """A call of a goal or premise of a liveness property: a method with parameters, and a value for each."""

    method: str
    parameters: tuple[ParameterDeclaration, ...]
    arguments: tuple[Any, ...]


def compile_labels(spec: Spec, calls: Sequence[LabelCall]) -> list[nodes.Predicate]:
    """Return a predicate of states for each call, in their order; it is recorded where it is true.

    Raises SpecError as `compile_spec` does.
    """
    compiler = FrontendCompiler(spec)
    functions: dict[str, nodes.Function] = {}
    predicates = []
    for call in calls:
        if call.method not in functions:
            functions[call.method] = compiler.label(call.method, call.parameters)
        predicates.append(_apply(functions[call.method], call.arguments))
    return predicates


def _apply(function: nodes.Function, arguments: tuple[Any, ...]) -> nodes.Predicate:
    """Return the predicate that calls a function with constant arguments."""
    nowhere = nodes.Site("", 0, function.name)
    values: tuple[nodes.Expr, ...] = tuple(
        nodes.Literal(parameter.type, nowhere, value)
        for parameter, value in zip(function.parameters, arguments, strict=True)
    )
    body = nodes.Return(nowhere, nodes.HelperCall(nodes.BOOL, nowhere, function, values))
    wrapper = nodes.Function(function.name, (), (body,), nodes.BOOL, writes=False, requires=False)
    return nodes.Predicate(function.name, Role.REACHABLE.value, wrapper)


class FrontendCompiler:
    """Types the methods of one spec.

    A helper is typed once for each combination of argument types, like a template: the range of its result depends on
    the ranges of its arguments. The values of `runtime_constants` are left open, up to a largest one or None: see
    `compile_shared`.
    """

    def __init__(self, spec: Spec, runtime_constants: Mapping[str, int | None] | None = None):
        allow_nested_calls()
        self.spec, self.runtime_constants = spec, runtime_constants or {}
        self.python_collections = PythonCollections()
        self._functions: dict[Any, nodes.Function] = {}
        # The keys of the helpers on the way from an action to the current call; a second occurrence is recursion.
        self._being_typed: list[Any] = []

    def program(self, properties: list[str]) -> nodes.Program:
        """Return the whole program."""
        program = nodes.Program(self.spec.name, dict(self.spec.variables))
        errors = CollectedErrors()
        if hasattr(self.spec, "init"):
            with errors.collecting():
                program.init = self._init()
        shapes = []
        with errors.collecting():
            shapes = self.spec.shapes()
        for shape in shapes:
            with errors.collecting():
                program.actions.append(self._action(shape))
        constraints = self.spec.names_of(Role.CONSTRAINT)
        for names, predicates in ((properties, program.properties), (constraints, program.constraints)):
            for name in names:
                with errors.collecting():
                    predicates.append(self._predicate(name))
        with errors.collecting():
            program.view = self.view()
        errors.raise_found()
        if program.view is not None:
            check_view(program, program.view)
        return program

    def view(self) -> nodes.View | None:
        """Return the view of the spec, or None."""
        names = self.spec.names_of(Role.VIEW)
        if not names:
            return None
        scopes = []
        for name in names:
            function, owner = self._find(name, after=None)
            scopes.append(TypingScope(self.spec, function, owner, {_first_argument(function): "self"}))
        if len(names) > 1:
            message = f"{names[0]} is a view already: a spec has one view, remove the other with {names[0]} = None"
            raise scopes[1].error(scopes[1].source.tree, message)
        (scope,) = scopes
        if len(plain_parameters(scope.source, names[0])) != 1:
            raise scope.error(scope.source.tree, f"the view {names[0]} takes (self)")
        return make_view(scope, self._type(scope, names[0], ()))

    def _init(self) -> nodes.Action:
        """Return `init` as an action on the variables' first values.

        Only the prover uses it: engines that explore take the initial states from the interpreter.
        """
        parameters_of_init = self.spec.parameters_of("init")
        scope, statements = self._body("init", parameters_of_init)
        parameters = tuple(nodes.ActionParameter(scope.locals[p.name], p.choices, None) for p in parameters_of_init)
        count = math.prod(parameter.choices for parameter in parameters)
        return nodes.Action("init", parameters, statements, first_instance=0, instances=count)

    def _body(
        self, name: str, parameters: tuple[ParameterDeclaration, ...]
    ) -> tuple[TypingScope, tuple[nodes.Stmt, ...]]:
        function, owner = self._find(name, after=None)
        scope = TypingScope(self.spec, function, owner, {_first_argument(function): "self"})
        for parameter in parameters:
            scope.locals[parameter_key(parameter)] = nodes.Local(parameter.name, parameter.type)
        body = StatementTyping(self, scope, is_action=True)
        statements = body.typed({parameter_key(parameter) for parameter in parameters})
        if body.result is not None:
            raise scope.error(scope.source.tree, f"{name} must not return a value")
        return scope, statements

    def _action(self, shape: Any) -> nodes.Action:
        scope, statements = self._body(shape.name, shape.parameters)
        known = [scope.locals[parameter_key(parameter)] for parameter in shape.parameters]
        # In a collection, the name of an earlier choice means its parameter: its statement has not run yet.
        scope.locals = {local.name: local for local in known}
        scope.assigned = set(scope.locals)
        typer = ExpressionTyping(self, scope)
        parameters = []
        for parameter, local in zip(shape.parameters, known, strict=True):
            collection = None
            if parameter.collection is not None:
                collection = choice_typing.collection_of_choice(typer, parameter.collection, local)
            parameters.append(nodes.ActionParameter(local, parameter.choices, collection))
        return nodes.Action(shape.name, tuple(parameters), statements, shape.first_instance, shape.instances)

    def _predicate(self, name: str) -> nodes.Predicate:
        role = self.spec.roles[name]
        if role is Role.REFINEMENT:
            return nodes.Predicate(name, role.value, self._refinement(name))
        function, owner = self._find(name, after=None)
        arguments = [argument.arg for argument in plain_parameters(source_of(function), name)]
        # A step invariant is a method of the new state, so `self` is the state after the step and `old` the one before.
        wanted = 2 if role is Role.STEP_INVARIANT else 1
        scope = TypingScope(self.spec, function, owner, dict(zip(arguments, ("self", "old"), strict=False)))
        if len(arguments) != wanted:
            takes = "(self, old)" if wanted == 2 else "(self)"
            raise scope.error(scope.source.tree, f"the {role.value} {name} takes {takes}")
        assert role in (*SAFETY_ROLES, Role.LEMMA, Role.CONSTRAINT)
        return nodes.Predicate(name, role.value, self._truth(scope, name, role.value, ()))

    def _refinement(self, name: str) -> nodes.Function:
        """Return a refinement as a function of the state and the old one."""
        refinement: Refinement = getattr(type(self.spec), name)
        abstract: Spec = refinement.behaviour_of(self.spec).spec
        after, before = (
            tuple(self._map(refinement, abstract, variable, root) for variable in abstract.variables)
            for root in ("self", "old")
        )
        site = nodes.Site("", 0, name)
        refines = nodes.Refines(nodes.BOOL, site, compile_spec(abstract, []), before, after)
        return nodes.Function(name, (), (nodes.Return(site, refines),), nodes.BOOL, writes=False, requires=False)

    def _map(self, refinement: Refinement, abstract: Spec, variable: str, root: str) -> nodes.Expr:
        """Return a variable of the abstract spec of a refinement in the state `root`, which is `self` or `old`."""
        wanted = abstract.variables[variable]
        if variable not in refinement.mapping:
            site = nodes.Site("", 0, variable)
            value: nodes.Expr = nodes.StateRead(self.spec.variables[variable], site, root, variable)  # type: ignore[arg-type]
            if not can_become(value.type, wanted):
                message = f"{refinement.name}: {variable} is {value.type}, and {wanted} in {abstract.name}: map it"
                raise declaration_error(type(self.spec), refinement.name, message)
            return value if value.type == wanted else nodes.Convert(wanted, site, value)
        function = refinement.mapping[variable]
        scope = TypingScope(self.spec, function, type(self.spec), {_first_argument(function): root})
        if function.__code__.co_argcount != 1:
            raise scope.error(scope.source.tree, f"{refinement.name}: the value of {variable} takes (self)")
        typed = self._type(scope, variable, ())
        if typed.writes or typed.requires:
            what = "change the state" if typed.writes else "use `require`"
            raise scope.error(scope.source.tree, f"{refinement.name}: the value of {variable} must not {what}")
        call = nodes.HelperCall(typed.result or NONE, scope.site(scope.source.tree), typed, ())
        return scope.convert(scope.source.tree, call, wanted)

    def label(self, method: str, parameters: tuple[ParameterDeclaration, ...]) -> nodes.Function:
        """Return the goal or premise of a liveness property as a function of its parameters."""
        function, owner = self._find(method, after=None)
        scope = TypingScope(self.spec, function, owner, {_first_argument(function): "self"})
        role = self.spec.roles.get(method)
        what = role.value if role in LIVENESS_ROLES else "premise"
        locals_ = tuple(nodes.Local(parameter.name, parameter.type) for parameter in parameters)
        return self._truth(scope, method, what, locals_)

    def _truth(self, scope: TypingScope, name: str, what: str, parameters: tuple[nodes.Local, ...]) -> nodes.Function:
        """Return a method that is read as a truth value; raise SpecError if it is none, or has an effect."""
        _require_return(scope, name)
        typed = self._type(scope, name, parameters)
        check_message(type(self.spec), scope.function)
        if typed.result != BoolType():
            raise scope.error(scope.source.tree, f"{name} must return a bool on every path")
        if typed.writes:
            raise scope.error(scope.source.tree, f"the {what} {name} must not change the state")
        if typed.requires:
            message = f"the {what} {name} cannot use `require`, which is for actions: return a bool"
            raise scope.error(scope.source.tree, message)
        return typed

    def _type(self, scope: TypingScope, name: str, parameters: tuple[nodes.Local, ...]) -> nodes.Function:
        for parameter in parameters:
            scope.locals[parameter.name] = parameter
        body = StatementTyping(self, scope, is_action=False)
        statements = body.typed({parameter.name for parameter in parameters})
        result = body.result
        # As in Python, a path without `return` returns None.
        if result is not None and _falls_through(statements):
            result = join(result, NONE)
            statements = (*statements, _return_none(scope))
        function = nodes.Function(name, parameters, statements, result, scope.writes, scope.requires)
        self.python_collections.note(function, body.returned)
        return function

    # Helpers.

    def _find(self, name: str, after: type | None) -> tuple[Any, type]:
        """Return a method and the class that defines it: the first in resolution order, or the first after a class."""
        # The order of the whole spec's class, as `super()` uses it: with multiple inheritance, the next class need not
        # be a base of `after`.
        order = type(self.spec).__mro__
        for owner in order[order.index(after) + 1 :] if after is not None else order:
            attribute = vars(owner).get(name)
            if attribute is not None:
                return attribute, owner
        raise SpecError(f"{self.spec.name} has no method {name}")

    def method_call(
        self, typer: ExpressionTyper, node: ast.Call, root: str | None, name: str, after: type | None
    ) -> nodes.Expr:
        """Return a call of a helper method: of `self`, `old`, or `super()` (then looked up after the class `after`)."""
        try:
            function, owner = self._find(name, after)
        except UserError:
            raise typer.scope.error(node, f"{type(self.spec).__name__} has no method {name}") from None
        if not isinstance(function, types.FunctionType) or owner.__module__.startswith("checker.language"):
            raise typer.scope.error(node, f"{name} is not a method of the spec")
        return self._call(typer, node, function, owner, root)

    def function_call(self, typer: ExpressionTyper, node: ast.Call, function: types.FunctionType) -> nodes.Expr:
        """Return a call of a function outside the spec."""
        # Functions of the language have their own typing; any other function of the checker is not meant for specs.
        if function.__module__.startswith("checker."):
            raise typer.scope.error(node, f"{function.__name__} cannot be used inside an expression")
        return self._call(typer, node, function, None, None)

    def _call(
        self,
        typer: ExpressionTyper,
        node: ast.Call,
        function: types.FunctionType,
        owner: type | None,
        root: str | None,
    ) -> nodes.Expr:
        scope = TypingScope(self.spec, function, owner, {_first_argument(function): root} if root is not None else {})
        arguments = self._arguments(typer, node, scope, skip=0 if root is None else 1)
        # Values of one type may still differ in whether Python itself holds them, which decides what is refused.
        key = (
            function,
            owner,
            root,
            tuple((value.type, self.python_collections.may_hold(value)) for value in arguments.values()),
        )
        if key not in self._functions:
            self._functions[key] = self._helper(typer, node, scope, key, arguments)
        typed = self._functions[key]
        if typed.writes:
            typer.scope.writes = True
            if node not in typer.scope.write_positions:
                name = scope.function.__name__
                raise typer.scope.error(node, f"{name} changes the state: assign its result to a local first")
        # A helper may disable the action that calls it, so the caller counts as using `require` too.
        typer.scope.requires |= typed.requires
        return nodes.HelperCall(typed.result or NONE, typer.scope.site(node), typed, tuple(arguments.values()))

    def _helper(
        self, typer: ExpressionTyper, node: ast.Call, scope: TypingScope, key: Any, arguments: dict[str, nodes.Expr]
    ) -> nodes.Function:
        # Without the argument types: a recursive call may have other ranges every time, and would never end.
        if any(other[:3] == key[:3] for other in self._being_typed):
            raise typer.scope.error(
                node, f"{scope.function.__name__} calls itself: recursion is not part of the language"
            )
        self._being_typed.append(key)
        try:
            locals_ = tuple(nodes.Local(name, argument.type) for name, argument in arguments.items())
            for local, argument in zip(locals_, arguments.values(), strict=True):
                self.python_collections.note(local, (argument,))
            return self._type(scope, scope.function.__name__, locals_)
        finally:
            self._being_typed.pop()

    def _arguments(
        self, typer: ExpressionTyper, node: ast.Call, scope: TypingScope, skip: int
    ) -> dict[str, nodes.Expr]:
        """Return a call's arguments by parameter name, in the order of the parameters."""
        name = scope.source.tree.name
        declared = plain_parameters(scope.source, name, is_method=skip > 0, may_default=True)[skip:]
        names = [argument.arg for argument in declared]
        keywords = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
        defaults = scope.function.__defaults__ or ()
        by_default = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
        if not keywords and not by_default:
            plain_arguments(typer, node, len(names))
        given = dict(zip(names, node.args, strict=False)) | keywords
        is_each_once = len(given) == len(node.args) + len(node.keywords)
        if given.keys() | by_default.keys() != set(names) or not is_each_once:
            raise typer.scope.error(node, f"{scope.function.__name__} takes {', '.join(names) or 'no arguments'}")
        typed = {}
        for argument in declared:
            if argument.arg not in given:
                typed[argument.arg] = self._default(scope, argument, by_default[argument.arg])
                continue
            wanted = None if argument.annotation is None else self.annotation(scope, argument.annotation)
            value = typer.expression(given[argument.arg], display_guide(wanted))
            # Python does not enforce annotations, so the parameter gets the join of both types, and no value is
            # refused.
            if wanted is not None and can_become(value.type, wanted) and not isinstance(wanted, BoolType):
                value = typer.scope.convert(given[argument.arg], value, join(value.type, wanted) or wanted)
            typed[argument.arg] = value
        return typed

    def _default(self, scope: TypingScope, argument: ast.arg, value: Any) -> nodes.Expr:
        """Return the default of a helper's parameter."""
        literal = scope.literal(argument, value)
        if literal is None:
            raise scope.error(argument, f"the default of {argument.arg} is not a value of the language")
        self.python_collections.add(literal)
        return literal

    def annotation(self, scope: TypingScope, annotation: ast.expr) -> Type | None:
        """Return the type that an annotation declares, or None for Python's own (`int`), which has no bounds."""
        if ast.unparse(annotation) in ("int", "str", "object"):
            return None
        try:
            declared = eval(ast.unparse(annotation), scope.function.__globals__)
            return self.spec.resolved_type(declared)  # type: ignore[no-any-return]
        except UserError as error:
            raise scope.error(annotation, error.message) from None
        except Exception:
            raise scope.error(annotation, f"{ast.unparse(annotation)} is not a type") from None


def _first_argument(function: Any) -> str:
    names: tuple[str, ...] = function.__code__.co_varnames
    return names[0] if function.__code__.co_argcount else "self"


def _falls_through(statements: tuple[nodes.Stmt, ...]) -> bool:
    """Return whether control can reach the end of a function's body."""
    if not statements:
        return True
    # A loop may run zero times, so a `return` inside one does not count.
    last = statements[-1]
    if isinstance(last, nodes.Return):
        return False
    if isinstance(last, nodes.If):
        return _falls_through(last.then) or _falls_through(last.otherwise)
    return True


def _return_none(scope: TypingScope) -> nodes.Stmt:
    site = scope.site(scope.source.tree)
    return nodes.Return(site, nodes.Literal(NONE, site, None))


def _require_return(scope: TypingScope, name: str) -> None:
    """Raise SpecError if a method that is read as a truth value has no `return`: Python would take None as false."""
    tree = scope.source.tree
    if any(isinstance(node, ast.Return) for node in ast.walk(tree)):
        return
    last = tree.body[-1]
    is_docstring = isinstance(last, ast.Expr) and isinstance(last.value, ast.Constant)
    if isinstance(last, ast.Expr) and not is_docstring:
        raise scope.error(last, f"{name} has no `return`: write `return {ast.unparse(last.value)}`")
    raise scope.error(tree, f"{name} has no `return`: return a bool on every path, as in `return self.x == 0`")
