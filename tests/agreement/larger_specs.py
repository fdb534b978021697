"""The source text of random specs with up to some thousands of states, and with symmetry, fairness and liveness.

`spec_expressions` covers the language with small specs; this one covers searches. It writes what `plain_search` can run
too. Values stay in bounds, except where a spec forgets one guard.
"""

from __future__ import annotations

from collections.abc import Callable

HEADER = '''"""A random spec."""

from enum import Enum

from checker.language import (
    Bag, Domain, Map, Option, PartialMap, Range, Seq, SetOf, Spec, action, always_eventually, choose, constraint,
    eventually, eventually_always, implies, invariant, leads_to, reachable, require, step_invariant,
)


class Node(Domain):
    size, prefix = {nodes}, "n"


class Mode(Enum):
    IDLE = "idle"
    BUSY = "busy"
    DONE = "done"


class Random(Spec):'''
VARIABLES = {
    "at": "Map(Node, Range(0, {top}))",
    "done": "SetOf(Node)",
    "line": "Seq(Node, {most})",
    "log": "Map(Node, Seq(Range(0, 1), 2))",
    "kept": "PartialMap(Node, Range(0, 1))",
    "owner": "Option(Node)",
    "count": "Range(0, {top})",
    "mode": "Mode",
    "net": "Bag(tuple[Node, Range(0, 1)], {most})",
}
# For each variable, changes with the guard that each needs; `n` is a node, `k` 0 or 1.
CHANGES = {
    "at": [
        ("self.at[n] < {top}", "self.at[n] += 1"),
        ("self.at[n] > 0", "self.at[n] -= 1"),
        ("", "self.at[n] = {c}"),
        ("self.at[n] == {c}", "for m in Node:\n    if self.at[m] != {c}:\n        self.at[m] = {d}"),
    ],
    "done": [("n not in self.done", "self.done.add(n)"), ("n in self.done", "self.done.remove(n)")],
    "line": [
        ("len(self.line) < {most}", "self.line.append(n)"),
        ("len(self.line) > 0 and self.line[0] == n", "self.line = self.line[1:]"),
    ],
    "log": [
        ("len(self.log[n]) < 2", "self.log[n].append(k)"),
        ("", "self.log[n] = self.log[n][:k]"),
        ("len(self.log[n]) == 2", "for m in Node:\n    self.log[m] = self.log[n]"),
    ],
    "kept": [("n not in self.kept", "self.kept[n] = k"), ("n in self.kept and self.kept[n] == k", "del self.kept[n]")],
    "owner": [("self.owner is None", "self.owner = n"), ("self.owner == n", "self.owner = None")],
    "count": [("self.count < {top}", "self.count += 1"), ("self.count > 0", "self.count -= 1"), ("", "self.count = 0")],
    "mode": [("self.mode == {mode}", "self.mode = {other}"), ("self.mode != {mode}", "self.mode = {mode}")],
    "net": [
        ("len(self.net) < {most}", "self.net.add((n, k))"),
        ("(n, k) in self.net", "self.net.remove((n, k))"),
    ],
}
# Conditions on a node `n`, and on the whole state.
OF_NODE = {
    "at": ["{self}.at[n] {order} {c}", "all({self}.at[m] <= {self}.at[n] for m in Node)"],
    "done": ["n in {self}.done", "n not in {self}.done"],
    "line": ["n in {self}.line", "(len({self}.line) == 0 or {self}.line[0] != n)"],
    "log": ["len({self}.log[n]) {order} {one}", "1 in {self}.log[n]"],
    "kept": ["n in {self}.kept", "(n in {self}.kept and {self}.kept[n] == {one})"],
    "owner": ["{self}.owner == n", "{self}.owner != n"],
    "net": ["(n, {one}) not in {self}.net", "any(m == n for m, _ in {self}.net)"],
}
OF_STATE = {
    "at": ["sum({self}.at[n] for n in Node) {order} {d}", "max({self}.at[n] for n in Node) {order} {c}"],
    "done": ["len({self}.done) {order} {one}"],
    "line": ["len({self}.line) {order} {one}"],
    "owner": ["{self}.owner is None"],
    "count": ["{self}.count {order} {c}"],
    "mode": ["{self}.mode == {mode}", "{self}.mode != {mode}"],
    "net": ["len({self}.net) {order} {one}"],
    "kept": ["len({self}.kept) {order} {one}"],
    "log": ["all(len({self}.log[n]) {order} {one} for n in Node)"],
}


def larger_source(below: Callable[[int], int]) -> str:
    """Return the source of a module with the spec `Random`. `below(n)` chooses a number from 0 to n - 1."""
    return _Source(below).text()


class _Source:
    def __init__(self, below: Callable[[int], int]):
        self.below, self.nodes, self.top, self.most = below, 2 + (below(3) > 0), 1 + below(3), 1 + below(2)
        others = [name for name in VARIABLES if name != "at"]
        self.variables = ["at"] + [others.pop(below(len(others))) for _ in range(1 + below(3))]

    def pick(self, items: list[str]) -> str:
        return items[self.below(len(items))]

    def fill(self, text: str, root: str = "self") -> str:
        modes = ["Mode.IDLE", "Mode.BUSY", "Mode.DONE"]
        mode = modes.pop(self.below(3))
        values = {"c": self.below(self.top + 1), "d": self.below(self.top + 1), "one": self.below(2)}
        order = self.pick(["<", "<=", "==", "!=", ">"])
        names = {"self": root, "order": order, "mode": mode, "other": self.pick(modes)}
        return text.format(**values, **names, top=self.top, most=self.most)

    def of_node(self, root: str = "self") -> str:
        known = [name for name in self.variables if name in OF_NODE]
        return self.fill(self.pick(OF_NODE[self.pick(known)]), root)

    def of_state(self, root: str = "self", depth: int = 2) -> str:
        choice = self.below(6) if depth else 0
        if choice < 2:
            return self.fill(self.pick(OF_STATE[self.pick(self.variables)]), root)
        if choice == 2:
            return f"implies({self.of_state(root, depth - 1)}, {self.of_state(root, depth - 1)})"
        if choice == 3:
            return f"({self.of_state(root, depth - 1)} {self.pick(['and', 'or'])} {self.of_state(root, depth - 1)})"
        return f"{self.pick(['all', 'any'])}({self.of_node(root)} for n in Node)"

    def text(self) -> str:
        lines = [HEADER.format(nodes=self.nodes)]
        lines += [f"    {name} = {self.fill(VARIABLES[name])}" for name in self.variables]
        if self.below(6) == 0:
            lines.append(f'    fair_next = "{self.pick(["weak", "strong"])}"')
        if self.below(3) == 0:
            named = self.pick(["", "Node[0]"])
            head = "def init(self):" if named else "def init(self, first: Node):"
            lines += ["", f"    {head}", f"        self.at[{named or 'first'}] = {self.top}"]
        is_careless = self.below(8) == 0
        changes = [(name, change) for name in self.variables for change in CHANGES[name]]
        for number in range(4 + self.below(4)):
            if not changes:
                break
            mine = dict([changes.pop(self.below(len(changes)))])
            if changes and self.below(3) == 0:
                mine = dict([changes.pop(self.below(len(changes)))]) | mine
            lines += self.action(f"act{number}", mine, is_careless and number == 0)
        for number in range(2):
            lines += self.method("invariant", f"inv{number}(self)", self.of_state())
        step = f"implies({self.of_state('old')}, {self.of_state()})"
        lines += self.method("step_invariant", "moves(self, old)", step)
        lines += self.method("reachable", "seen(self)", f"{self.of_state()} and {self.of_state()}")
        for role in ("eventually", "always_eventually", "eventually_always"):
            lines += self.method(role, f"is_{role}(self)", self.of_state())
        lines += ["", "    def asked(self, n):", f"        return {self.of_node()}"]
        lines += self.method('leads_to("asked")', "answered(self, n: Node)", self.of_node())
        if self.below(8) == 0:
            lines += self.method("constraint", "within(self)", self.of_state())
        return "\n".join(lines) + "\n"

    def method(self, role: str, head: str, result: str) -> list[str]:
        return ["", f"    @{role}", f"    def {head}:", f"        return {result}"]

    def action(self, name: str, mine: dict[str, tuple[str, str]], is_careless: bool) -> list[str]:
        guards, changes = [], []
        for pair in mine.values():
            needed, change = self.fill("\0".join(pair)).split("\0")
            if needed and self.below(5) == 0:
                changes += [f"if {needed}:", *("    " + line for line in change.splitlines())]
            else:
                guards += [needed] if needed else []
                changes += change.splitlines()
        if is_careless and guards:
            guards.pop()
        guards += [self.of_node()] if self.below(4) == 0 else []
        guards += [self.of_state()] if self.below(6) == 0 else []
        chosen = self.pick(["", "", "Node", "self.done" if "done" in self.variables else ""])
        used = "\n".join(guards + changes)
        parameters = ["n: Node"] * (not chosen) + ["k: Range(0, 1)"] * ("k" in _names(used))
        body = [f"n = choose({chosen})"] if chosen and "n" in _names(used) else []
        body += [f"require({guard})" for guard in guards] + changes
        fair = self.pick(["", "", '(fair="weak")', '(fair="strong")', '(fair="weak", for_each=())'])
        fair = fair or self.pick(["", '(fair="strong", for_each=())'])
        head = ", ".join(["self", *parameters])
        return ["", f"    @action{fair}", f"    def {name}({head}):", *("        " + line for line in body)]


def _names(text: str) -> set[str]:
    return set("".join(letter if letter.isalnum() or letter == "_" else " " for letter in text).split())
