"""One name, one concept: no two classes of the program share a name, so that a search finds the one that is meant."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("checker", "kafka_tools", "spark_analysis", "traces")


def defining_modules():
    """Return for each public class name the modules that define a class of that name at their top level."""
    modules = defaultdict(list)
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    modules[node.name].append(str(path.relative_to(ROOT)))
    return modules


def test_no_two_public_classes_share_a_name():
    found = defining_modules()
    assert len(found) > 300
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}
