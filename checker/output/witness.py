"""Witnesses of complete explorations: files with which `witness_check.py` verifies a result without the engines.

The states are packed by dictionaries: a variable of a state is the number of its value in a table of the values that
occur, and a state is the bits of these numbers, the first variable highest, as big-endian bytes of one width. For a
liveness property that holds, each state has the number of its node in the ranks, from 1 on, or 0. For a violated one
there is the lasso. A state of a lasso is its position among the sorted states.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
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
from checker.language.liveness import liveness_names
from checker.language.parameters import ActionShape
from checker.language.roles import Role
from checker.language.spec import Spec
from checker.language.types import Type
from checker.run.account import account_of
from checker.run.endings import StoppedError
from checker.run.expectation import end_text
from checker.run.request import Run
from checker.run.result import Result, Violation

FORMAT = 2
CHUNK_STATES = 65_536
"""States of one file."""
MOST_RANKED = 200_000
"""The most states of which ranks of liveness properties are computed."""
MOST_INTERPRETED = 500
"""The most states whose steps the interpreter computes: of more, the time for machine code pays."""
RANK_BYTES = 4


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
    stored = _SortedStates(run.spec.variables, states)
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
        with self._write():
            folder.mkdir(parents=True, exist_ok=True)
            if any(folder.iterdir()):
                raise OutputError(f"{folder} is not empty: --witness needs a folder of its own")

    @contextmanager
    def _write(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise OutputError(f"the witness cannot be written to {self._folder}: {error.strerror}") from None

    def write(self, name: str, items: Sequence[bytes]) -> dict[str, Any]:
        """Write a file with an item for each of some states, and return its entry in the manifest."""
        content = b"".join(items)
        with self._write():
            (self._folder / name).write_bytes(content)
        return {"file": name, "states": len(items), "sha256": hashlib.sha256(content).hexdigest()}


class _SortedStates:
    """States in the order of their packed forms: `states`, `packed` and, for the manifest, `variables`."""

    def __init__(self, kinds: Mapping[str, Type], states: Iterable[State]):
        tables: dict[str, dict[Any, int]] = {name: {} for name in kinds}
        rows = []
        for state in states:
            row = [table.setdefault(state.values[name], len(table)) for name, table in tables.items()]
            rows.append((row, state))
        bits = [max(1, (len(table) - 1).bit_length()) for table in tables.values()]
        self.width = -(-sum(bits) // 8) or 1
        # The numbers of a row are in the order of the bits.
        rows.sort(key=lambda row: row[0])
        self.packed = [_pack(row, bits).to_bytes(self.width, "big") for row, _ in rows]
        self.states = [state for _, state in rows]
        self.variables = [
            {"name": name, "bits": count, "values": [to_plain_json(kinds[name], value) for value in table]}
            for (name, table), count in zip(tables.items(), bits, strict=True)
        ]


def _pack(row: list[int], bits: list[int]) -> int:
    packed = 0
    for number, count in zip(row, bits, strict=True):
        packed = packed << count | number
    return packed


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
                claim_of[name] = {
                    "ranks": [self._ranks(name, f"ranks-{number:03}-{i:04}.bin", rank) for i, rank in ranks]
                }
        return claim_of

    def _lasso(self, violation: Violation, index: Mapping[State, int]) -> dict[str, Any]:
        assert violation.loop_start is not None
        trace = [index[step.state] for step in violation.trace]
        path = trace if violation.closing_step is None else trace[:-1]
        arguments = tuple(value for _, value in violation.bindings)
        return {
            "arguments": self._plain(violation.property, arguments),
            "path": path,
            "loop_start": violation.loop_start,
        }

    def _ranks(self, name: str, file: str, ranks: LivenessRanks) -> dict[str, Any]:
        classes = dict.fromkeys(fair_class for _, fair_class in ranks.nodes if fair_class is not None)
        numbers = {fair_class: number for number, fair_class in enumerate(classes)}
        nodes = [[parent, None if fair_class is None else numbers[fair_class]] for parent, fair_class in ranks.nodes]
        items = [(ranks.node_of.get(at, -1) + 1).to_bytes(RANK_BYTES, "big") for at in range(len(self._stored.states))]
        entry = {"arguments": self._plain(name, ranks.arguments), "classes": list(map(self._class, classes))}
        return entry | {"nodes": nodes, **self._files.write(file, items)}

    def _class(self, fair_class: FairClass) -> list[Any]:
        """Return the name and the fixed arguments of a fair class."""
        if fair_class.action is None:
            return [NEXT, []]
        action = fair_class.union[0] if fair_class.union else fair_class.action
        kinds = {parameter.name: parameter.type for parameter in self._spec.parameters_of(action)}
        return [fair_class.action, [to_plain_json(kinds[name], value) for name, value in fair_class.choice]]

    def _plain(self, method: str, arguments: tuple[Any, ...]) -> list[Any]:
        kinds = [parameter.type for parameter in self._spec.parameters_of(method)]
        return list(map(to_plain_json, kinds, arguments))


def _manifest(run: Run, result: Result, stored: _SortedStates) -> dict[str, Any]:
    fairness = {
        name: [fairness_condition.strength, fairness_condition.for_each]
        for name, fairness_condition in run.spec.fairness.items()
    }
    return {
        "format": FORMAT,
        "class": type(run.spec).__name__,
        "constants": run.spec.constants,
        "states": result.distinct_states,
        "state_bytes": stored.width,
        "fairness": fairness,
        "symmetry": list(result.symmetry),
        "violated": sorted({violation.property for violation in result.violations}),
        "account": dataclasses.asdict(account_of(run.spec, run.properties, result)),
        "variables": stored.variables,
        "chunks": [],
    }
