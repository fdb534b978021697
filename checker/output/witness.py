"""Witnesses of complete explorations: files with which `witness_check.py` verifies a result without the engines.

The states are packed by dictionaries: a variable of a state is the number of its value in a table of the values that
occur. A state is the row of these numbers, of one, two or four big-endian bytes each. With symmetry there is a table
for each renaming of the members. For each choice of the parameters of a liveness property that holds, each state has
the number of its node in the ranks, from 1 on, or 0. For a violated property there is the lasso. A state of a lasso is
its position among the sorted states.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from checker.engines.python.liveness import ExploredGraph, LivenessDecider
from checker.engines.python.liveness_ranks import LivenessRanks, liveness_ranks
from checker.errors import OutputError
from checker.language.fairness import NEXT, FairClass
from checker.language.interpreter import State, Step
from checker.language.json_values import to_plain_json
from checker.language.liveness import liveness_names, liveness_property
from checker.language.parameters import ActionShape
from checker.language.permutations import all_permutations, domains_in, permute
from checker.language.roles import Role
from checker.language.spec import Spec
from checker.language.types import Type
from checker.run.account import account_of
from checker.run.endings import StoppedError
from checker.run.expectation import end_text
from checker.run.request import Run
from checker.run.result import Result, Violation

FORMAT = 3
CHUNK_STATES = 65_536
"""States of one file."""
MOST_RANKED = 200_000
"""The most states of which ranks of liveness properties are computed."""
MOST_INTERPRETED = 500
"""The most states whose steps the interpreter computes: of more, the time for machine code pays."""
RANK = struct.Struct(">I")


def require_witness(run: Run, result: Result) -> None:
    """Raise StoppedError if a result has no witness: its exploration is not complete, or has a view."""
    if result.ended != "complete":
        raise StoppedError(f"{run.name}: no witness, because the exploration is not complete: {end_text(result)}")
    if run.spec.names_of(Role.VIEW):
        raise StoppedError(f"{run.name}: no witness, because states with the same value of the view count as one")
    if result.distinct_states > MOST_RANKED and any(map(result.is_decided, liveness_names(run.spec, run.properties))):
        message = f"no witness, because ranks of liveness properties are for at most {MOST_RANKED:,} states"
        raise StoppedError(f"{run.name}: {message}; select the other properties with --property")


def write_witness(folder: Path, run: Run, result: Result, states: Iterable[State]) -> None:
    """Write the witness of a complete exploration into an empty folder; raise OutputError if that fails."""
    stored = _SortedStates(run.spec.variables, states, result.symmetry)
    assert len(set(stored.packed)) == len(stored.packed) == result.distinct_states, "two states have one description"
    files = _Files(folder)
    manifest = _manifest(run, result, stored)
    for first in range(0, len(stored.packed), CHUNK_STATES):
        chunk = stored.packed[first : first + CHUNK_STATES]
        manifest["chunks"].append(files.write(f"states-{first // CHUNK_STATES:05}.bin", chunk))
    decided = [name for name in liveness_names(run.spec, run.properties) if result.is_decided(name)]
    manifest["liveness"] = _Liveness(run.spec, stored, result, files).claims(decided)
    files.write("witness.json", [json.dumps(manifest).encode()])


class _Files:
    """A new folder of files with digests; raises OutputError if a file cannot be written."""

    def __init__(self, folder: Path):
        self._folder = folder
        with self._output_errors():
            folder.mkdir(parents=True, exist_ok=True)
            if any(folder.iterdir()):
                raise OutputError(f"{folder} is not empty: --witness needs a folder of its own")

    @contextmanager
    def _output_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise OutputError(f"the witness cannot be written to {self._folder}: {error.strerror}") from None

    def write(self, name: str, items: Sequence[bytes]) -> dict[str, Any]:
        """Write a file with an item for each of some states, and return its entry in the manifest."""
        content = b"".join(items)
        with self._output_errors():
            (self._folder / name).write_bytes(content)
        return {"file": name, "states": len(items), "sha256": hashlib.sha256(content).hexdigest()}


class _SortedStates:
    """States in the order of their packed forms: `states`, `packed` and, for the manifest, `codes` and `tables`."""

    def __init__(self, kinds: Mapping[str, Type], states: Iterable[State], symmetry: Sequence[str]):
        values: dict[str, dict[Any, int]] = {name: {} for name in kinds}
        rows = []
        for state in states:
            row = [table.setdefault(state.values[name], len(table)) for name, table in values.items()]
            rows.append((row, state))
        self.codes = {name: _code(len(table)) for name, table in values.items()}
        form = struct.Struct(">" + "".join(self.codes.values()))
        # The numbers of a row are in the order of its bytes.
        rows.sort(key=lambda row: row[0])
        self.packed = [form.pack(*row) for row, _ in rows]
        self.states = [state for _, state in rows]
        domains = {str(domain): domain for kind in kinds.values() for domain in domains_in(kind)}
        self.tables = [
            {
                name: [to_plain_json(kind, permute(kind, value, by)) for value in values[name]]
                for name, kind in kinds.items()
            }
            for by in all_permutations([domains[name] for name in symmetry])
        ]


def _code(count: int) -> str:
    """Return the code in `struct` of numbers below a count."""
    return "B" if count <= 1 << 8 else "H" if count <= 1 << 16 else "I"


class _NativeSteps:
    """The steps of stored states, by machine code."""

    def __init__(self, spec: Spec, states: Sequence[State]):
        from checker.engines.native.kernels.single_state import SingleStateEngine

        self._spec, self._engine = spec, SingleStateEngine(spec, [])
        self._words = {state: self._engine.words_of(state) for state in states}
        self._states = {tuple(words): state for state, words in self._words.items()}
        self._plain = {
            number: (shape.name, arguments)
            for shape in spec.shapes()
            if not any(parameter.collection is not None for parameter in shape.parameters)
            for number, arguments in self._instances(shape)
        }

    def _instances(self, shape: ActionShape) -> list[tuple[int, tuple[Any, ...]]]:
        """Return the numbers and arguments of an action whose parameters do not depend on the state."""
        with self._spec.bound():
            return list(self._spec.instances_of(shape, State({})))

    def steps_of(self, state: State) -> Iterator[Step]:
        """Iterate over the steps of a state."""
        for number, words in self._engine.expand_words(self._words[state]).words.items():
            action, arguments = self._plain.get(number) or self._spec.arguments_of(number, state)
            after = self._states.get(tuple(words))
            yield Step(action, arguments, number, self._engine.state_of(words) if after is None else after)


class _Liveness:
    """The ranks or the lasso of each liveness property that a run decided."""

    def __init__(self, spec: Spec, stored: _SortedStates, result: Result, files: _Files):
        self._spec, self._stored, self._files = spec, stored, files
        self._violations = {
            violation.property: violation for violation in result.violations if violation.kind == "liveness"
        }

    def claims(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the entry of each property for the manifest, and write the files of the ranks."""
        if not names:
            return {}
        states = self._stored.states
        index, initial = {state: number for number, state in enumerate(states)}, set(self._spec.initial_states())
        depths, is_inside = [int(state not in initial) for state in states], [True] * len(states)
        steps_of = _NativeSteps(self._spec, states).steps_of if len(states) > MOST_INTERPRETED else None
        graph = ExploredGraph(self._spec, states, index, depths, is_inside, lambda _: (), steps_of)
        decider = LivenessDecider(graph)
        claim_of: dict[str, Any] = {}
        for number, name in enumerate(names):
            if name in self._violations:
                claim_of[name] = {"lasso": self._lasso(self._violations[name], index)}
            else:
                ranks = enumerate(liveness_ranks(decider, name))
                claim_of[name] = {"ranks": [self._ranks(f"ranks-{number:03}-{i:04}.bin", rank) for i, rank in ranks]}
        return claim_of

    def _lasso(self, violation: Violation, index: Mapping[State, int]) -> dict[str, Any]:
        assert violation.loop_start is not None
        trace = [index[step.state] for step in violation.trace]
        path = trace if violation.closing_step is None else trace[:-1]
        choices = liveness_property(self._spec, violation.property).choices(self._spec)
        choice = choices.index(tuple(value for _, value in violation.bindings))
        return {"choice": choice, "path": path, "loop_start": violation.loop_start}

    def _ranks(self, file: str, ranks: LivenessRanks) -> dict[str, Any]:
        fair_sets = dict.fromkeys(fair_class for _, fair_class in ranks.nodes if fair_class is not None)
        numbers = {fair_class: number for number, fair_class in enumerate(fair_sets)}
        # A state has the number of its node, from 1 on, and so has a node with a parent.
        nodes = [
            [0 if parent is None else parent + 1, None if fair_class is None else numbers[fair_class]]
            for parent, fair_class in ranks.nodes
        ]
        items = [RANK.pack(ranks.node_of.get(at, -1) + 1) for at in range(len(self._stored.states))]
        return {"sets": list(map(self._class, fair_sets)), "nodes": nodes, **self._files.write(file, items)}

    def _class(self, fair_class: FairClass) -> list[Any]:
        """Return the name and the fixed arguments of a fair class."""
        if fair_class.action is None:
            return [NEXT, []]
        action = fair_class.union[0] if fair_class.union else fair_class.action
        kinds = {parameter.name: parameter.type for parameter in self._spec.parameters_of(action)}
        return [fair_class.action, [to_plain_json(kinds[name], value) for name, value in fair_class.choice]]


def _manifest(run: Run, result: Result, stored: _SortedStates) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "class": type(run.spec).__name__,
        "constants": run.spec.constants,
        "states": result.distinct_states,
        "variables": stored.codes,
        "tables": stored.tables,
        "chunks": [],
        "checked": account_of(run.spec, run.properties, result).checked,
        "violated": sorted({violation.property for violation in result.violations}),
    }
