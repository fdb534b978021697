"""A generator of wrong specs: one mistake is put into a spec that is right."""

import ast
import builtins
import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

Write = Callable[[], str]
"""Writes the text of a module. A large spec has thousands of wrong versions, of which a test writes a few."""

_PROPERTY = re.compile("@invariant|@step_invariant|@leads_to|Refinement")

INSERTED = {
    "while": "while True:\n    pass",
    "try": "try:\n    pass\nexcept ValueError:\n    pass",
    "with": "with open('x'):\n    pass",
    "assert": "assert True",
    "global": "global counter",
    "import": "import os",
    "raise": "raise ValueError",
    "inner function": "def inner():\n    pass",
    "inner class": "class Inner:\n    pass",
    "print": "print('here')",
    "lambda": "(lambda: 1)()",
    "f-string": "unread = f'{1}'",
    "float": "require(0.5 < 1)",
    "walrus": "require((found := 1) > 0)",
    "text": "unread = 'text'",
    "unread local": "unread = 1",
    "unknown name": "require(no_such_name > 0)",
    "unknown variable": "self.no_such_variable = 1",
    "unknown helper": "self.no_such_helper()",
    "unknown function": "no_such_function()",
    "no effect": "1 + 1",
    "number as condition": "require(1)",
    "require without a condition": "require()",
    "require with a message": "require(True, 'because')",
    "empty range": "for number in range(3, 1):\n    pass",
    "stepped range": "for number in range(0, 9, 2):\n    pass",
    "loop with else": "for number in range(3):\n    pass\nelse:\n    pass",
    "two targets": "one = two = 1",
    "division": "require(1 / 2 > 0)",
    "sum of bools": "require(sum(True for number in range(3)) > 0)",
    "conversion": "require(int(True) > 0)",
    "yield": "yield 1",
    "await": "async def inner():\n    pass",
    "state as a value": "require(self == 1)",
    "assigned state": "self = 1",
    "zip": "require(all(a > b for a, b in zip([1], [2])))",
    "list of types": "require([1, True] == [])",
    "compared types": "require(1 == True)",
    "deleted name": "del self",
    "negative index": "require([1][-1] > 0)",
    "is": "require(1 is 1)",
    "huge number": "require(0 < 10000000000000000000000000)",
    "values of a dict": "require(len({1: 2}.values()) > 0)",
    "union as a method": "require({1}.union({2}) == {1, 2})",
    "issubset": "require({1}.issubset({2}))",
    "next": "require(next(iter([1])) > 0)",
    "type as a value": "kind = int\nrequire(kind == int)",
    "choice in a branch": "if True and len([1]) > 0:\n    chosen = choose([1])\n    require(chosen > 0)",
    "choice in a loop": "for number in range(2):\n    chosen = choose([1])\n    require(chosen > 0)",
    "choice in an expression": "require(choose([1]) > 0)",
    "choice without a collection": "chosen = choose()\nrequire(chosen > 0)",
    "pattern of a sequence": "match 1:\n    case [one]:\n        require(one > 0)",
    "pattern by position": "match 1:\n    case Struct(one):\n        require(one > 0)",
    "guard over its own part": "match 1:\n    case one if any(one > 0 for one in [1]):\n        require(one > 0)",
    "subsets of a number": "require(any(len(found) > 0 for found in subsets(1)))",
    "list in a set": "require({[1]} == {[2]})",
    "unpacking of a number": "one, two = 1\nrequire(one > two)",
    "isinstance of a number": "require(isinstance(1, int))",
    "key without a function": "require(max([1], key=1) > 0)",
}
"""Statements that are wrong at the start of every action, by the name of the mistake."""

DECLARED = {
    "int as a type": "extra = Seq(int, 2)",
    "text as a type": "extra = SetOf('text')",
    "empty range": "extra = Range(3, 1)",
    "unknown constant": "extra = Range(0, 'no_such_constant')",
    "broken bound": "extra = Range(0, '1 +')",
    "float bound": "extra = Range(0, '1.5')",
    "negative capacity": "extra = Seq(bool, -1)",
    "no capacity": "extra = Seq(bool)",
    "option of option": "extra = Option(Option(bool))",
    "map of sets": "extra = Map(SetOf(bool), bool)",
    "large set": "extra = SetOf(Range(0, 999))",
    "reserved variable": "step = bool",
    "reserved constant": "variables = Constant(1)",
    "reserved method": "def holds(self):\n    return True",
    "float constant": "extra = Constant(1.5)",
    "constant without names": "extra = Constant('text')",
    "default below its bound": "extra = Constant(1, at_least=2)",
    "constructor": "def __init__(self):\n    pass",
    "scenarios in the class": "scenarios = []",
    "abstract in the class": "abstract = True",
    "two roles": "@action\n@invariant\ndef extra(self):\n    return True",
    "two decorators": "@action\n@action\ndef extra(self):\n    pass",
    "static action": "@staticmethod\n@action\ndef extra():\n    pass",
    "async action": "@action\nasync def extra(self):\n    pass",
    "action without self": "@action\ndef extra():\n    pass",
    "positional parameter": "@action\ndef extra(self, flag: bool, /):\n    pass",
    "parameter without a type": "@action\ndef extra(self, flag):\n    pass",
    "parameter of a Python type": "@action\ndef extra(self, flag: int):\n    pass",
    "parameter of an unknown type": "@action\ndef extra(self, flag: 'NoSuchType'):\n    pass",
    "starred parameters": "@action\ndef extra(self, *flags):\n    pass",
    "large parameter": "@action\ndef extra(self, number: Range(0, 9999)):\n    pass",
    "action with a result": "@action\ndef extra(self):\n    return 1",
    "invariant without a result": "@invariant\ndef extra(self):\n    pass",
    "invariant of a number": "@invariant\ndef extra(self):\n    return 1",
    "invariant with require": "@invariant\ndef extra(self):\n    require(True)\n    return True",
    "invariant with a parameter": "@invariant\ndef extra(self, old):\n    return True",
    "step invariant without old": "@step_invariant\ndef extra(self):\n    return True",
    "constraint of a number": "@constraint\ndef extra(self):\n    return 1",
    "decorated init": "@action\ndef init(self):\n    pass",
    "init as a variable": "init = bool",
    "bound of no constant": "extra = Constant(4, at_least='n + 1')",
    "constant of a function": "extra = Constant(print)",
    "false assumption": "@assume\ndef extra(self):\n    return False",
    "assumption of a number": "@assume\ndef extra(self):\n    return 1",
    "view without a value": "@view\ndef extra(self):\n    pass",
    "view that writes": "@view\ndef extra(self):\n    self.no_such_variable = 1\n    return 1",
    "view with a parameter": "@view\ndef extra(self, flag: bool):\n    return flag",
    "view without a bound": "@view\ndef extra(self):\n    n = 0\n    for m in range(3):\n        n += m\n    return n",
    "two views": "@view\ndef extra(self):\n    return 1\n\n@view\ndef other(self):\n    return 2",
    "message with a wrong name": "@invariant(says='{no_such_name}')\ndef extra(self):\n    return True",
    "message that is not closed": "@invariant(says='{self')\ndef extra(self):\n    return True",
    "message of a wrong variable": "@invariant(says='{self.no_such_variable}')\ndef extra(self):\n    return True",
    "refinement of a number": "extra = Refinement(1)",
    "refinement of an unknown variable": "extra = Refinement(Whole, no_such_variable=lambda self: 1)",
    "refinement with a wrong value": "extra = Refinement(Whole, flag=lambda self: 1)",
    "union of unknown actions": "extra = FairUnion('no_such_action', 'other_action', fair='weak')",
    "union without fairness": "extra = FairUnion('no_such_action', 'other_action')",
    "wrong strength": "@action(fair='very')\ndef extra(self):\n    pass",
    "fairness for each unknown": "@action(fair='weak', for_each='no_such_parameter')\ndef extra(self):\n    pass",
    "unknown premise": "@leads_to('no_such_helper')\ndef extra(self):\n    return True",
    "choice in init": "def init(self):\n    chosen = choose([1])\n    require(chosen > 0)",
    "choice in an invariant": "@invariant\ndef extra(self):\n    chosen = choose([1])\n    return chosen > 0",
    "recursion": "def again(self):\n    return self.again()\n\n@invariant\ndef extra(self):\n    return self.again()",
}
"""Declarations that are wrong in every spec, by the name of the mistake."""

FIELDS = {
    "wrong field": "class Extra(Struct):\n    flag: bool\n    shows = 'p{other}'",
    "broken shows": "class Extra(Struct):\n    flag: bool\n    shows = 'p{flag'",
    "reserved field": "class Extra(Struct):\n    field: bool",
    "unknown type of a field": "class Extra(Struct):\n    flag: NoSuchType",
    "wrong drawing": "Lane('x', facts=('flag',))",
    "wrong name in Python": "no_such_name",
    "exit": "raise SystemExit(1)",
    "division by zero": "1 / 0",
    "missing module": "import no_such_module",
    "wrong scenarios": "scenarios = [1]",
    "two scenarios of one name": "scenarios = [Scenario(Whole, 'one'), Scenario(Whole, 'one')]",
    "scenario with an unknown constant": "scenarios = [Scenario(Whole, 'one', dict(no_such_constant=1))]",
    "scenario of an unknown property": "scenarios = [Scenario(Whole, 'one', properties=['no_such_property'])]",
    "two fields of one name": "class Extra(Struct):\n    flag: bool\n    flag: bool",
    "members that are missing": "class Mode(Enum):\n    ON = 1\n\nclass Extra(Whole):\n    mode = Mode\n\n"
    "    @action\n    def switch(self):\n        self.mode = Mode.OFF",
    "no actions": "class Extra(Spec):\n    flag = bool",
    "no actions left": "class Extra(Whole):\n    turn = None",
    "union of one": "Extra = OneOf(Whole)",
}
"""Statements that are wrong at the top of every module, after `WHOLE`, by the name of the mistake."""

WHOLE = """
class Whole(Spec):
    flag = bool

    @action
    def turn(self):
        self.flag = not self.flag
"""
"""A spec that is right."""


@dataclass(frozen=True)
class WrongSpec:
    """A module with one mistake, and the functions that write its text and the text of its probe."""

    mistake: str
    write: Write
    write_probe: Write | None = None

    @cached_property
    def text(self) -> str:
        """The text of the module."""
        return self.write()

    @cached_property
    def probe(self) -> str | None:
        """The text with an unknown variable at the same place, or None.

        A place in code that no engine reads, such as code that a constant disables, has no errors: then the probe has
        none.
        """
        return self.write_probe() if self.write_probe is not None else None


def wrong_specs(text: str) -> Iterator[WrongSpec]:
    """Iterate over wrong versions of a module with specs."""
    tree = ast.parse(text)
    for mistake, statement in FIELDS.items():
        yield WrongSpec(f"module: {mistake}", partial("\n".join, (text, WHOLE, statement, "")))
    for spec in _spec_classes(tree):
        yield from _wrong_declarations(tree, spec)
        for method in [node for node in spec.body if isinstance(node, ast.FunctionDef) and _role(node)]:
            yield from _wrong_method(tree, spec, method)


def _wrong_declarations(tree: ast.Module, spec: ast.ClassDef) -> Iterator[WrongSpec]:
    for mistake, statement in DECLARED.items():
        probe = partial(_property_probe, tree, spec) if _PROPERTY.search(statement) else None
        yield WrongSpec(f"{spec.name}: {mistake}", partial(_with_declaration, tree, spec, statement), probe)
    for node in spec.body:
        if isinstance(node, (ast.FunctionDef, ast.Assign)) and not _is_removal(node):
            twice = partial(_with_declaration, tree, spec, ast.unparse(node))
            yield WrongSpec(f"{spec.name}: declared twice: {ast.unparse(node)[:30]}", twice)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and not _is_removal(node):
            method = f"@invariant\ndef {node.targets[0].id}(self):\n    return True"
            yield WrongSpec(
                f"{spec.name}: a method with the name {node.targets[0].id}",
                partial(_with_declaration, tree, spec, method),
            )


def _with_declaration(tree: ast.Module, spec: ast.ClassDef, statement: str) -> str:
    """Return the module with a declaration at the end of a spec, and with `Whole` if that one uses it."""
    changed, (found,) = _copied(tree, spec)
    found.body += ast.parse(statement).body  # type: ignore[attr-defined]
    if "Whole" in statement:
        place = changed.body.index(found)  # type: ignore[arg-type]
        changed.body[place:place] = ast.parse(WHOLE).body
    return ast.unparse(ast.fix_missing_locations(changed))


def _property_probe(tree: ast.Module, spec: ast.ClassDef) -> str:
    """Return the module with a wrong invariant: the scenarios of a module may check other properties only."""
    return _with_declaration(tree, spec, "@invariant\ndef extra(self):\n    return self.no_such_variable")


def _wrong_method(tree: ast.Module, spec: ast.ClassDef, method: ast.FunctionDef) -> Iterator[WrongSpec]:
    name = f"{spec.name}.{method.name}"
    if _role(method) == "action":
        for mistake, statement in INSERTED.items():
            yield WrongSpec(f"{name}: {mistake}", partial(_with_statement, tree, method, statement))
    loaded = {node.id for node in ast.walk(method) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    known = {argument.arg for argument in method.args.args} | set(dir(builtins)) | _names(tree)
    known |= {node.id for node in ast.walk(method) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    for node in [node for node in ast.walk(method) if isinstance(node, (ast.Attribute, ast.Call, ast.Compare))]:
        for mistake, new in _mistakes(node, loaded, known):
            what = f"{name}: {mistake}: {ast.unparse(node)[:40]}"
            yield WrongSpec(what, partial(_replaced, tree, node, new), partial(_probe, tree, node))


def _with_statement(tree: ast.Module, method: ast.FunctionDef, statement: str) -> str:
    """Return the module with a statement at the start of a method."""
    changed, (found,) = _copied(tree, method)
    found.body[:0] = ast.parse(statement).body  # type: ignore[attr-defined]
    return ast.unparse(ast.fix_missing_locations(changed))


def _mistakes(node: ast.expr, loaded: set[str], known: set[str]) -> Iterator[tuple[str, ast.expr]]:
    """Iterate over wrong expressions in place of one, with the names of the mistakes."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        is_read = isinstance(node.ctx, ast.Load)
        yield "misspelt", ast.Attribute(node.value, f"{node.attr}_x", node.ctx)
        # A name that the method knows is another value, and not certainly a mistake.
        if node.attr not in (known if is_read else loaded):
            yield "forgotten self", ast.Name(node.attr, node.ctx)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
        right = node.comparators[0]
        if not (isinstance(right, ast.Constant) and right.value is None):
            yield "is", ast.Compare(node.left, [ast.Is()], node.comparators)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        function = ast.Attribute(node.func.value, f"{node.func.attr}_x", ast.Load())
        yield "unknown method", ast.Call(function, node.args, node.keywords)
        if node.args and isinstance(node.func.value, ast.Name) and node.func.value.id == "self":
            yield "missing argument", ast.Call(node.func, node.args[1:], node.keywords)
        yield "argument too many", ast.Call(node.func, [*node.args, *[ast.Constant(0)] * 3], node.keywords)


def _probe(tree: ast.Module, node: ast.expr) -> str:
    """Return the module with an unknown variable in place of an expression."""
    context = node.ctx if isinstance(node, ast.Attribute) else ast.Load()
    return _replaced(tree, node, ast.Attribute(ast.Name("self", ast.Load()), "no_such_variable", context))


def _replaced(tree: ast.Module, node: ast.AST, new: ast.expr) -> str:
    class Replace(ast.NodeTransformer):
        def visit(self, found: ast.AST) -> ast.AST:
            if found is target:
                return copy.deepcopy(new)
            return super().visit(found)  # type: ignore[no-any-return]

    changed, (target,) = _copied(tree, node)
    return ast.unparse(ast.fix_missing_locations(Replace().visit(changed)))


def _copied(tree: ast.Module, *nodes: ast.AST) -> tuple[ast.Module, list[ast.AST]]:
    """Return a copy of a tree, and the copies of some of its nodes."""
    memory: dict[int, ast.AST] = {}
    changed = copy.deepcopy(tree, memory)  # type: ignore[arg-type]
    return changed, [memory[id(node)] for node in nodes]


def _spec_classes(tree: ast.Module) -> list[ast.ClassDef]:
    """Return the classes with an action, which are not abstract."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and not node.keywords]
    return [node for node in classes if any(_role(method) == "action" for method in node.body)]


def _role(node: ast.stmt) -> str:
    """Return the decorator of a method of the spec: `action`, `invariant`, or "" for others."""
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    names = [ast.unparse(found.func if isinstance(found, ast.Call) else found) for found in decorators]
    return next((name for name in names if name in ("action", "invariant", "step_invariant", "reachable")), "")


def _is_removal(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and not isinstance(node.value, (ast.Call, ast.Name))


def _names(tree: ast.Module) -> set[str]:
    """Return the names at the top of a module."""
    imported = [alias for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom)) for alias in node.names]
    defined = [node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))]
    assigned = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    return {alias.asname or alias.name for alias in imported} | set(defined) | set(assigned)
