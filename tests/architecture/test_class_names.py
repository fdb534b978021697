"""One name, one concept: no two classes of the program share a name, so that a search finds the one that is meant."""

import ast
from collections import defaultdict

from tests.support.source_trees import ROOT, modules, tree_of

PACKAGES = ("checker", "kafka_tools", "spark_analysis", "traces")


def defining_modules():
    """Return for each public class name the modules that define a class of that name at their top level."""
    defining = defaultdict(list)
    for path in modules(*PACKAGES):
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                defining[node.name].append(str(path.relative_to(ROOT)))
    return defining


def test_no_two_public_classes_share_a_name():
    defining = defining_modules()
    assert len(defining) > 300
    assert {name: paths for name, paths in defining.items() if len(paths) > 1} == {}
