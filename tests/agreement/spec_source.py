"""The source text of random specs over the whole language: types, variables, actions and properties."""

from __future__ import annotations

from contextlib import suppress

from tests.agreement.spec_expressions import Expressions, Helper, Name, StuckError, World
from tests.agreement.spec_statements import Statements
from tests.agreement.spec_types import BOOL, Below, Group, Heap, Int, Kind, Line, Opt, Tup, Types, group, heap

HEADER = '''"""A random spec."""

from checker.language import (
    Bag, Constant, Domain, Enum, Map, OneOf, Option, PartialMap, Range, Seq, SetOf, Spec, Struct,
    action, choose, constraint, implies, invariant, reachable, replace, require, step_invariant, subsets, view,
)

PAIRS = ((0, True), (3, False))
SOME = frozenset({0, 3, 7})

'''


def spec_source(below: Below, *, names_members: bool = True) -> str:
    """Return the source of a module with the spec `Random`. `below(n)` chooses a number from 0 to n - 1.

    `names_members`: the spec names members of domains as often as other values, and not only where it has no other.
    """
    while True:
        with suppress(StuckError):
            return _Source(below, names_members=names_members).text()


def _needs_annotation(kind: Kind) -> bool:
    """Return whether the arguments of a call may not have the type of their parameter: None, an empty display."""
    if isinstance(kind, Tup):
        return any(map(_needs_annotation, kind.items))
    return isinstance(kind, (Opt, Line, Group))


class _Source:
    def __init__(self, below: Below, *, names_members: bool):
        self.below = below
        self.types = Types(below)
        variables = {f"s{index}": self.types.variable() for index in range(2 + below(4))}
        variables["net"] = group(self.types.message, 3) if below(2) else heap(self.types.message, 3)
        self.world = World(self.types, variables, careful=below(3) > 0, names_members=names_members)
        self.base: list[str] = []
        self.derived: list[str] = []

    def text(self) -> str:
        functions = [line for _ in range(self.below(3)) for line in self._function()]
        for _ in range(1 + self.below(4)):
            self._helper()
        self._init()
        for number in range(2 + self.below(3)):
            self._action(f"act{number}")
        for number in range(1 + self.below(3)):
            self._property(f"inv{number}", "invariant")
        for number in range(1 + self.below(2)):
            self._property(f"step{number}", "step_invariant")
        self._property("seen", "reachable")
        if self.below(3) == 0:
            self._property("within", "constraint")
        if self.below(3) == 0:
            self._view()
        return "\n".join([HEADER, *self.types.classes, *functions, *self._classes()]) + "\n"

    def _classes(self) -> list[str]:
        base = ["", "", "class Base(Spec, abstract=True):", f"    nodes = Constant({self.types.nodes})"]
        base += [
            "    limit = Constant(3, at_least=0, at_most=9)",
            "    flag = Constant(True)",
            "    pair = Constant((-1, 2))",
            "    some = Constant({-1, 2, 5})",
            '    mode_name = Constant("x", one_of=("x", "y"))',
        ]
        base += [f"    {name} = {kind.text}" for name, kind in self.world.variables.items()]
        return [*base, *self.base, "", "", "class Random(Base):", *(self.derived or ["    pass"])]

    def _method(self, decorator: str, head: str, body: list[str], *, overridden: bool = False) -> None:
        lines = [
            "",
            *([f"    @{decorator}"] if decorator else []),
            f"    def {head}:",
            *("        " + line for line in body),
        ]
        (self.derived if overridden else self.base).extend(lines)

    def _kinds(self, count: int) -> list[Kind]:
        known = [path.kind for path in Expressions(self.world).paths()]
        return [known[self.below(len(known))] for _ in range(count)]

    def _result(self) -> Kind | None:
        choice = self.below(6)
        if choice == 0:
            return None
        if choice < 3:
            return BOOL
        return self.types.pick([self.types.small, self.types.signed]) if choice == 3 else self._kinds(1)[0]

    def _parameters(self, writer: Statements) -> tuple[list[Kind], str, bool]:
        kinds = self._kinds(self.below(3))
        names = []
        for kind in kinds:
            name = writer.fresh("p")
            writer.names.append(Name(name, kind))
            names.append(f"{name}: {kind.text}" if self.below(2) or _needs_annotation(kind) else name)
        has_default = bool(kinds) and isinstance(kinds[-1], Int) and self.below(2) > 0
        if has_default:
            names[-1] += f" = {kinds[-1].low}"  # type: ignore[attr-defined]
        return kinds, ", ".join(names), has_default

    def _function(self) -> list[str]:
        result = self._kinds(1)[0] if self.below(2) else BOOL
        # Bags come only from the state.
        result = BOOL if "Bag" in result.text else result
        writer = Statements(self.world, writes=False, result=result, root="")
        kinds, parameters, has_default = self._parameters(writer)
        body = [*writer.body(2, 1), f"return {writer.result_text()}"]
        name = f"function{len(self.world.helpers)}"
        self.world.helpers.append(Helper(name, tuple(kinds), result, is_function=True, has_default=has_default))
        return ["", "", f"def {name}({parameters}):", *("    " + line for line in body)]

    def _helper(self) -> None:
        writes = self.below(3) == 0
        result = self._result()
        if result is None and not writes:
            result = BOOL
        name = f"helper{len(self.world.helpers)}"
        writer = Statements(self.world, writes=writes, result=result)
        kinds, parameters, has_default = self._parameters(writer)
        names = [name.text for name in writer.names]
        body = writer.body(3, 2)
        if result is not None:
            body.append(f"return {writer.result_text()}")
        head = f"{name}({', '.join(['self', *([parameters] if parameters else [])])})"
        self._method("", head, body)
        if self.below(4) == 0 and result is not None:
            above = Statements(self.world, writes=False, result=result)
            call = f"super().{name}({', '.join(names)})"
            self._method(
                "",
                head,
                [f"if {above.truth(1)}:", f"    return {call}", f"return {above.result_text()}"],
                overridden=True,
            )
            # An override calls the method of the base, which may write.
        self.world.helpers.append(Helper(name, tuple(kinds), result, writes, has_default=has_default))

    def _init(self) -> None:
        writer = Statements(self.world, writes=True)
        if self.below(2):
            kind = self.types.parameter()
            writer.names.append(Name("first", kind))
            self._method("", f"init(self, first: {kind.text})", writer.body(3, 1))
        elif self.below(2):
            self._method("", "init(self)", writer.body(3, 1))

    def _action(self, name: str) -> None:
        writer = Statements(self.world, writes=True)
        writer.in_action = True
        body, parameters, choices = [], ["self"], 1
        for _ in range(self.below(3)):
            kind = self.types.parameter()
            if choices * kind.count > 24:
                continue
            choices *= kind.count
            parameter = writer.fresh("p")
            writer.names.append(Name(parameter, kind))
            parameters.append(f"{parameter}: {kind.text}")
        if self.below(4) == 0 and self.types.message.count > 256:
            net = self.world.variables["net"]
            assert isinstance(net, (Group, Heap))
            parameters.insert(1, f"message: {self.types.message.text}")
            writer.names.append(Name("message", self.types.message))
            body.append("require(message in self.net)")
            if self.below(2):
                body.append("self.net.remove(message)")
        names = [name.text for name in writer.names]
        has_choice = self.below(3) == 0
        if has_choice:
            is_leading = all(line.startswith("require(") for line in body)
            body += self._choice(writer, choices, is_leading)
        if parameters[1:2] and parameters[1].startswith("message"):
            names = ["message", *(name for name in names if name != "message")]
        body += writer.body(4, 2)
        head = f"{name}({', '.join(parameters)})"
        self._method("action", head, body)
        # An action that chooses cannot be called as a helper.
        if self.below(4) == 0 and not has_choice:
            above = Statements(self.world, writes=True)
            above.in_action = True
            bound = ["require(message in self.net)"] if "message" in names else []
            lines = [*above.body(1, 1), f"super().{name}({', '.join(names)})", *above.body(1, 1)]
            self._method("", head, [*bound, *lines], overridden=True)

    def _choice(self, writer: Statements, choices: int, is_leading: bool) -> list[str]:
        """Return a choice from a type, from subsets or from a collection of the state, perhaps after a change."""
        before = writer.change() if self.below(3) == 0 else []
        if "return" in " ".join(before):
            before = []
        paths = [
            path
            for path in writer.paths()
            if isinstance(path.kind, (Group, Heap, Line))
            and str(path.parts[0]).startswith("self.")
            and not path.unwraps
            and not path.indexes
            and (
                path.kind.item.count * choices <= 24
                or (path.kind.item.count > 256 and is_leading and not before and choices < 9)
            )
        ]
        name = writer.fresh("_chosen")
        choice = self.below(3)
        if choice == 0 and paths:
            path = paths[self.below(len(paths))]
            assert isinstance(path.kind, (Group, Heap, Line))
            text, kind = writer.path_text(path, 1), path.kind.item
        elif choice == 1:
            text, item = writer.subsets_of(1)
            kind = group(item, None)
        else:
            kind = self.types.pick([self.types.node, self.types.small])
            text = kind.text
        writer.names.append(Name(name, kind))
        return [*before, f"{name} = choose({text})"]

    def _view(self) -> None:
        writer = Statements(self.world, writes=False, result=BOOL)
        parts = [self._seen(writer) for _ in range(1 + self.below(3))]
        # Statements that return early would have another type.
        locals_ = [line for line in writer.local() if self.below(2) and line.startswith("_v")]
        self._method("view(unchecked=True)", "shown(self)", [*locals_, f"return {', '.join(parts)}"])

    def _seen(self, writer: Statements) -> str:
        """Return a part of a view: a whole variable, an expression of a kind, or a condition."""
        choice = self.below(4)
        if choice == 0:
            names = list(self.world.variables)
            return f"self.{names[self.below(len(names))]}"
        return writer.truth(2) if choice == 1 else writer.value(self._kinds(1)[0], 2)

    def _property(self, name: str, role: str) -> None:
        writer = Statements(self.world, writes=False, result=BOOL)
        old = ""
        if role == "step_invariant":
            writer.roots, old = ("self", "old"), ", old"
        body = writer.body(2, 1) if self.below(3) == 0 else []
        self._method(role, f"{name}(self{old})", [*body, f"return {writer.truth(3)}"])
