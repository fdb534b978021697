"""No files import each other in a circle, also not for type checks: a reader can take them one after the other."""

import ast
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.support.source_trees import ROOT, tree_of

PACKAGES = ("checker", "kafka_tools", "spark_analysis", "specs", "traces")
KNOWN = {("kafka_tools.advise.models", "kafka_tools.advise.questions")}
"""Imports that are left out: a model answers a question, and names its type for type checks only."""


def module_name(path, root):
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def imports_of(root, packages):
    """Return for each module the modules that it imports, anywhere in its file."""
    paths = {module_name(path, root): path for package in packages for path in (root / package).rglob("*.py")}
    return {name: imported(path) & paths.keys() - {name} for name, path in paths.items()}


def imported(path):
    names = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            names |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            # The name may be a module of the package.
            names |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
    return names


def order(imports):
    return list(TopologicalSorter(imports).static_order())


def test_no_files_import_each_other():
    imports = imports_of(ROOT, PACKAGES)
    assert len(imports) > 700
    for importing, other in KNOWN:
        imports[importing].remove(other)
    # A package is read for what its modules share, and not after them.
    packages = {name for name in imports if (ROOT / name.replace(".", "/")).is_dir()}
    order({name: others - packages for name, others in imports.items() if name not in packages})


def test_a_circle_is_seen(tmp_path):
    (tmp_path / "rooms").mkdir()
    (tmp_path / "rooms/first.py").write_text("def f():\n    from rooms import second\n")
    (tmp_path / "rooms/second.py").write_text("if TYPE_CHECKING:\n    from rooms.first import f\n")
    with pytest.raises(CycleError):
        order(imports_of(tmp_path, ["rooms"]))
