"""Real specs with parts of their methods deleted or replaced: each is compiled, or refused in one sentence."""

import ast
import copy
import os
import random
import warnings
from pathlib import Path
from types import ModuleType

import pytest

import specs
from checker.engines.native.lowering.native_spec import lower
from checker.frontend import compile_spec
from checker.language import Spec, SpecError
from tests.support.source_modules import load

FILES = sorted(path for path in Path(specs.__file__).parent.rglob("*.py") if "(Spec" in path.read_text())
THOROUGH = os.environ.get("TIDEMARK_PROFILE") == "thorough"


def mutated(tree: ast.Module, chooser: random.Random) -> ast.Module:
    """Return a copy in which one or two nodes inside methods are deleted, replaced by others or by constants."""
    tree = copy.deepcopy(tree)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for _ in range(chooser.randint(1, 2)):
        function = chooser.choice(functions)
        slots = [slot for node in ast.walk(function) for slot in _slots(node)]
        if not slots:
            continue
        node, name, index = chooser.choice(slots)
        everything = [found for found in ast.walk(tree) if isinstance(found, ast.expr)]
        other: ast.AST = copy.deepcopy(chooser.choice(everything))
        if chooser.random() < 0.4:
            constants = [0, -1, 10**30, True, None, "text", 1.5, (), ...]
            other = ast.Constant(chooser.choice(constants))
        content = getattr(node, name)
        if index is None:
            setattr(node, name, other)
        elif isinstance(content[index], ast.stmt):
            if len(content) > 1 and chooser.random() < 0.7:
                del content[index]
            else:
                content[index] = chooser.choice([ast.Pass(), ast.Return(other), ast.Expr(other), ast.Break()])
        else:
            content[index] = other
    return ast.fix_missing_locations(tree)


def _slots(node: ast.AST) -> list[tuple[ast.AST, str, int | None]]:
    """Return the places below a node where an expression or statement stands."""
    found: list[tuple[ast.AST, str, int | None]] = []
    for name, content in ast.iter_fields(node):
        if name in ("decorator_list", "annotation", "returns"):
            continue
        if isinstance(content, ast.expr):
            found.append((node, name, None))
        elif isinstance(content, list):
            found += [
                (node, name, index) for index, item in enumerate(content) if isinstance(item, (ast.expr, ast.stmt))
            ]
    return found


def loaded(text: str, folder: Path) -> ModuleType | None:
    """Return a module made of a text; None where Python itself refuses it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        try:
            return load(text, folder)
        except Exception:
            return None


@pytest.mark.parametrize("rounds", [400 if THOROUGH else 2, pytest.param(6, marks=pytest.mark.slow)])
@pytest.mark.parametrize("file", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_mutated_spec(file: Path, rounds: int, tmp_path: Path) -> None:
    tree = ast.parse(file.read_text())
    seed = None if THOROUGH else file.stem
    chooser = random.Random(seed)
    for _ in range(rounds):
        text = ast.unparse(mutated(tree, chooser))
        module = loaded(text, tmp_path)
        for value in list(vars(module).values()) if module is not None else []:
            if not (isinstance(value, type) and issubclass(value, Spec) and value.__module__ == module.__name__):
                continue
            try:
                lower(compile_spec(value()))
            except SpecError:
                continue
            except Exception as error:
                raise AssertionError(f"{type(error).__name__}: {error} in\n{text}") from error
