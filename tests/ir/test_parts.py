"""The parts of nodes, compared with everything that the fields of nodes contain."""

import dataclasses
import re
from collections import Counter
from collections.abc import Iterator

import pytest

from checker.engines.native.lowering.outlining import BodyCounts
from checker.frontend import compile_spec
from checker.ir import nodes, parts
from checker.ir.parts import NODES, parts_of
from checker.run.request import Request, runs_for

TARGETS = ["replication/partition", "transactions/exactly_once_loop", "pipeline/pipeline", "consumer/cooperative_group"]


def program_of(target: str) -> nodes.Program:
    spec = runs_for(Request((target,)))[0].spec
    return compile_spec(spec, list(spec.safety_properties))


def below(value: object, found: list[object]) -> None:
    """Add the nodes in any value: a node, or a tuple, however deep, with other values in it."""
    if isinstance(value, tuple):
        for item in value:
            below(item, found)
    elif isinstance(value, NODES):
        found.append(value)


def bodies(program: nodes.Program) -> Iterator[tuple[nodes.Stmt, ...]]:
    yield from (action.body for action in program.actions)
    yield from (predicate.function.body for predicate in (*program.properties, *program.constraints))


@pytest.mark.parametrize("target", TARGETS)
def test_parts_are_the_nodes_in_all_fields(target: str) -> None:
    kinds = set()
    waiting = [node for body in bodies(program_of(target)) for node in body]
    while waiting:
        node = waiting.pop()
        kinds.add(type(node))
        expected: list[object] = []
        below(tuple(vars(node).values()), expected)
        assert Counter(map(id, parts_of(node))) == Counter(map(id, expected))
        waiting += parts_of(node)
    assert {nodes.Comparison, nodes.HelperCall} <= kinds


def test_a_field_that_is_left_out_has_no_node_in_its_type():
    kinds = [kind for kind in vars(nodes).values() if isinstance(kind, type) and issubclass(kind, NODES)]
    types = {str(field.type) for kind in kinds for field in dataclasses.fields(kind)}
    annotations = [re.findall(r"\w+", re.sub(r"OneOf\[.*?\]", "OneOf", text)) for text in types]
    left_out = [names for names in annotations if names[0] in parts._LEAVES]
    assert len(left_out) > 5
    assert all(set(names) <= parts._LEAVES | {"None"} for names in left_out)


@pytest.mark.parametrize("target", TARGETS)
def test_a_body_counts_as_if_its_helpers_were_inlined(target: str) -> None:
    def inlined(value: object, calls: Counter[nodes.Function]) -> int:
        """Return the number of nodes in a value, and count the calls."""
        if isinstance(value, tuple):
            return sum(inlined(item, calls) for item in value)
        if not isinstance(value, NODES):
            return 0
        size = 1
        if isinstance(value, nodes.HelperCall):
            calls[value.function] += 1
            size += inlined(value.function.body, calls)
        return size + sum(inlined(part, calls) for part in vars(value).values())

    counts = BodyCounts()
    found = list(bodies(program_of(target)))
    assert found
    for body in found:
        calls: Counter[nodes.Function] = Counter()
        assert counts.size(body) == inlined(body, calls)
        assert counts.calls(body) == calls
