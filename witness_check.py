"""Verify the witness of an exploration: `python witness_check.py DIR SPEC.py [--properties A,B] [--sample K]`.

This program shares no code with the engines, the front end or the packing of states. It runs the methods of the spec as
Python, takes the properties from the class, and reads the states by the description in DIR. It verifies that the
initial states are in the set, that every successor of a state is in it, that every state is reachable, and that each
declared property of states and steps is true, or is among the violated ones that the witness names. Of large sets it
checks random states. Exit status: 0 verified, 1 refuted, 2 wrong input.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import importlib.util
import json
import random
import sys
from pathlib import Path

from checker.errors import UserError
from checker.language.permutations import all_permutations, domains_in, permuted_state
from checker.language.spec import Spec
from traces.json_values import from_plain_json, to_plain_json

COMPLETE_UP_TO = 20_000
SAMPLE = 3_000
SAFETY = {"invariant", "step invariant", "reachable", "refinement"}
LIVENESS = {"eventually", "always eventually", "eventually always", "leads to"}


class RefutedError(Exception):
    """The witness does not show what it claims."""


class WrongInputError(Exception):
    """The arguments or the files are not a spec and a witness."""


def require(condition, message):
    """Raise RefutedError without a condition."""
    if not condition:
        raise RefutedError(message)


# The files.


class StoredStates:
    """The packed states of a witness, sorted, and the tables of the values of its variables."""

    def __init__(self, folder, manifest, spec):
        self.width, self.spec = manifest["state_bytes"], spec
        self.names = [entry["name"] for entry in manifest["variables"]]
        require(self.names == list(spec.variables), "the variables are not those of the spec")
        self.bits = [entry["bits"] for entry in manifest["variables"]]
        self.values = [entry["values"] for entry in manifest["variables"]]
        self.numbers = [{text(value): at for at, value in enumerate(values)} for values in self.values]
        parts = []
        for chunk in manifest["chunks"]:
            content = (folder / Path(chunk["file"]).name).read_bytes()
            require(hashlib.sha256(content).hexdigest() == chunk["sha256"], f"{chunk['file']} has another digest")
            require(len(content) == chunk["states"] * self.width, f"{chunk['file']} has another length")
            parts.append(content)
        self.content = b"".join(parts)
        self.count = len(self.content) // self.width
        require(self.count == manifest["states"], f"{self.count} states are stored, not {manifest['states']}")
        require(all(self.row(at) < self.row(at + 1) for at in range(self.count - 1)), "the states are not sorted")

    def row(self, at):
        """Return a packed state."""
        return self.content[at * self.width : (at + 1) * self.width]

    def state(self, at):
        """Return a state as the spec has it."""
        number, found = int.from_bytes(self.row(at), "big"), {}
        for name, bits, values in zip(self.names[::-1], self.bits[::-1], self.values[::-1], strict=True):
            at_value = number & ((1 << bits) - 1)
            require(at_value < len(values), f"{name} has no value {at_value}")
            with self.spec.bound():
                found[name] = from_plain_json(self.spec.variables[name], values[at_value])
            number >>= bits
        return self.spec.state_of(found)

    def find(self, state):
        """Return the position of a state, or None."""
        number = 0
        for name, bits, numbers in zip(self.names, self.bits, self.numbers, strict=True):
            at_value = numbers.get(text(to_plain_json(self.spec.variables[name], state.values[name])))
            if at_value is None:
                return None
            number = number << bits | at_value
        row, low, high = number.to_bytes(self.width, "big"), 0, self.count
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self.row(middle) < row else (low, middle)
        return low if low < self.count and self.row(low) == row else None


def text(value):
    """Return a value as text that is equal for equal values."""
    return json.dumps(value, sort_keys=True)


def load_spec(path, name, constants):
    """Return the spec of a file with its constants."""
    try:
        kind = getattr(load_module(path), name)
        return kind(**constants)
    except (OSError, ImportError, AttributeError, UserError) as error:
        raise WrongInputError(f"{path} has no spec {name}: {error}") from None


def load_module(path):
    """Import a file, by its full name if it is in a package, so that its imports find the same classes."""
    root, parts = path.resolve().parent, [path.stem]
    while (root / "__init__.py").exists():
        root, parts = root.parent, [root.name, *parts]
    sys.path.insert(0, str(root))
    if len(parts) > 1:
        return importlib.import_module(".".join(parts))
    name = f"witnessed_{path.stem}"
    found = importlib.util.spec_from_file_location(name, path)
    if found is None or found.loader is None:
        raise ImportError("it is not a Python file")
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    found.loader.exec_module(module)
    return module


def declared_roles(kind):
    """Return the roles of the class's methods, read from the marks of the decorators, the oldest base first."""
    roles = {}
    for base in reversed(kind.__mro__):
        for name, value in vars(base).items() if issubclass(base, Spec) and base is not Spec else ():
            role = getattr(value, "_role", None) if callable(value) else None
            if type(value).__name__ == "Refinement":
                roles[name] = "refinement"
            elif role is not None:
                roles[name] = role.value
            elif value is None:
                roles.pop(name, None)
    return roles


# The check.


class Checker:
    """Checks states one by one, and keeps what was false, reached and without successors."""

    def __init__(self, stored, spec, properties, symmetry):
        self.stored, self.spec = stored, spec
        roles = declared_roles(type(spec))
        self.of_states = [name for name in properties if roles[name] in ("invariant", "reachable")]
        self.of_steps = [name for name in properties if roles[name] in ("step invariant", "refinement")]
        self.constraints = [name for name, role in roles.items() if role == "constraint"]
        self.roles, self.false, self.reached = roles, set(), set()
        domains = [self._domain(name) for name in symmetry]
        # The first permutation changes nothing.
        self.permutations = list(all_permutations(domains))
        self.successors = {}

    def _domain(self, name):
        kinds = [kind for variable in self.spec.variables.values() for kind in domains_in(variable)]
        return next(kind for kind in kinds if str(kind) == name)

    def find(self, state):
        """Return the position of a state or of one that differs in names of members, or None."""
        images = (permuted_state(self.spec.variables, state, by) if by else state for by in self.permutations)
        return next((at for at in map(self.stored.find, images) if at is not None), None)

    def check_initial(self):
        """Check that the initial states are stored; return their positions."""
        found = []
        for state in self.spec.initial_states():
            at = self.find(state)
            require(at is not None, f"an initial state is not in the set: {state}")
            found.append(at)
        return found

    def check(self, at):
        """Check a stored state, and with symmetry every image of it: symmetry itself is not taken for granted."""
        state = self.stored.state(at)
        self.successors[at] = set()
        for by in self.permutations:
            self._check_image(at, permuted_state(self.spec.variables, state, by) if by else state)

    def _check_image(self, at, state):
        for name in self.of_states:
            if self.spec.holds(name, state):
                self.reached.add(name)
            else:
                self.false.add(name)
        if not all(self.spec.holds(name, state) for name in self.constraints):
            return
        steps, failures = self.spec.expand(state)
        require(not failures, f"{failures[:1]} leaves its bounds in {state}")
        if not steps:
            self.false.add("deadlock")
        for step in steps:
            after = self.find(step.state)
            require(after is not None, f"{step} leads from {state} to a state that is not in the set: {step.state}")
            self.successors[at].add(after)
            for name in self.of_steps:
                if not self.spec.holds(name, step.state, state):
                    self.false.add(name)

    def check_reachability(self, initial):
        """Check that every stored state is reachable: otherwise a violation in it would be none."""
        seen, waiting = set(initial), list(initial)
        while waiting:
            for after in self.successors[waiting.pop()]:
                if after not in seen:
                    seen.add(after)
                    waiting.append(after)
        missing = self.stored.count - len(seen)
        require(not missing, f"{missing} states are not reachable")

    def violated(self):
        """Return the properties that the checked states violate; a `@reachable` is violated if no state has it."""
        never = {name for name, role in self.roles.items() if role == "reachable"}
        names = {*self.of_states, *self.of_steps, "deadlock"}
        return {name for name in names if (name not in self.reached if name in never else name in self.false)}


def verify(folder, path, chosen, sample, complete_up_to, seed):
    """Verify a witness and print what was verified; raise RefutedError or WrongInputError."""
    try:
        manifest = json.loads((folder / "witness.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise WrongInputError(f"{folder} holds no witness: {error}") from None
    if manifest.get("format") != 1:
        raise WrongInputError(f"{folder} has a witness of another format")
    spec = load_spec(path, manifest["class"], manifest["constants"])
    roles = declared_roles(type(spec))
    safety = [name for name, role in roles.items() if role in SAFETY]
    asked = safety if chosen is None else [name for name in safety if name in chosen]
    account = manifest["account"]
    left_out = sorted(set(asked) - set(account["checked"]))
    require(not left_out, f"declared, but not checked by the run: {', '.join(left_out)}")
    require("deadlock" not in roles, "a declaration has the name of the built-in property deadlock: which was checked?")

    stored = StoredStates(folder, manifest, spec)
    checker = Checker(stored, spec, asked, manifest["symmetry"])
    initial = checker.check_initial()
    is_complete = stored.count <= complete_up_to
    drawn = range(stored.count) if is_complete else random.Random(seed).sample(range(stored.count), sample)
    for at in drawn:
        checker.check(at)
    claimed = set(manifest["violated"]) & {*asked, "deadlock"}
    found = checker.violated() - (set() if "deadlock" in account["checked"] else {"deadlock"})
    if is_complete:
        checker.check_reachability(initial)
        require(found == claimed, f"violated are {sorted(found)}, the witness says {sorted(claimed)}")
    else:
        # A sample need not meet a state that violates or reaches.
        found -= {name for name in asked if roles[name] == "reachable"}
        require(found <= claimed, f"violated, but not in the witness: {sorted(found - claimed)}")
    return report(spec, stored, asked, claimed, roles, len(drawn), is_complete)


def report(spec, stored, asked, claimed, roles, drawn, is_complete):
    """Return the lines about what was verified, and what was not."""
    lines = [f"{type(spec).__name__}: {stored.count:,} states, sorted, of {len(stored.names)} variables"]
    if is_complete:
        lines.append("complete: the set has the initial states, is closed under every action, and is all reachable")
        holding = [name for name in asked if name not in claimed]
        lines.append(f"true everywhere or reached: {', '.join(holding) or 'nothing'}")
    else:
        bound = 100 * 3 / drawn
        lines.append(f"sample of {drawn:,} states: closed under every action, no further violation")
        lines.append(f"with a probability of 95 %, fewer than {bound:.2g} % of the states break a rule")
    lines.append(f"violated, as the witness says: {', '.join(sorted(claimed)) or 'nothing'}")
    liveness = [name for name, role in roles.items() if role in LIVENESS]
    others = [name for name, role in roles.items() if role in SAFETY and name not in asked]
    lines += [f"liveness not covered: {', '.join(liveness)}"] if liveness else []
    lines += [f"not asked for: {', '.join(others)}"] if others else []
    return lines


def main(arguments=None):
    """Run the command, and return its exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("spec", type=Path, metavar="SPEC.py")
    parser.add_argument("--properties", metavar="A,B", help="the properties that the run selected (all)")
    parser.add_argument("--sample", type=int, default=SAMPLE, metavar="K", help="states of a sample")
    parser.add_argument("--complete-up-to", type=int, default=COMPLETE_UP_TO, metavar="N", help="larger: a sample")
    parser.add_argument("--seed", type=int, default=None)
    given = parser.parse_args(arguments)
    chosen = None if given.properties is None else given.properties.split(",")
    try:
        lines = verify(given.folder, given.spec, chosen, given.sample, given.complete_up_to, given.seed)
    except RefutedError as error:
        print(f"refuted: {error}")
        return 1
    except WrongInputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print("\n".join([*lines, "verified"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
