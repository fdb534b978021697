"""The second checker of witnesses stands alone: what it imports, that it is one file, and how long it is."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import checker.language

ROOT = Path(__file__).parents[2]
MOST_LINES = {"witness_check.py": 400, "witness_memo.py": 130}


def imports_of(path):
    """Return the imported names of a file, each with its module."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((found.name, "") for found in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module, found.name) for found in node.names)


PARTS = {("checker.language.json_values", "from_plain_json"), ("checker.language.liveness", "liveness_property")}
"""What it uses of the language beside the names for specs: the description of values, and that of a property."""


def test_it_imports_the_public_names_of_the_language_alone():
    for name in MOST_LINES:
        for module, imported in imports_of(ROOT / name):
            if module == "checker.language":
                assert imported in checker.language.__all__, (name, imported)
            elif (module, imported) not in PARTS:
                assert module.partition(".")[0] in sys.stdlib_module_names, (name, module)


def test_it_loads_no_engine_and_no_front_end():
    """A module that the language imports for its own purposes counts too."""
    code = "import sys, witness_check; print(*(name for name in sys.modules if name.startswith(('checker', 'traces'))))"
    shown = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    allowed = ("checker.language", "checker.errors", "checker.printable")
    assert [name for name in shown.split() if name != "checker" and not name.startswith(allowed)] == []


def private_names(path):
    """Iterate over the private names that a file uses of other objects: as attributes, as texts, and as keywords."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and not (isinstance(node.value, ast.Name) and node.value.id == "self"):
            yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.keyword):
            yield node.arg or ""


def test_it_uses_no_private_names():
    used = {found for name in MOST_LINES for found in private_names(ROOT / name) if re.fullmatch(r"_[a-z]\w*", found)}
    assert used == set()


def test_it_is_short():
    for name, most in MOST_LINES.items():
        assert len((ROOT / name).read_text().splitlines()) <= most, name
