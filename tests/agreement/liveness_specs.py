"""Random specs with liveness properties, random fairness, and the comparison of the interpreter with the native engine.

A spec is a random graph: each action has a table from places and parameters to places. Some specs also have a bag of
messages, so that the instances of an action number positions in a collection. Most have unions of actions, and some
have actions that choose. One spec is compiled and explored once, and then decided under many assignments of fairness.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from checker.engines.native import engine
from checker.engines.native.explore.results import ResultBuilder, initial_states
from checker.engines.native.liveness.decision import NativeLiveness
from checker.engines.python.explorer import explore_states
from checker.engines.python.liveness import ExploredGraph, LivenessDecider
from checker.frontend.liveness_typing import type_liveness
from checker.language import Fairness, Spec
from checker.language.liveness import liveness_names
from checker.run.liveness import LivenessDecision
from checker.run.plan import Plan, StoreChoice

HEADER = '''"""A random spec with liveness properties."""

from checker.language import (
    Bag, Constant, Domain, FairUnion, Map, Range, Spec, Struct, action, always_eventually, choose, constraint,
    eventually, eventually_always, leads_to, require,
)

class Node(Domain):
    size, prefix = 2, "n"

class Third(Range):
    low, high = 0, 2

class Message(Struct):
    number: Range(0, 299)
    owner: Node
'''

Below = Callable[[int], int]


def liveness_source(below: Below) -> str:
    """Return the source of a module with the spec `Random`. `below(n)` chooses a number from 0 to n - 1."""
    places = 2 + below(7)
    has_net = below(3) == 0
    lines = [HEADER, f"class Place(Range):\n    low, high = 0, {places - 1}\n", "class Random(Spec):"]
    lines += ["    at = Place", "    flag = Range(0, 1)"]
    lines += ["    net = Bag(Message, 2)"] if has_net else []
    if below(3) == 0:
        lines += ["", "    def init(self, first: Place):", f"        require(first < {1 + below(places)})"]
        lines += ["        self.at = first"]
    actions = [f"act{number}" for number in range(1 + below(4))] + (["post", "take", "drop"] if has_net else [])
    lines += _unions(actions, below)
    for number in range(len(actions) - 3 * has_net):
        lines += _action(number, places, below)
    if has_net:
        lines += _net_actions(places, below)
    for number in range(2):
        lines += _label(f"where{number}", places, below)
    for name in ("eventually", "always_eventually", "eventually_always"):
        lines += _property(name, places, below)
    lines += _property('leads_to("where0")', places, below, name="leads", parameters=", node: Node")
    lines += _property('leads_to("plain")', places, below, name="leads_plainly", parameters="")
    lines += ["", "    def plain(self):", f"        return self.at == {below(places)} or self.flag == {below(3)}"]
    if below(6) == 0:
        lines += ["", "    @constraint", "    def within(self):", f"        return self.at != {below(places)}"]
    return "\n".join(lines) + "\n"


def _unions(actions: list[str], below: Below) -> list[str]:
    """Return at most two unions, which may overlap; their fairness changes with each assignment."""
    lines = []
    for number in range(below(3) if len(actions) > 1 else 0):
        first = below(len(actions))
        others = [name for name in actions[first + 1 :] + actions[:first] if below(2)]
        members = [actions[first], *(others or [actions[first - 1]])]
        lines.append(f"    union{number} = FairUnion({', '.join(map(repr, members))}, fair='weak', for_each=())")
    return lines


def _action(number: int, places: int, below: Below) -> list[str]:
    parameters = [("node", "Node", "Node[{}]", 2), ("third", "Third", "{}", 3)][: below(3)]
    body = []
    for place in range(places):
        for _ in range(below(3)):
            tests = [f"self.at == {place}"]
            for name, _, text, count in parameters:
                if below(2):
                    tests.append(f"{name} == {text.format(below(count))}")
            tests += [f"self.flag == {below(2)}"] if below(4) == 0 else []
            body += [f"if {' and '.join(tests)}:", f"    self.at = {below(places)}"]
            body += [f"    self.flag = {below(2)}"] if below(5) == 0 else []
            body += ["    return"]
    body.append("require(False)")
    # The last parameter may be a choice instead, which no fairness distinguishes. A choice must be read.
    if parameters and below(2) and any(f"{parameters[-1][0]} ==" in line for line in body):
        name, kind, _, _ = parameters.pop()
        body.insert(0, f"{name} = choose({kind})")
    head = ", ".join(["self", *(f"{name}: {kind}" for name, kind, _, _ in parameters)])
    return ["", "    @action", f"    def act{number}({head}):", *("        " + line for line in body)]


def _net_actions(places: int, below: Below) -> list[str]:
    sent = [below(3) * 140 for _ in range(2)]
    return [
        "",
        "    @action",
        "    def post(self, node: Node):",
        "        require(len(self.net) < 2)",
        f"        require(self.at != {below(places)})",
        f"        self.net.add(Message(number={sent[0]} if self.flag == 0 else {sent[1]}, owner=node))",
        "",
        "    @action",
        "    def take(self, message: Message, node: Node):",
        "        require(message in self.net)",
        f"        require(node == message.owner or self.at == {below(places)})",
        "        self.net.remove(message)",
        f"        self.at = {below(places)} if message.number == 140 else self.at",
        *(["        self.flag = 1 - self.flag"] if below(2) else []),
        "",
        "    @action",
        "    def drop(self, node: Node, message: Message):",
        "        require(message in self.net)",
        f"        require(self.at == {below(places)} and node == Node[{below(2)}])",
        "        self.net.remove(message)",
    ]


def _label(name: str, places: int, below: Below) -> list[str]:
    chosen = sorted({below(places) for _ in range(1 + below(2))})
    test = f"self.at in ({', '.join(map(str, chosen))},)"
    return ["", f"    def {name}(self, node):", f"        return {test} and (self.flag == 0 or node == Node[0])"]


def _property(decorator: str, places: int, below: Below, name: str = "", parameters: str | None = None) -> list[str]:
    if parameters is None:
        parameters = ", node: Node" if below(2) else ""
    chosen = sorted({below(places) for _ in range(1 + below(3))})
    test = f"self.at in ({', '.join(map(str, chosen))},)"
    if below(3) == 0:
        test += f" or self.flag == {below(2)}"
    if parameters and below(2):
        test = f"({test}) and (node == Node[{below(2)}] or self.where1(node))"
    name = name or f"is_{decorator}"
    return ["", f"    @{decorator}", f"    def {name}(self{parameters}):", f"        return {test}"]


def random_fairness(spec: Spec, chooser: random.Random) -> dict[str, Fairness | str | None]:
    """Return a random fairness for each action, each union, and the next-state relation.

    Of a union, each choice of some parameters that all of its actions have is fair.
    """
    found: dict[str, Fairness | str | None] = {}
    parameters = {shape.name: shape.signature for shape in spec.shapes()}
    for name, members in [*((name, (name,)) for name in parameters), *spec.fair_unions.items()]:
        first, *others = (parameters[member] for member in members)
        names = [parameter for parameter in first if all(parameter in other for other in others)]
        for_each = tuple(name for name in names if chooser.random() < 0.6)
        strength = chooser.choice(["weak", "strong", "strong", None])
        found[name] = None if strength is None else Fairness(strength, for_each)  # type: ignore[arg-type]
    found["fair_next"] = chooser.choice([None, None, None, "weak", "strong"])
    return found


def outline(decision: LivenessDecision) -> dict[str, object]:
    """Return the parts of a decision on which both engines must agree."""
    found, statistics = decision.violation, decision.statistics
    return {
        "violation": None if found is None else (found.kind, found.length),
        "stays": found is not None and len(found.loop) == 1,
        "counts": (statistics.obligations, statistics.states, statistics.edges, statistics.components),
    }


def compare_liveness(spec: Spec, seed: int, rounds: int, *, max_depth: int | None = None) -> list[bool]:
    """Compare the engines on all liveness properties of a spec under random fairness.

    Returns for each decision whether the property is violated. Both engines check their lassos with the interpreter.
    """
    chooser = random.Random(seed)
    names = liveness_names(spec, spec.properties)
    store: StoreChoice = "compact" if seed % 2 else "usual"
    plan = Plan((), "all", max_depth=max_depth, quick=True, store=store)
    explored = explore_states(spec, plan)
    compiled = engine.compile_native(spec, [], quick=True)
    _, found = engine.explore_compiled(compiled, plan, initial_states(spec), 0.0)
    builder = ResultBuilder("native", spec, compiled.state_of, plan, [], found)
    native = NativeLiveness(spec, type_liveness(spec, names), compiled.layout, found, builder.trace_of, quick=True)
    depths = [depth for depth, size in enumerate(explored.result.levels) for _ in range(size)]
    inside = [spec.within_constraints(state) for state in explored.states]
    assert native.states_outside() == inside.count(False)
    index = {state: number for number, state in enumerate(explored.states)}
    violated = []
    for _ in range(rounds):
        fair = spec.with_fairness(random_fairness(spec, chooser))
        graph = ExploredGraph(fair, explored.states, index, depths, inside, explored.trace_to)
        reference = LivenessDecider(graph)
        for name in names:
            expected, got = reference.decide(name), native.decide(fair, name)
            assert outline(got) == outline(expected), f"{name} under {fair.fairness}"
            violated.append(expected.violation is not None)
    return violated
