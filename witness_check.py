"""Verify the witness of an exploration: `python witness_check.py DIR SPEC.py [--scenario NAME] [--sample K] [--memo]`.

This file shares no code with the engines, the front end or the packing of states. Of this project it uses public names
of `checker.language` alone, whose interpreter enumerates the instances of an action and runs the methods of the spec as
Python. The properties, the fairness and the scenario come from the file of the spec.

Nothing in DIR is trusted: the rules are checked on the states that it describes, whatever they are. The initial states
are in the set, each successor of a state is in it, each state is reachable, each property of states and steps is true
or is among the violated ones that DIR names, and ranks or a lasso decide each liveness property. A small set is checked
on a walk from the initial states, of a large one random states. Exit status: 0 verified, 1 refuted, 2 wrong input.
"""

import argparse
import bisect
import hashlib
import importlib
import itertools
import json
import random
import struct
import sys
import types
from pathlib import Path

from checker.language import BoundsError, Bug, Scenario, State
from checker.language.json_values import from_plain_json
from checker.language.liveness import liveness_property

LIVENESS = {"eventually", "always eventually", "eventually always", "leads to"}


class RefutedError(Exception):
    """The witness does not show what it claims."""


class WrongInputError(Exception):
    """The arguments or the files are not a spec and a witness."""


def require(condition, *message):
    """Raise RefutedError without a condition; the parts of the message become text only then."""
    if not condition:
        raise RefutedError(" ".join(map(str, message)))


def pairs(values):
    """Return names and their values as text."""
    return ", ".join(f"{name}={value}" for name, value in values.items())


def load_module(path):
    """Import a file, by its full name if it is in a package, so that its imports find the same classes."""
    root, name = path.resolve().parent, path.stem
    while (root / "__init__.py").exists():
        root, name = root.parent, f"{root.name}.{name}"
    sys.path.insert(0, str(root))
    if "." in name:
        return importlib.import_module(name)
    module = sys.modules[f"witnessed_{name}"] = types.ModuleType(f"witnessed_{name}")
    module.__file__ = str(path)
    exec(compile(path.read_bytes(), path, "exec"), vars(module))
    return module


def load_spec(path, kind, constants, scenario):
    """Return the spec of a file with its constants and fairness, and the properties of a scenario or of the class."""
    try:
        module = load_module(path)
    # Any error: the file is the user's, and is run.
    except Exception as error:
        raise WrongInputError(f"{path} cannot be imported: {getattr(error, 'strerror', None) or error}") from None
    listed = [item.scenarios() if isinstance(item, Bug) else [item] for item in getattr(module, "scenarios", ())]
    named = {(each.name, each.spec.__name__): each for each in itertools.chain(*listed)}
    if (scenario, kind) not in named if scenario else not hasattr(module, kind):
        raise WrongInputError(f"{path} has no {f'scenario {scenario} of' if scenario else 'spec'} {kind}")
    chosen = named[scenario, kind] if scenario else Scenario(getattr(module, kind), "all", constants)
    spec = chosen.configured_spec()
    require(spec.constants == constants, "the spec has other constants than the witness:", pairs(constants))
    names = spec.properties if chosen.properties is None else list(chosen.properties)
    return spec, names + ["deadlock"] * (chosen.deadlock and "deadlock" not in names)


class StoredStates:
    """The sorted rows of the states, and the tables of the values of the variables.

    A row has a number for each variable, of which a table has the value. With symmetry each renaming of the members has
    a table. A place, the positions of a row and of a table, describes a state.
    """

    def __init__(self, folder, manifest, spec):
        require(list(manifest["variables"]) == list(spec.variables), "the spec has other variables")
        codes = "".join(manifest["variables"].values())
        require(set(codes) <= set("BHI") and len(codes) == len(spec.variables), "a number has 1, 2 or 4 bytes")
        self.form = struct.Struct(f">{codes}")
        content = b"".join(content_of(folder, chunk, self.form.size) for chunk in manifest["chunks"])
        self.rows = [content[at : at + self.form.size] for at in range(0, len(content), self.form.size)]
        require(len(self.rows) == manifest["states"], f"{len(self.rows)} states are stored, not {manifest['states']}")
        require(self.rows == sorted(set(self.rows)), "the states are not sorted")
        self.names, self.tables, kinds = list(spec.variables), [], spec.variables.items()
        for table in manifest["tables"]:
            with spec.bound():
                values = [[from_plain_json(kind, each) for each in table[name]] for name, kind in kinds]
            numbers = [{value: number for number, value in enumerate(column)} for column in values]
            require(list(map(len, values)) == list(map(len, numbers)), "a value is in a table twice")
            self.tables.append((values, numbers))

    def state(self, place):
        """Return the state of a place."""
        numbers, (values, _) = self.form.unpack(self.rows[place[0]]), self.tables[place[1]]
        require(all(map(int.__lt__, numbers, map(len, values))), "a state has a value that no table has")
        return State(dict(zip(self.names, map(list.__getitem__, values, numbers), strict=True)))

    def find(self, state):
        """Return the place of a state, or None."""
        for table, (_, numbers) in enumerate(self.tables):
            given = list(map(dict.get, numbers, state.values.values()))
            if None not in given:
                at = bisect.bisect_left(self.rows, row := self.form.pack(*given))
                if self.rows[at : at + 1] == [row]:
                    return at, table
        return None


def content_of(folder, entry, width):
    """Return the content of a file with its digest, of which each state has some bytes."""
    path = folder / Path(entry["file"]).name
    # Before the read: a device or a pipe may have no end.
    if not path.is_file():
        raise WrongInputError(f"{folder} has no file {path.name}, which the witness names")
    require(path.stat().st_size == entry["states"] * width, f"{path.name} has another length")
    content = path.read_bytes()
    require(hashlib.sha256(content).hexdigest() == entry["sha256"], f"{path.name} has another digest")
    return content


class FairSets:
    """The sets of steps that are fair as one: (the name of the action or union, the values of fixed parameters)."""

    def __init__(self, spec):
        self.fixed, self.kinds, self.strong = {}, {}, set()
        for name, promise in spec.fairness.items():
            actions = spec.fair_unions.get(name, spec.actions if name == "fair_next" else (name,))
            types = [{p.name: p.type for p in spec.parameters_of(each) if not p.is_choice} for each in actions]
            wanted = types[0] if promise.for_each is None else promise.for_each
            fixed = [p for p in types[0] if name != "fair_next" and p in wanted and all(p in other for other in types)]
            self.strong.update([name] if promise.strength == "strong" else [])
            self.kinds[name] = [types[0][p] for p in fixed]
            for action, known in zip(actions, types, strict=True):
                self.fixed.setdefault(action, []).append((name, [list(known).index(p) for p in fixed]))

    def of_step(self, step):
        """Return the sets in which a step is."""
        return {(name, tuple(step.arguments[at] for at in fixed)) for name, fixed in self.fixed.get(step.action, ())}

    def named(self, entry):
        """Return the set that an entry of the witness names."""
        name, values = entry
        require(name in self.kinds, f"{name} is not fair, but the witness relies on it")
        return name, tuple(from_plain_json(*each) for each in zip(self.kinds[name], values, strict=True))


class Obligation:
    """A liveness property for one choice of its parameters: when it is open, and the ranks that show that it ends.

    Each state with the obligation open has a node of a forest. No step leads to a node with a higher number below the
    same parent. A behaviour therefore stays below one node for ever, or at it. The node names a fair set that its own
    states enable and no step inside takes; below a node with children the set is strongly fair, so that its own states
    are visited finitely often. Without a set the goal is true in each state, as "eventually always" needs.
    """

    def __init__(self, checker, declared, arguments):
        self.fair, self.name, self.role = checker.fair, declared.name, declared.role.value
        given, holds = declared.premise_arguments(arguments), checker.methods.holds
        self.goal = lambda state: holds(declared.name, state, arguments=arguments)
        self.premise = lambda state: holds(declared.premise, state, arguments=given)

    def load(self, folder, entry):
        """Read the ranks: `paths` are the nodes of each row, the highest first, and none where it is not open."""
        paths, self.sets = [()], []
        sets = {None: None, **dict(enumerate(map(self.fair.named, entry["sets"])))}
        for number, (parent, chosen) in enumerate(entry["nodes"]):
            require(0 <= parent <= number, f"{self.name}: a node is below a later one")
            paths.append((*paths[parent], number))
            self.sets.append(sets[chosen])
        ranks = [rank for (rank,) in struct.iter_unpack(">I", content_of(folder, entry, 4))]
        require(max(ranks) < len(paths), f"{self.name}: a state has a node that does not exist")
        self.paths = [paths[rank] for rank in ranks]

    def stays_open(self, state):
        """Return whether the obligation stays open in a state."""
        return self.role == "eventually always" or not self.goal(state)

    def begins(self, state, is_initial):
        """Return whether the obligation may begin in a state."""
        is_asked = is_initial if self.role == "eventually" else self.role != "leads to" or self.premise(state)
        return is_asked and self.stays_open(state)

    def check(self, place, state, steps, is_initial):
        """Check the ranks at a state, of which `steps` are the places, states and fair sets."""
        path = self.paths[place[0]]
        require(path or not self.begins(state, is_initial), f"{self.name}: a state without a rank")
        for number in path:
            chosen = self.sets[number]
            if chosen is None:
                is_reason = self.goal(state)
            elif number == path[-1]:
                is_reason = any(chosen in sets for _, sets in steps.values())
            else:
                is_reason = chosen[0] in self.fair.strong
            require(is_reason, f"{self.name}: the reason of a node is none")
        for target, (after, sets) in steps.items() if path else ():
            below = self.paths[target[0]]
            require(below or not self.stays_open(after), f"{self.name}: no rank after a step")
            for before, number in zip(path, below, strict=False):
                require(number <= before, f"{self.name}: a step climbs")
                if number < before:
                    break
                require(self.sets[number] not in sets, f"{self.name}: a step inside its node is fair")

    def check_lasso(self, checker, lasso):
        """Check that a lasso is a fair behaviour that violates the property."""
        path, start = [(at, 0) for at in lasso["path"]], lasso["loop_start"]
        require(path and path[0] in checker.initial and 0 <= start < len(path), f"{self.name}: no lasso")
        states = list(map(checker.stored.state, path))
        steps = list(map(checker.steps, path, states))
        # A loop of one state needs no step: the behaviour may stay in it.
        targets = path[1:] if start == len(path) - 1 else [*path[1:], path[start]]
        is_path = all(target in reached for target, reached in zip(targets, steps, strict=False))
        require(is_path, f"{self.name}: the lasso has a step that is none")
        taken = set().union(*(steps[at][targets[at]][1] for at in range(start, len(targets))))
        enabled = [set().union(*(sets for _, sets in reached.values())) for reached in steps[start:]]
        for each in set().union(*enabled) - taken:
            is_disabled = each[0] not in self.fair.strong and not all(each in sets for sets in enabled)
            require(is_disabled, f"{self.name}: the loop is unfair to {each[0]}")
        begun = [at for at, state in enumerate(states) if self.begins(state, path[at] in checker.initial)]
        is_open = any(all(map(self.stays_open, states[min(at, start) :])) for at in begun)
        stays_true = self.role == "eventually always" and all(map(self.goal, states[start:]))
        require(is_open and not stays_true, f"{self.name}: the lasso does not violate it")


class Checker:
    """Checks states one by one, and keeps what was false or not yet reached."""

    def __init__(self, stored, spec, methods, asked):
        self.stored, self.spec, self.methods, self.asked = stored, spec, methods, asked
        self.fair, self.obligations, self.false, self.initial = FairSets(spec), [], set(), set()
        self.unreached = set(self.asked_of("reachable"))
        for state in spec.initial_states():
            self.initial.add(stored.find(state))
            require(None not in self.initial, "an initial state is not in the set:", pairs(state.values))
            self.false.update(name for name in self.asked_of("refinement") if not spec.holds(name, state))

    def asked_of(self, *roles):
        """Return the names of the asked properties with one of these roles."""
        return [name for name in self.asked if name in self.spec.roles and self.spec.roles[name].value in roles]

    def load_liveness(self, folder, claims):
        """Read how the witness decides the liveness properties, and check the lassos."""
        for name in self.asked_of(*LIVENESS):
            require(len(self.stored.tables) == 1, "symmetry leaves liveness undecided")
            require(name in claims, f"the witness does not show why {name} is decided")
            declared, claim = liveness_property(self.spec, name), claims[name]
            obligations = [Obligation(self, declared, arguments) for arguments in declared.choices(self.spec)]
            if "lasso" in claim:
                obligations[claim["lasso"]["choice"]].check_lasso(self, claim["lasso"])
                self.false.add(name)
                continue
            require(len(claim["ranks"]) == len(obligations), f"{name}: no ranks of every choice of parameters")
            for obligation, entry in zip(obligations, claim["ranks"], strict=True):
                obligation.load(folder, entry)
            self.obligations += obligations

    def steps(self, place, state):
        """Return the places of the successors of a state, each with its state and the fair sets of the steps to it."""
        reached = {}
        for step in self.methods.successors(state):
            target = self.stored.find(step.state)
            require(target, step, "leads from a state to one that is not in the set:", pairs(step.state.values))
            _, sets = reached.setdefault(target, (step.state, set()))
            # A step that changes nothing is in no fair set.
            sets.update(self.fair.of_step(step) if target != place else ())
        return reached

    def check(self, place):
        """Check the state of a place and its steps, and return the places of its successors."""
        state, holds = self.stored.state(place), self.methods.holds
        try:
            self.false.update(name for name in self.asked_of("invariant") if not holds(name, state))
            self.unreached -= {name for name in self.unreached if holds(name, state)}
            if not all(holds(name, state) for name, role in self.spec.roles.items() if role.value == "constraint"):
                require(not self.obligations, "no ranks decide liveness with a state outside a constraint")
                return set()
            steps = self.steps(place, state)
            self.false.update(() if steps else ["deadlock"])
            for name in self.asked_of("step invariant", "refinement"):
                self.false.update(name for after, _ in steps.values() if not holds(name, after, state))
            for obligation in self.obligations:
                obligation.check(place, state, steps, place in self.initial)
        except (RefutedError, BoundsError) as error:
            raise RefutedError(f"{error}; in the state {pairs(state.values)}") from None
        return steps.keys()

    def check_all(self):
        """Check the states on a walk from the initial ones, which reaches each of them."""
        seen, waiting = set(self.initial), list(self.initial)
        while waiting:
            new = self.check(waiting.pop()) - seen
            seen |= new
            waiting += new
        others = len(self.stored.rows) - len({at for at, _ in seen})
        require(not others, f"{others} states are not reachable" if others > 1 else "1 state is not reachable")


def verify(given):
    """Return the lines about what was verified; raise RefutedError or WrongInputError."""
    path = given.folder / "witness.json"
    if not path.is_file():
        raise WrongInputError(f"{given.folder} holds no witness: it has no file witness.json")
    manifest = json.loads(path.read_text(encoding="utf-8"))
    if manifest["format"] != 3:
        raise WrongInputError(f"{given.folder} has a witness of another format")
    spec, declared = load_spec(given.spec, manifest["class"], manifest["constants"], given.scenario)
    require("deadlock" not in spec.roles, "a declaration has the name of the built-in deadlock")
    chosen = declared if given.properties is None else given.properties.split(",")
    if wrong := sorted(set(chosen) - set(declared)):
        raise WrongInputError(f"--properties names {wrong[0]}; the declared ones are: {', '.join(declared)}")
    asked = [name for name in declared if name in chosen]
    left_out = sorted(set(asked) - set(manifest["checked"]))
    require(not left_out, f"declared, but not checked by the run: {', '.join(left_out)}")
    asked += ["deadlock"] * ("deadlock" in manifest["checked"] and "deadlock" not in asked)
    methods = importlib.import_module("witness_memo").Memo(spec) if given.memo else spec
    stored = StoredStates(given.folder, manifest, spec)
    checker = Checker(stored, spec, methods, asked)
    checker.load_liveness(given.folder, manifest["liveness"])
    count, claimed, drawn = len(stored.rows), set(manifest["violated"]) & set(asked), None
    if count <= given.complete_up_to:
        checker.check_all()
        violated = checker.false & set(asked) | checker.unreached
    else:
        drawn = random.Random(given.seed).sample(range(count), min(given.sample, count))
        # In the initial states alone some obligations begin.
        for place in [*checker.initial, *itertools.product(drawn, range(len(stored.tables)))]:
            checker.check(place)
        violated = checker.false & set(asked)
    # A sample need not meet a state that violates or reaches.
    is_claimed = violated == claimed if drawn is None else violated <= claimed
    names = [", ".join(sorted(each)) or "none" for each in (violated, claimed)]
    require(is_claimed, f"violated: {names[0]}; the witness says: {names[1]}")
    return report(checker, claimed, violated, drawn)


def report(checker, claimed, violated, drawn):
    """Return the lines about what was verified, and what was not; `drawn` is a sample, or None."""
    asked, spec = checker.asked, checker.spec
    lines = [f"{type(spec).__name__}({pairs(spec.constants)}): {len(checker.stored.rows):,} states, sorted"]
    if drawn is None:
        lines.append("complete: the set has the initial states, is closed under every action, and is all reachable")
        others = [name for name in asked if name not in {*claimed, *checker.asked_of(*LIVENESS)}]
        lines.append(f"true everywhere or reached: {', '.join(others) or 'nothing'}")
    else:
        lines.append(f"sample of {len(drawn):,} states: closed under every action, no further violation")
        share = min(100, 300 / max(1, len(drawn)))
        lines.append(f"with a probability of 95 %, fewer than {share:.2g} % of the states break a rule")
    by_ranks = ", ".join(dict.fromkeys(each.name for each in checker.obligations))
    where = "if no state breaks a rule, " * (drawn is not None)
    lines += [f"{where}true of every fair behaviour, by ranks: {by_ranks}"] if by_ranks else []
    lines.append(f"violated, as the witness says: {', '.join(sorted(violated)) or 'nothing'}")
    notes = {"neither shown nor refuted by the sample": sorted((claimed | checker.unreached) - violated)}
    notes["not asked for"] = [name for name in spec.properties if name not in asked]
    return lines + [f"{what}: {', '.join(names)}" for what, names in notes.items() if names]


def main(arguments=None):
    """Run the command, and return its exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("spec", type=Path, metavar="SPEC.py")
    parser.add_argument("--scenario", metavar="NAME", help="a scenario of the file: its properties and fairness")
    parser.add_argument("--properties", metavar="A,B", help="the properties that the run selected (all)")
    parser.add_argument("--sample", type=int, default=3_000, metavar="K", help="states of a sample")
    parser.add_argument("--complete-up-to", type=int, default=20_000, metavar="N", help="larger: a sample")
    parser.add_argument("--seed", type=int, help="of the random states")
    parser.add_argument("--memo", action="store_true", help="keep the results of methods, with witness_memo.py")
    given = parser.parse_args(arguments)
    try:
        status, shown = 0, "\n".join([*verify(given), "verified"])
    except (RefutedError, BoundsError) as error:
        status, shown = 1, f"refuted: {error}"
    # Any error: the files may hold anything.
    except Exception as error:
        form = f"the files of {given.folder} have another form than those of a run"
        status, shown = 2, f"error: {error if isinstance(error, WrongInputError) else form}"
    # No character of the files may command a terminal.
    shown = "".join(each if each.isprintable() or each == "\n" else "?" for each in shown)
    print(shown, file=sys.stderr if status == 2 else sys.stdout)
    return status


if __name__ == "__main__":
    sys.exit(main())
