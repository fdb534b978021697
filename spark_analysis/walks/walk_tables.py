"""Conversion of a kernel's walks to the tables of `spark_analysis.walks.records`, by array operations only."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from checker.engines.native.walk.kernel import CONSTRAINT, ENDINGS
from checker.engines.native.walk.walker import Walker, Walks
from spark_analysis.walks.records import (
    PATTERN_ACTIONS,
    STEP_SCHEMA,
    VIOLATION_SCHEMA,
    WALK_SCHEMA,
    WalkConfiguration,
    WalkRun,
    pattern_fingerprint,
)
from spark_analysis.walks.walk_totals import SUMMARY, VERDICTS, WalkTotals

_NOTHING = -1

Numbers = NDArray[np.int64]


def walk_table(run: WalkRun, configuration: WalkConfiguration, first: int, walker: Walker, walks: Walks) -> pa.Table:
    """Return walks of a configuration, numbered from `first`, as rows of WALK_SCHEMA."""
    count = len(walks.lengths)
    causes = _Causes(run, configuration, walker, walks)
    columns = {
        "walk": np.arange(first, first + count, dtype=np.int64),
        "configuration": np.full(count, configuration.number, dtype=np.int32),
        # Dictionary columns of one value: a walk takes one number, and Parquet compresses equal numbers to a run.
        "spec": _same(run.spec, count),
        "scenario": _same(run.scenario, count),
        "constants": _same(configuration.constants_json, count),
        "spec_digest": _same(configuration.spec_digest, count),
        "seed": walks.seeds,
        "initial": walks.initial,
        "length": walks.lengths,
        "ending": _names(walks.endings, ENDINGS),
        "verdict": _names(causes.verdicts, VERDICTS),
        "property": _names(causes.properties, causes.names),
        "conjunct": _nullable(walks.conjunct, pa.int32()),
        "violated_at": _nullable(causes.steps, pa.int32()),
        "violated": walks.violated.astype(np.int64),
        "reached": walks.reached.astype(np.int64),
        "failed_instance": _nullable(walks.failed_instance, pa.int32()),
        "actions": _binary(walks.actions.astype("<u2"), walks.ends),
        "coverage": _bits(walks.coverage, configuration.instances),
        "branches": _bits(walks.branches, 2 * len(configuration.conditions)),
        "fingerprint": causes.fingerprints(),
    }
    table = pa.table(
        {name: _array(columns[name], WALK_SCHEMA.field(name).type) for name in columns}, schema=WALK_SCHEMA
    )
    return table.replace_schema_metadata({**WALK_SCHEMA.metadata, SUMMARY: causes.totals().to_text()})


def violation_table(
    run: WalkRun, configuration: WalkConfiguration, first: int, walker: Walker, walks: Walks
) -> pa.Table:
    """Return the first violation of each property by walks numbered from `first`, as rows of VIOLATION_SCHEMA."""
    violations = walks.violations
    assert violations is not None
    starts = walks.ends - walks.lengths
    last = np.where(violations.steps > 0, starts[violations.walks] + violations.steps - 1, 0)
    # Null for a deadlock in an initial state, which no step precedes.
    instances = np.where(violations.steps > 0, walks.actions[last] if len(walks.actions) else _NOTHING, _NOTHING)
    count = len(violations.walks)
    columns = {
        "walk": violations.walks + first,
        "configuration": np.full(count, configuration.number, dtype=np.int32),
        "spec_digest": _same(configuration.spec_digest, count),
        "property": _names(violations.properties, run.properties),
        "bit": violations.properties,
        "conjunct": _nullable(violations.conjuncts, pa.int32()),
        "violated_at": violations.steps,
        "instance": _nullable(instances, pa.int32()),
        "fingerprint": _Causes(run, configuration, walker, walks).fingerprints_of_violations(),
    }
    return pa.table(
        {name: _array(columns[name], VIOLATION_SCHEMA.field(name).type) for name in columns}, schema=VIOLATION_SCHEMA
    )


def step_table(configuration: WalkConfiguration, first: int, walks: Walks) -> pa.Table:
    """Return the steps of walks of a configuration, numbered from `first`, as rows of STEP_SCHEMA."""
    assert walks.hashes is not None and walks.enabled is not None
    number = np.repeat(np.arange(len(walks.lengths)), walks.lengths)
    # The position of each walk's first step among all steps. Subtracting it numbers the steps of each walk from 1.
    starts = walks.ends - walks.lengths
    columns = {
        "walk": number + first,
        "step": np.arange(1, len(walks.actions) + 1) - starts[number],
        "instance": walks.actions,
        "action": _names(_actions_by_instance(configuration)[walks.actions], [a.name for a in configuration.actions]),
        "enabled": walks.enabled,
        "state": walks.hashes,
    }
    return pa.table({name: _array(columns[name], STEP_SCHEMA.field(name).type) for name in columns}, schema=STEP_SCHEMA)


class _Causes:
    """The violated property of each walk, as an index into `names` (-1: none), and its verdict, as one of VERDICTS.

    `steps` is the number of steps before the violation or the error, or -1.
    """

    def __init__(self, run: WalkRun, configuration: WalkConfiguration, walker: Walker, walks: Walks):
        self._run, self._walks, self._configuration = run, walks, configuration
        self._by_instance = _actions_by_instance(configuration)
        self.names = [*run.properties, *(action.name for action in configuration.actions)]
        self.properties = walks.first_violated.copy()
        self.verdicts = np.where(self.properties >= 0, 1, 0)
        self.steps = walks.violated_at.copy()
        self._name_errors(walker, len(run.properties))

    def _name_errors(self, walker: Walker, properties: int) -> None:
        walks = self._walks
        is_error = walks.endings == ENDINGS.index("bounds")
        self.verdicts[is_error] = VERDICTS.index("error")
        self.steps[is_error] = walks.lengths[is_error]
        # Names of actions follow those of the properties in `names`, hence the offset.
        in_action = is_error & (walks.failed_instance >= 0)
        self.properties[in_action] = properties + self._by_instance[walks.failed_instance[in_action]]
        # This includes walks with CONSTRAINT, which is not the number of a property; the lines below replace it.
        in_property = is_error & (walks.failed_property >= 0)
        self.properties[in_property] = walks.failed_property[in_property]
        in_constraint = np.flatnonzero(walks.failed_property == CONSTRAINT)
        # The interpreter finds the constraint that failed. It is slow, so each distinct state is evaluated once.
        states, each = np.unique(walks.last_states[in_constraint, 0], axis=0, return_inverse=True)
        names = [walker.constraint_out_of_bounds(state) for state in states]
        self.properties[in_constraint] = len(self.names) + each.reshape(-1)
        self.names += names

    def totals(self) -> WalkTotals:
        """Return the totals of these walks."""
        walks = self._walks
        by_verdict = np.bincount(self.verdicts, minlength=len(VERDICTS)).tolist()
        failed = self.properties[self.verdicts == VERDICTS.index("error")]
        errors: Counter[str] = Counter()
        # Added up by name: the same constraint may have several numbers, one for each state in which it failed.
        for number, count in zip(*np.unique(failed, return_counts=True), strict=True):
            errors[self.names[number]] += int(count)
        return WalkTotals(
            walks=len(walks.lengths),
            steps=int(walks.lengths.sum(dtype=np.int64)),
            verdicts=Counter(dict(zip(VERDICTS, by_verdict, strict=True))),
            violated=self._by_property(walks.violated),
            reached=self._by_property(walks.reached),
            errors=errors,
        )

    def _by_property(self, masks: NDArray[np.uint64]) -> Counter[str]:
        """Return the number of walks in which each property's bit is set, without zeros."""
        counts = {
            name: int(np.count_nonzero(masks & np.uint64(1 << bit))) for bit, name in enumerate(self._run.properties)
        }
        return Counter({name: count for name, count in counts.items() if count})

    def fingerprints(self) -> pa.Array:
        """Return the fingerprint of each walk's violation; null if there is none."""
        rows = np.flatnonzero(self.properties >= 0)
        failed = self._walks.failed_instance[rows]
        conjuncts = np.where(self.verdicts[rows] == VERDICTS.index("error"), _NOTHING, self._walks.conjunct[rows])
        values = np.zeros(len(self.properties), dtype=np.uint64)
        values[rows] = self._hash(self._patterns(rows, self.properties[rows], conjuncts, self.steps[rows], failed))
        return pa.array(values, mask=self.properties < 0)

    def fingerprints_of_violations(self) -> NDArray[np.uint64]:
        """Return the fingerprint of the first violation of each property by each walk."""
        violations = self._walks.violations
        assert violations is not None
        failed = np.full(len(violations.walks), _NOTHING)
        return self._hash(
            self._patterns(violations.walks, violations.properties, violations.conjuncts, violations.steps, failed)
        )

    def _hash(self, patterns: Numbers) -> NDArray[np.uint64]:
        """Return the fingerprint of each pattern."""
        # Many walks have the same pattern, so each distinct pattern is hashed once.
        distinct, each = np.unique(patterns, axis=0, return_inverse=True)
        hashed = np.array([self._fingerprint(pattern) for pattern in distinct.tolist()], dtype=np.uint64)
        return hashed[each.reshape(-1)]

    def _patterns(self, rows: Numbers, properties: Numbers, conjuncts: Numbers, steps: Numbers, failed: Any) -> Numbers:
        """Return for each of some violations its property, its conjunct and its last actions (m, 2 + PATTERN_ACTIONS).

        `rows` (m,) are the positions of the walks, `steps` the numbers of steps before, and `failed` the instances that
        leave their bounds, or -1. -1 stands for no conjunct, and for actions before the first.
        """
        walks = self._walks
        has_failed = failed >= 0
        starts = walks.ends - walks.lengths
        # The failing action counts as one more step at the end, although `actions` does not contain it.
        ends, lengths = starts[rows] + steps + has_failed, steps + has_failed
        patterns = np.full((len(rows), 2 + PATTERN_ACTIONS), _NOTHING, dtype=np.int64)
        patterns[:, 0], patterns[:, 1] = properties, conjuncts
        for back in range(1, PATTERN_ACTIONS + 1):
            is_failed = has_failed & (back == 1)
            # Without this test, a short walk would take its last actions from the walk before it.
            is_taken = (lengths >= back) & ~is_failed
            column = patterns[:, -back]
            # `ends` was increased by one for a failed walk, so `back` = 2 is its last recorded action.
            column[is_taken] = self._by_instance[walks.actions[ends[is_taken] - back]]
            column[is_failed] = self._by_instance[failed[is_failed]]
        return patterns

    def _fingerprint(self, pattern: list[int]) -> int:
        name, conjunct, *actions = pattern
        last = [self._configuration.actions[action].name for action in actions if action != _NOTHING]
        return pattern_fingerprint(self.names[name], None if conjunct == _NOTHING else conjunct, last)


def _actions_by_instance(configuration: WalkConfiguration) -> Numbers:
    """Return the number of each instance's action (instances,)."""
    return np.repeat(np.arange(len(configuration.actions)), [action.instances for action in configuration.actions])


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    return values if isinstance(values, pa.Array) else pa.array(values).cast(kind)


def _same(text: str | None, count: int) -> pa.Array:
    numbers = pa.array(np.zeros(count, dtype=np.int32), mask=np.full(count, text is None))
    return pa.DictionaryArray.from_arrays(numbers, pa.array([text or ""], pa.string()))


def _names(numbers: NDArray[Any], names: Any) -> pa.Array:
    """Return names by their numbers; -1 is null."""
    # The masked positions may hold any number: Arrow does not read an index under a null.
    signed = numbers.astype(np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(signed, mask=signed < 0), pa.array(list(names), pa.string()))


def _nullable(numbers: NDArray[Any], kind: pa.DataType) -> pa.Array:
    return pa.array(numbers, mask=numbers < 0).cast(kind)


def _binary(items: NDArray[Any], ends: Numbers) -> pa.Array:
    """Return a binary column from consecutive items; `ends` holds the end of each value, counted in items."""
    # Arrow's layout of variable-sized values: n + 1 offsets in bytes, as int32. A part is small enough (see
    # `MOST_STEPS_IN_PART`).
    offsets = np.zeros(len(ends) + 1, dtype=np.int32)
    offsets[1:] = ends * items.itemsize
    return pa.Array.from_buffers(pa.binary(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(items)])


def _bits(words: NDArray[np.uint64], count: int) -> pa.Array:
    """Return a binary column with the first `count` bits of each row of words, the lowest bit first."""
    # The bytes of a word, read in order, hold its bits from the lowest on only on such a machine.
    assert sys.byteorder == "little"
    size = -(-count // 8)
    content = np.ascontiguousarray(words.view(np.uint8)[:, :size]).reshape(-1)
    return _binary(content, np.arange(1, len(words) + 1) * size)
