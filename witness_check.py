"""Verify the witness of an exploration: `python witness_check.py DIR SPEC.py [--scenario NAME] [--sample K]`.

This program shares no code with the engines, the front end or the packing of states. Of this project it imports the
public names of `checker.language` alone, which every spec imports itself: the base class `Spec` has the interpreter,
which enumerates the instances of an action and runs the methods of the spec as Python. The properties, the fairness and
the scenario come from the file of the spec, and the states from the description in DIR.

It verifies that the initial states are in the set, that every successor of a state is in it, that every state is
reachable, that each declared property of states and steps is true, or is among the violated ones that the witness
names, and that the ranks or the lasso of each liveness property decide it. Of large sets it checks random states. Exit
status: 0 verified, 1 refuted, 2 wrong input.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
from pathlib import Path

from checker.language import BoundsError, Bug, Refinement, Spec
from witness_files import RefutedError, StoredStates, WrongInputError, content_of, decoded, load_module, require
from witness_memo import Methods

COMPLETE_UP_TO = 20_000
SAMPLE = 3_000
SAFETY = {"invariant", "step invariant", "reachable", "refinement"}
LIVENESS = {"eventually", "always eventually", "eventually always", "leads to"}
NEXT = "fair_next"
RANK_BYTES = 4


# The spec.


def load_spec(path, manifest, scenario):
    """Return the spec of a file with its constants and fairness, and the properties of a scenario or of the class."""
    try:
        module = load_module(path)
        if scenario is None:
            spec = getattr(module, manifest["class"])(**manifest["constants"])
            return spec, list(declared_roles(type(spec), SAFETY | LIVENESS))
        listed = [
            found for item in module.scenarios for found in (item.scenarios() if isinstance(item, Bug) else [item])
        ]
        found = next(item for item in listed if (item.name, item.spec.__name__) == (scenario, manifest["class"]))
    except StopIteration:
        raise WrongInputError(f"{path} has no scenario {scenario} of {manifest['class']}") from None
    # Any error: the file is the user's, and is run.
    except Exception as error:
        raise WrongInputError(f"{path} has no spec {manifest['class']}: {type(error).__name__}: {error}") from None
    spec = found.configured_spec()
    require(spec.constants == manifest["constants"], f"the constants are those of {manifest['constants']}")
    names = declared_roles(type(spec), SAFETY | LIVENESS) if found.properties is None else found.properties
    return spec, [*names, *["deadlock"] * (found.deadlock and "deadlock" not in names)]


def declared_roles(kind, chosen=None):
    """Return the roles of the class's methods, read from the marks of the decorators, the oldest base first."""
    roles = {}
    for base in reversed(kind.__mro__):
        for name, value in vars(base).items() if issubclass(base, Spec) and base is not Spec else ():
            role = getattr(value, "_role", None) if callable(value) else None
            if isinstance(value, Refinement):
                roles[name] = "refinement"
            elif role is not None:
                roles[name] = role.value
            elif value is None:
                roles.pop(name, None)
    return {name: role for name, role in roles.items() if chosen is None or role in chosen}


# Liveness.


class FairClasses:
    """The sets of steps that are fair as one: (the name of the action or union, the values of fixed parameters)."""

    def __init__(self, spec):
        self.strengths = {name: promise.strength for name, promise in spec.fairness.items()}
        self.fixed, self.kinds = {}, {NEXT: []}
        for name, promise in spec.fairness.items():
            actions = spec.fair_unions.get(name, spec.actions if name == NEXT else (name,))
            names = {action: signature(type(spec), action) for action in actions}
            each = () if name == NEXT else promise.for_each
            first = [parameter for parameter in names[actions[0]] if each is None or parameter in each]
            fixed = [parameter for parameter in first if all(parameter in other for other in names.values())]
            types = {parameter.name: parameter.type for parameter in spec.parameters_of(actions[0])}
            self.kinds[name] = [types[parameter] for parameter in fixed]
            for action, known in names.items():
                self.fixed.setdefault(action, []).append((name, [known.index(parameter) for parameter in fixed]))

    def of_call(self, action, arguments):
        """Return the classes that a step takes."""
        fixed = self.fixed.get(action, ())
        return {(name, tuple(arguments[position] for position in positions)) for name, positions in fixed}

    def named(self, entry):
        """Return the class that an entry of the witness names."""
        name, values = entry
        require(name in self.strengths, f"{name} is not fair, but the witness relies on it")
        return name, tuple(decoded(kind, value, {}) for kind, value in zip(self.kinds[name], values, strict=True))


def signature(kind, method):
    """Return the names of the parameters of a method."""
    code = getattr(kind, method).__code__
    return code.co_varnames[1 : code.co_argcount]


class Obligation:
    """A liveness property for one choice of its parameters: when it is open, and the ranks that show that it ends.

    Each state with the obligation open has a node of a forest. No step leads to a node with a higher number below the
    same parent. A behaviour therefore stays below one node for ever, or at it. The node names a fair class that its own
    states enable and no step inside takes; below a node with children the class is strongly fair, so that its own
    states are visited finitely often. Without a class (only for "eventually always") the goal is true in each state.
    """

    def __init__(self, spec, fair, methods, name, arguments):
        self.fair, self.name, self.arguments = fair, name, arguments
        self.role, self.goal = declared_roles(type(spec))[name], methods.holds(name, arguments)
        bases = [vars(base)[name] for base in type(spec).__mro__ if name in vars(base)]
        premise = next((base._premise for base in bases if getattr(base, "_premise", "")), "")
        given = dict(zip(signature(type(spec), name), arguments, strict=True))
        if premise:
            self.premise = methods.holds(premise, tuple(map(given.get, signature(type(spec), premise))))

    def load(self, folder, entry):
        """Read the ranks of the states from the witness."""
        self.ranks, self.paths, self.classes = content_of(folder, entry, RANK_BYTES), [], []
        known = [self.fair.named(found) for found in entry["classes"]]
        for number, (parent, found) in enumerate(entry["nodes"]):
            require(parent is None or 0 <= parent < number, f"{self.name}: a node is below a later one")
            self.paths.append([number] if parent is None else [*self.paths[parent], number])
            self.classes.append(None if found is None else known[found])

    def path(self, at):
        """Return the nodes of a state, the highest first: none if the obligation is not open in it."""
        number = int.from_bytes(self.ranks[at * RANK_BYTES : (at + 1) * RANK_BYTES], "big")
        require(number <= len(self.paths), f"{self.name}: a state has a node that does not exist")
        return self.paths[number - 1] if number else []

    def begins(self, at, state, initial):
        """Return whether the obligation may begin in a state."""
        if self.role == "leads to" and not self.premise(state):
            return False
        return (self.role != "eventually" or at in initial) and self.stays_open(state)

    def stays_open(self, state):
        """Return whether the obligation stays open in a state."""
        return self.role == "eventually always" or not self.goal(state)

    def check(self, at, state, steps, initial):
        """Check the ranks at a packed state, of which `steps` are the classes and the position of each successor."""
        path = self.path(at)
        require(path or not self.begins(at, state, initial), f"{self.name}: a state without a rank")
        if not path:
            return
        moves = {after: step for after, step in steps.items() if after != state}
        enabled = set().union(*(classes for classes, _ in moves.values()))
        for number in path:
            if self.classes[number] is None:
                is_reason = self.role == "eventually always" and self.goal(state)
            elif number == path[-1]:
                is_reason = self.classes[number] in enabled
            else:
                is_reason = self.fair.strengths[self.classes[number][0]] == "strong"
            require(is_reason, f"{self.name}: the reason of a node is none")
        for after, (classes, position) in moves.items():
            below = self.path(position)
            require(below or not self.stays_open(after), f"{self.name}: no rank after a step")
            for before, number in zip(path, below, strict=False):
                require(number <= before, f"{self.name}: a step climbs")
                if number < before:
                    break
                is_fair = self.classes[number] in classes
                require(not is_fair, f"{self.name}: a step inside its node is fair")

    def check_lasso(self, checker, lasso):
        """Check that a lasso is a fair behaviour that violates the property."""
        path, start = lasso["path"], lasso["loop_start"]
        states, loop = list(map(checker.stored.packed, path)), path[start:]
        require(path[0] in checker.initial and loop and start >= 0, f"{self.name}: the lasso begins nowhere")
        steps = {}
        for at, state in zip(path, states, strict=True):
            steps[at] = [step for after, step in checker.images[0].steps(state).items() if after != state]
        follows = [*itertools.pairwise(path), *([(loop[-1], loop[0])] if len(loop) > 1 else [])]
        for before, after in follows:
            require(any(at == after for _, at in steps[before]), f"{self.name}: the lasso has a step that is none")
        inside = follows[start:]
        taken = set().union(*(c for at, to in inside for c, after in steps[at] if after == to))
        enabled = [set().union(*(classes for classes, _ in steps[at])) for at in loop]
        for found in set().union(*enabled) - taken:
            is_weak = self.fair.strengths[found[0]] == "weak"
            is_disabled = is_weak and not all(found in each for each in enabled)
            require(is_disabled, f"{self.name}: the loop is unfair to {found}")
        is_open = [not self.goal(state) for state in states]
        first = 0 if self.role == "eventually" else start
        if self.role == "leads to":
            begun = [at for at, state in enumerate(states) if self.begins(path[at], state, checker.initial)]
            first = next((at for at in begun if all(is_open[min(at, start) :])), len(path))
        ends = is_open[start:] if self.role == "eventually always" else is_open[first:]
        is_violated = any(ends) if self.role == "eventually always" else bool(ends) and all(ends)
        require(is_violated, f"{self.name}: the lasso does not violate it")


# The check.


class Checker:
    """Checks states one by one, and keeps what was false, reached and without successors."""

    def __init__(self, stored, spec, asked):
        self.stored, self.spec, self.asked = stored, spec, asked
        self.roles, self.fair = declared_roles(type(spec)), FairClasses(spec)
        self.obligations, self.false, self.reached, self.successors = [], set(), set(), {}
        self.images = [Methods(spec, stored, table, self.fair.of_call) for table in range(len(stored.tables))]
        self.of_states = self.asked_of("invariant", "reachable")
        self.of_steps = self.asked_of("step invariant", "refinement")
        self.constraints = [name for name, role in self.roles.items() if role == "constraint"]
        self.initial = set()
        for state in spec.initial_states():
            self.initial.add(stored.find(state))
            require(None not in self.initial, "an initial state is not in the set:", state)
            self.false.update(name for name in self.asked_of("refinement") if not spec.holds(name, state))

    def asked_of(self, *roles):
        """Return the names of the asked properties with one of these roles."""
        return [name for name in self.asked if self.roles.get(name) in roles]

    def load_liveness(self, folder, manifest):
        """Read how the witness decides the liveness properties, check the lassos, and return the violated ones."""
        violated = []
        require(not (manifest["symmetry"] and self.asked_of(*LIVENESS)), "symmetry leaves liveness undecided")
        for name in self.asked:
            if self.roles.get(name) not in LIVENESS:
                continue
            require(name in manifest["liveness"], f"the witness does not show why {name} is decided")
            claim, kinds = manifest["liveness"][name], [kind.type for kind in self.spec.parameters_of(name)]
            entries = claim["ranks"] if "ranks" in claim else [claim["lasso"]]
            with self.spec.bound():
                given = [tuple(map(decoded, kinds, entry["arguments"], [{}] * len(kinds))) for entry in entries]
                choices = set(itertools.product(*(kind.values() for kind in kinds)))
            methods = self.images[0]
            obligations = [Obligation(self.spec, self.fair, methods, name, arguments) for arguments in given]
            if "ranks" not in claim:
                violated.append(name)
                obligations[0].check_lasso(self, entries[0])
                continue
            require(choices == set(given), f"{name}: the ranks are not those of every choice of parameters")
            for obligation, entry in zip(obligations, entries, strict=True):
                obligation.load(folder, entry)
            self.obligations += obligations
        return violated

    def check(self, at):
        """Check a stored state, and with symmetry every image of it: symmetry itself is not taken for granted."""
        self.successors[at], state = set(), self.stored.packed(at)
        for image in self.images:
            try:
                self._check_image(at, state, image)
            except RefutedError as error:
                raise RefutedError(f"{error}; in {self.stored.state(state, image.index)}") from None

    def _check_image(self, at, state, image):
        for name in self.of_states:
            (self.reached if image.holds(name)(state) else self.false).add(name)
        if not all(image.holds(name)(state) for name in self.constraints):
            require(not self.obligations, "no ranks decide liveness with a state outside a constraint")
            return
        steps = image.steps(state)
        self.successors[at].update(position for _, position in steps.values())
        self.false.update([] if steps else ["deadlock"])
        for name in self.of_steps:
            self.false.update(name for after in steps if not image.holds_after(name, state, after))
        for obligation in self.obligations:
            obligation.check(at, state, steps, self.initial)

    def check_reachability(self):
        """Check that every stored state is reachable: otherwise a violation in it would be none."""
        seen, waiting = set(self.initial), list(self.initial)
        while waiting:
            new = self.successors[waiting.pop()] - seen
            seen |= new
            waiting += new
        require(len(seen) == self.stored.count, f"{self.stored.count - len(seen)} states are not reachable")

    def violated(self):
        """Return the properties that the checked states violate; a `@reachable` is violated if no state has it."""
        never = {name for name in self.asked if self.roles.get(name) == "reachable"} - self.reached
        return never | {name for name in self.false & set(self.asked) if self.roles.get(name) != "reachable"}


def verify(folder, path, scenario, chosen, sample, complete_up_to, seed):
    """Return the lines about what was verified; raise RefutedError or WrongInputError."""
    try:
        if not (folder / "witness.json").is_file():
            raise WrongInputError(f"{folder} holds no witness: it has no file witness.json")
        manifest = json.loads((folder / "witness.json").read_text(encoding="utf-8"))
        form = manifest["format"]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise WrongInputError(f"{folder} holds no witness: {error}") from None
    if form != 2:
        raise WrongInputError(f"{folder} has a witness of another format")
    spec, declared = load_spec(path, manifest, scenario)
    require("deadlock" not in declared_roles(type(spec)), "a declaration has the name of the built-in deadlock")
    if wrong := sorted(set(chosen or ()) - set(declared)):
        raise WrongInputError(f"--properties names {wrong[0]!r}; the declared ones are: {', '.join(declared)}")
    asked = declared if chosen is None else [name for name in declared if name in chosen]
    left_out = sorted(set(asked) - set(manifest["account"]["checked"]))
    require(not left_out, f"declared, but not checked by the run: {', '.join(left_out)}")
    if set(manifest["account"]["checked"]) & {"deadlock"} - set(asked):
        asked = [*asked, "deadlock"]
    fairness = {
        name: [found.strength, None if found.for_each is None else list(found.for_each)]
        for name, found in spec.fairness.items()
    }
    require(fairness == manifest["fairness"], f"the fairness is {manifest['fairness']}, and the spec has {fairness}")

    checker = Checker(StoredStates(folder, manifest, spec), spec, asked)
    endless, count = checker.load_liveness(folder, manifest), checker.stored.count
    is_complete = count <= complete_up_to
    drawn = range(count) if is_complete else random.Random(seed).sample(range(count), min(sample, count))
    # An obligation may begin in initial states alone.
    for at in drawn if is_complete else [*sorted(checker.initial - set(drawn)), *drawn]:
        checker.check(at)
    claimed, found = set(manifest["violated"]) & set(asked), checker.violated() | set(endless)
    if is_complete:
        checker.check_reachability()
        require(found == claimed, f"violated are {sorted(found)}, the witness says {sorted(claimed)}")
    else:
        # A sample need not meet a state that violates or reaches.
        found -= {name for name in asked if checker.roles.get(name) == "reachable"}
        require(found <= claimed, f"violated, but not in the witness: {sorted(found - claimed)}")
    return report(checker, claimed, found, len(drawn), is_complete)


def report(checker, claimed, found, drawn, is_complete):
    """Return the lines about what was verified, and what was not."""
    asked, stored = checker.asked, checker.stored
    spec = f"{type(checker.spec).__name__}({', '.join(f'{k}={v}' for k, v in checker.spec.constants.items())})"
    lines = [f"{spec}: {stored.count:,} states, sorted, of {len(stored.kinds)} variables"]
    if is_complete:
        lines.append("complete: the set has the initial states, is closed under every action, and is all reachable")
        holding = [name for name in asked if name not in claimed and checker.roles.get(name) not in LIVENESS]
        lines.append(f"true everywhere or reached: {', '.join(holding) or 'nothing'}")
    else:
        lines.append(f"sample of {drawn:,} states: closed under every action, no further violation")
        lines.append(f"with a probability of 95 %, fewer than {min(100, 300 / drawn):.2g} % of the states break a rule")
    ended = dict.fromkeys(found.name for found in checker.obligations)
    where = "" if is_complete else "if no state breaks a rule, "
    lines += [f"{where}true of every fair behaviour, by ranks: {', '.join(ended)}"] if ended else []
    lines.append(f"violated, as the witness says: {', '.join(sorted(found)) or 'nothing'}")
    unknown = set() if is_complete else claimed - found | set(checker.asked_of("reachable")) - checker.reached
    lines += [f"neither shown nor refuted by the sample: {', '.join(sorted(unknown))}"] if unknown else []
    others = [name for name in declared_roles(type(checker.spec), SAFETY | LIVENESS) if name not in asked]
    return [*lines, f"not asked for: {', '.join(others)}"] if others else lines


def positive(text):
    """Return the positive number of a text; raise ValueError if it is none."""
    if int(text) < 1:
        raise ValueError
    return int(text)


def main(arguments=None):
    """Run the command, and return its exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("spec", type=Path, metavar="SPEC.py")
    parser.add_argument("--scenario", metavar="NAME", help="a scenario of the file: its properties and fairness")
    parser.add_argument("--properties", metavar="A,B", help="the properties that the run selected (all)")
    parser.add_argument("--sample", type=positive, default=SAMPLE, metavar="K", help="states of a sample")
    parser.add_argument("--complete-up-to", type=int, default=COMPLETE_UP_TO, metavar="N", help="larger: a sample")
    parser.add_argument("--seed", type=int, default=None)
    given = parser.parse_args(arguments)
    chosen = None if given.properties is None else given.properties.split(",")
    try:
        lines = verify(given.folder, given.spec, given.scenario, chosen, given.sample, given.complete_up_to, given.seed)
    except (RefutedError, BoundsError) as error:
        print(f"refuted: {error}")
        return 1
    except WrongInputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    # Any error: the files may hold anything, and the methods of the spec are run.
    except Exception as error:
        print(f"error: {given.folder} cannot be checked: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    print("\n".join([*lines, "verified"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
