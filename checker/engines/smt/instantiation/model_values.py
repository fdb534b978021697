"""Evaluation of terms with variables in a model of Z3, as generated Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import z3

from checker.engines.smt.lowering.logic import Term

Assignment = dict[int, Any]
"""The values of variables, by the ids of their terms."""

Compiled = Callable[["ModelValues", Assignment], Any]


class Evaluators:
    """Compiles terms to Python functions of a model and an assignment.

    Keeps every ground term and declaration that the functions name by its id: an id is unique only while its term is
    alive.
    """

    def __init__(self) -> None:
        self.ground: dict[int, Term] = {}
        self.declarations: dict[int, Any] = {}

    def values(self, model: Any) -> ModelValues:
        """Return the values of a model."""
        return ModelValues(model, self)

    def compiled(self, term: Term, variables: dict[int, Term]) -> Compiled:
        """Return a term over some variables, by id, as a Python function."""
        lines: list[str] = []
        names: dict[int, str] = {}
        dependent = dependent_terms(term, variables)

        def name_of(part: Term) -> str:
            key = part.get_id()
            if key in names:
                return names[key]
            if key in variables:
                text = f"assigned[{key}]"
            elif z3.is_int_value(part):
                return f"({part.as_long()})"
            elif z3.is_true(part) or z3.is_false(part):
                return str(bool(z3.is_true(part)))
            elif key not in dependent:
                self.ground[key] = part
                text = f"ground[{key}]"
            else:
                text = self._expression(part, [name_of(child) for child in part.children()])
            names[key] = f"t{len(names)}"
            lines.append(f"    {names[key]} = {text}")
            return names[key]

        result = name_of(term)
        head = ["def evaluate(values, assigned):", "    ground, functions = values.ground, values.functions"]
        made: dict[str, Any] = {}
        # The source has only numbers, operators, and names that are made here.
        exec("\n".join([*head, *lines, f"    return {result}"]), made)
        return made["evaluate"]  # type: ignore[no-any-return]

    def _expression(self, part: Term, children: list[str]) -> str:
        declaration = part.decl()
        kind = declaration.kind()
        if kind in _INFIX and len(children) >= 2:
            return f" {_INFIX[kind]} ".join(children)
        if kind == z3.Z3_OP_NOT:
            return f"not {children[0]}"
        if kind == z3.Z3_OP_UMINUS:
            return f"-{children[0]}"
        if kind == z3.Z3_OP_IMPLIES:
            return f"not {children[0]} or {children[1]}"
        if kind == z3.Z3_OP_ITE:
            return f"{children[1]} if {children[0]} else {children[2]}"
        # An uninterpreted function, or an operator that Z3 evaluates.
        self.declarations[declaration.get_id()] = declaration
        return f"functions[{declaration.get_id()}][{', '.join(children)},]"


_INFIX = {
    z3.Z3_OP_EQ: "==",
    z3.Z3_OP_LE: "<=",
    z3.Z3_OP_LT: "<",
    z3.Z3_OP_GE: ">=",
    z3.Z3_OP_GT: ">",
    z3.Z3_OP_ADD: "+",
    z3.Z3_OP_SUB: "-",
    z3.Z3_OP_MUL: "*",
    z3.Z3_OP_AND: "and",
    z3.Z3_OP_OR: "or",
}


class ModelValues:
    """The values of ground terms and functions in a model, by id, each asked once."""

    def __init__(self, model: Any, evaluators: Evaluators):
        self.ground = _GroundValues(model, evaluators)
        self.functions = _Functions(model, evaluators)

    def of(self, term: Term) -> Any:
        """Return the value of a ground term."""
        return self.ground.of(term)


class _GroundValues(dict[int, Any]):
    def __init__(self, model: Any, evaluators: Evaluators):
        super().__init__()
        self._model, self._evaluators = model, evaluators

    def of(self, term: Term) -> Any:
        self._evaluators.ground.setdefault(term.get_id(), term)
        return self[term.get_id()]

    def __missing__(self, key: int) -> Any:
        value = self[key] = _value(self._model, self._evaluators.ground[key])
        return value


class _Functions(dict[int, "_FunctionValues"]):
    def __init__(self, model: Any, evaluators: Evaluators):
        super().__init__()
        self._model, self._evaluators = model, evaluators

    def __missing__(self, key: int) -> _FunctionValues:
        values = self[key] = _FunctionValues(self._model, self._evaluators.declarations[key])
        return values


class _FunctionValues(dict[tuple[Any, ...], Any]):
    """The values of a function, by its arguments."""

    def __init__(self, model: Any, declaration: Any):
        super().__init__()
        self._model, self._declaration = model, declaration

    def __missing__(self, key: tuple[Any, ...]) -> Any:
        arguments = [z3.BoolVal(value) if isinstance(value, bool) else z3.IntVal(value) for value in key]
        result = self[key] = _value(self._model, self._declaration(*arguments))
        return result


def _value(model: Any, term: Term) -> Any:
    value = model.eval(term, model_completion=True)
    return value.as_long() if z3.is_int_value(value) else bool(z3.is_true(value))


def dependent_terms(term: Term, variables: dict[int, Term]) -> set[int]:
    """Return the ids of the subterms that mention a variable."""
    dependence: dict[int, bool] = {}

    def visit(part: Term) -> bool:
        key = part.get_id()
        if key not in dependence:
            # Every child is visited, so that each one is known.
            dependence[key] = True in [visit(child) for child in part.children()] or key in variables
        return dependence[key]

    visit(term)
    return {key for key, is_dependent in dependence.items() if is_dependent}
