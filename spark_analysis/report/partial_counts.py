"""Partial counts of walks, by batches of rows: what Spark's executors or processes of this machine compute.

Rows of partial counts with the same `KEYS` are added up (`summed`), in any order and grouping.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

COLUMNS = (
    *("walk", "configuration", "spec_digest", "length", "ending", "verdict", "property", "conjunct", "violated_at"),
    *("violated", "reached", "failed_instance", "actions", "coverage", "branches", "fingerprint"),
)
"""The input columns."""

VIOLATION_COLUMNS = (
    *("walk", "configuration", "spec_digest", "property", "bit", "conjunct", "violated_at", "instance"),
    "fingerprint",
)
"""The input columns of the first violations of properties, which walks with --beyond have."""

PASSED_COLUMNS = ("configuration", "spec_digest", "bit", "violated_at", "length", "actions")
"""The input columns of first violations, each with the length and the actions of its walk."""

OUTCOME, PATTERN, INSTANCE, BRANCH, FOREIGN, VIOLATION, EXPOSED, PASSED = range(8)
"""Kinds of rows: the walks with one end; the violating walks with one pattern; those that took an action instance
(`key`); those that took a side of a condition (`key`: its bit in the column `branches`); those of another spec; with
--beyond, those that violate one property (`violated`) after a number of steps (`length`); the exposed ones: those that
take step `length` and have taken an action (`key`: its number) by then, all (`violated` is null) or those that fail
with this step, by `verdict`, `property` and `violated`; with --beyond, those that take step `length` after their first
violation of the property `violated`, all (`key` is null) or those that have taken an action (`key`) by then."""

WALK_BITS = 47
"""Bits of a walk's number in `first` of a PATTERN row; the 16 bits above hold the number of steps.

The minimum of one integer takes a hash table. For the minimum of a structure, Spark sorts all violating rows.
"""

_OUTCOME_KEYS = ("configuration", "ending", "verdict", "property", "violated", "length", "reached")
_PATTERN_KEYS = ("configuration", "verdict", "property", "violated", "conjunct", "fingerprint", "instance")

SCHEMA = pa.schema(
    [("what", pa.int32()), ("configuration", pa.int32())]
    + [(name, pa.string()) for name in ("ending", "verdict", "property")]
    + [("violated", pa.int64()), ("length", pa.int32()), ("reached", pa.int64()), ("conjunct", pa.int32())]
    + [("fingerprint", pa.int64()), ("instance", pa.int32())]
    + [(name, pa.int64()) for name in ("key", "walks", "takes", "first")]
)
"""`fingerprint`: as a signed number, because Spark has no unsigned ones. `walks`: number of walks. `takes`: number of
steps (of an instance). `first`: the number of the first such walk; see also `WALK_BITS`."""

KEYS = tuple(name for name in SCHEMA.names if name not in ("walks", "takes", "first"))

_NEVER = np.iinfo(np.int32).max

_MOST_BYTES = 1 << 22
"""Number of bytes of coverage that are unpacked to bits at once."""


class PartialCount(NamedTuple):
    """A row of SCHEMA."""

    what: int
    configuration: int
    ending: str | None
    verdict: str | None
    property: str | None
    violated: int | None
    length: int | None
    reached: int | None
    conjunct: int | None
    fingerprint: int | None
    instance: int | None
    key: int | None
    walks: int
    takes: int
    first: int


def partial_counts(
    digests: Collection[str],
    batches: Iterable[pa.RecordBatch],
    *,
    beyond: bool = False,
    actions: Mapping[int, NDArray[np.int64]],
) -> Iterator[pa.RecordBatch]:
    """Yield the partial counts of batches of walks that have `COLUMNS`; `digests` are those of the run's specs.

    With `beyond`, the patterns and the failures of exposed walks are those of errors: `violation_counts` and
    `count_passes` have the others. `actions` has for each configuration the number of each instance's action
    (instances,).
    """
    known = pa.array(sorted(digests), pa.string())
    for batch in batches:
        table = _decode(batch, COLUMNS)
        is_known = pc.is_in(table["spec_digest"], known)
        own = table.filter(is_known)
        yield from _batches(FOREIGN, {"configuration": [-1], "walks": [len(table) - len(own)]})
        yield from _outcomes(own)
        yield from _patterns(_errors(own) if beyond else own.filter(pc.not_equal(own["verdict"], "holds")))
        configurations = np.asarray(own["configuration"])
        for number in np.unique(configurations):
            walked = _in_order(own.filter(pa.array(configurations == number)))
            walks = np.asarray(walked["walk"])
            yield from _instances(int(number), walked, walks)
            failing = _errors(walked) if beyond else walked.filter(pc.not_equal(walked["verdict"], "holds"))
            yield from _exposure(int(number), walked, failing, actions[int(number)])
            keys, covered, first = _bits(_chunk(walked["branches"]), walks)
            yield from _batches(BRANCH, {"configuration": int(number), "key": keys, "walks": covered, "first": first})


def violation_counts(digests: Collection[str], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the partial counts of batches of first violations that have `VIOLATION_COLUMNS`."""
    known = pa.array(sorted(digests), pa.string())
    for batch in batches:
        table = _decode(batch, VIOLATION_COLUMNS)
        own = table.filter(pc.is_in(table["spec_digest"], known))
        own = own.append_column("violated", pc.shift_left(pa.scalar(1, pa.int64()), own["bit"].cast(pa.int64())))
        own = own.append_column("verdict", pa.array(["violated"] * len(own), pa.string()))
        own = own.append_column("length", own["violated_at"])
        yield from _group_patterns(own, own["violated_at"])
        groups = own.group_by(["configuration", "violated", "length"], use_threads=False).aggregate([([], "count_all")])
        columns = {name: groups[name] for name in ("configuration", "violated", "length")}
        yield from _batches(VIOLATION, columns | {"walks": groups["count_all"]})


def _errors(table: pa.Table) -> pa.Table:
    """Return the walks with an error, without the properties that they violate before."""
    errors = table.filter(pc.equal(table["verdict"], "error"))
    place = errors.schema.get_field_index("violated")
    return errors.set_column(place, "violated", pa.array(np.zeros(len(errors), np.int64)))


def summed(batches: Iterable[pa.RecordBatch]) -> list[PartialCount]:
    """Return the sums of partial counts with the same keys."""
    table = pa.Table.from_batches(batches, SCHEMA)
    sums = [("walks", "sum"), ("takes", "sum"), ("first", "min")]
    groups = table.group_by(list(KEYS), use_threads=False).aggregate(sums)
    columns = [groups[name].to_pylist() for name in (*KEYS, "walks_sum", "takes_sum", "first_min")]
    return [PartialCount(*row) for row in zip(*columns, strict=True)]


def _decode(batch: pa.RecordBatch, names: Sequence[str]) -> pa.Table:
    """Return a batch as a table with strings in place of dictionaries, and fingerprints as signed numbers."""
    columns = []
    for name in names:
        column = batch.column(name)
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if name == "fingerprint":
            # Spark reads unsigned numbers as decimals.
            column = column.cast(pa.uint64()).view(pa.int64())
        columns.append(column)
    return pa.table(columns, names=list(names))


def _outcomes(table: pa.Table) -> Iterator[pa.RecordBatch]:
    groups = table.group_by(list(_OUTCOME_KEYS), use_threads=False).aggregate([([], "count_all")])
    yield from _batches(OUTCOME, {name: groups[name] for name in _OUTCOME_KEYS} | {"walks": groups["count_all"]})


def _patterns(table: pa.Table) -> Iterator[pa.RecordBatch]:
    instance = pc.coalesce(table["failed_instance"], _last_instances(_chunk(table["actions"])))
    yield from _group_patterns(
        table.append_column("instance", instance), pc.coalesce(table["violated_at"], table["length"])
    )


def _group_patterns(table: pa.Table, steps: pa.ChunkedArray) -> Iterator[pa.RecordBatch]:
    """Yield the counts of violations with the same pattern; `steps` are the numbers of steps before them."""
    first = pc.add(pc.shift_left(steps.cast(pa.int64()), WALK_BITS), table["walk"])
    table = table.append_column("first", first)
    groups = table.group_by(list(_PATTERN_KEYS), use_threads=False).aggregate([([], "count_all"), ("first", "min")])
    columns = {name: groups[name] for name in _PATTERN_KEYS}
    yield from _batches(PATTERN, columns | {"walks": groups["count_all"], "first": groups["first_min"]})


def _last_instances(column: pa.Array) -> pa.Array:
    """Return the last action instance of each walk; null if there is none."""
    instances, rows = _numbers(column, np.dtype("<u2"))
    counts = np.bincount(rows, minlength=len(column))
    last = np.zeros(len(column), np.int32)
    last[counts > 0] = instances[(np.cumsum(counts) - 1)[counts > 0]]
    return pa.array(last, mask=counts == 0)


def _instances(number: int, table: pa.Table, walks: NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
    """Yield for each action instance the number of walks and of steps that took it, and the first such walk."""
    keys, covered, first = _bits(_chunk(table["coverage"]), walks)
    taken, _ = _numbers(_chunk(table["actions"]), np.dtype("<u2"))
    takes = np.bincount(taken, minlength=int(keys.max(initial=0)) + 1)[keys]
    columns = {"configuration": number, "key": keys, "walks": covered, "takes": takes, "first": first}
    yield from _batches(INSTANCE, columns)


def count_passes(
    digests: Collection[str], actions: Mapping[int, NDArray[np.int64]], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield the partial counts of exposed walks, by batches of first violations that have `PASSED_COLUMNS`.

    A walk with --beyond is at risk of violating a property until its first violation of it: an action that it takes
    later is no cause. These are the exposed walks that violate a property with a step, and those that have passed it.
    """
    known = pa.array(sorted(digests), pa.string())
    for batch in batches:
        table = _decode(batch, PASSED_COLUMNS)
        table = table.filter(pc.is_in(table["spec_digest"], known))
        keys = table.group_by(["configuration", "bit"], use_threads=False).aggregate([]).to_pylist()
        for key in keys:
            number, bit = key["configuration"], key["bit"]
            is_own = pc.and_(pc.equal(table["configuration"], number), pc.equal(table["bit"], bit))
            yield from _pass_counts(number, bit, table.filter(is_own), actions[number])


def _pass_counts(number: int, bit: int, table: pa.Table, actions: NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
    """Yield the counts of `count_passes` for the walks that violate one property."""
    at, lengths = (np.asarray(table[name]).astype(np.int64) for name in ("violated_at", "length"))
    columns = {"configuration": number, "violated": 1 << bit}
    yield from _steps_from(PASSED, columns, at + 1, lengths)
    first = _first_taken(table, actions)
    for action in range(first.shape[1]):
        own = first[:, action]
        yield from _steps_from(PASSED, columns | {"key": action}, np.maximum(own, at + 1), lengths)
        cases = np.bincount(at[own <= at])
        steps = np.flatnonzero(cases)
        failing = columns | {"key": action, "verdict": np.full(len(steps), "violated")}
        yield from _batches(EXPOSED, failing | {"length": steps, "walks": cases[steps]})


def _exposure(number: int, table: pa.Table, failing: pa.Table, actions: NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
    """Yield for each action and step the walks that have taken the action by then, and those that fail with it."""
    lengths = np.asarray(table["length"]).astype(np.int64)
    first, first_failing = _first_taken(table, actions), _first_taken(failing, actions)
    for action in range(first.shape[1]):
        counted = {"configuration": number, "key": action}
        yield from _steps_from(EXPOSED, counted, first[:, action], lengths)
        bad = failing.filter(pa.array(first_failing[:, action] < _NEVER))
        keys = ["verdict", "property", "violated", "length"]
        groups = bad.group_by(keys, use_threads=False).aggregate([([], "count_all")])
        yield from _batches(EXPOSED, counted | {name: groups[name] for name in keys} | {"walks": groups["count_all"]})


def _first_taken(table: pa.Table, actions: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the first step of each walk that takes an action (walks, actions); _NEVER if no step does."""
    instances, rows = _numbers(_chunk(table["actions"]), np.dtype("<u2"))
    lengths = np.bincount(rows, minlength=len(table))
    first = np.full((len(table), int(actions.max(initial=-1)) + 1), _NEVER, np.int32)
    steps = np.arange(1, len(rows) + 1) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    # Of several assignments to an item, the last one remains: that of the first step.
    first[rows[::-1], actions[instances[::-1]]] = steps[::-1]
    return first


def _steps_from(
    what: int, columns: dict[str, Any], first: NDArray[np.int32 | np.int64], last: NDArray[np.int64]
) -> list[pa.RecordBatch]:
    """Return for each step the number of walks for which it is between `first` and `last`, both included."""
    is_any = first <= last
    size = int(last.max(initial=0)) + 2
    began = np.bincount(first[is_any], minlength=size)
    ended = np.bincount(last[is_any] + 1, minlength=size)
    walks = np.cumsum(began - ended)
    steps = np.flatnonzero(walks)
    return _batches(what, columns | {"length": steps, "walks": walks[steps]})


def _batches(what: int, columns: dict[str, Any]) -> list[pa.RecordBatch]:
    """Return rows of SCHEMA from some of its columns; a column may be one number for all rows."""
    size = len(columns["walks"])
    defaults = {"what": what, "takes": 0, "first": np.iinfo(np.int64).max}
    arrays = []
    for field in SCHEMA:
        values = columns.get(field.name, defaults.get(field.name))
        if values is None:
            arrays.append(pa.nulls(size, field.type))
        else:
            values = np.full(size, values) if isinstance(values, int | np.integer) else values
            arrays.append((values if isinstance(values, pa.ChunkedArray) else pa.array(values)).cast(field.type))
    batches: list[pa.RecordBatch] = pa.table(arrays, schema=SCHEMA).to_batches()
    return batches


def _in_order(table: pa.Table) -> pa.Table:
    """Return a table with its walks ascending: Spark reads files in any order."""
    walks = np.asarray(table["walk"])
    is_sorted = bool(np.all(walks[1:] > walks[:-1]))
    return table if is_sorted else table.take(pa.array(np.argsort(walks)))


def _chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _bits(column: pa.Array, walks: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """Return the bits of a column that some walk sets, with the number of such walks and the first of them."""
    packed, _ = _numbers(column, np.dtype("u1"))
    width = len(packed) // max(1, len(walks))
    covered = np.zeros(8 * width, np.int64)
    first = np.full(8 * width, np.iinfo(np.int64).max)
    rows = packed.reshape(len(walks), width)
    step = max(1, _MOST_BYTES // max(1, width))
    for start in range(0, len(walks), step):
        bits = np.unpackbits(rows[start : start + step], axis=1, bitorder="little").astype(bool)
        covered += bits.sum(axis=0)
        seen = np.where(bits.any(axis=0), walks[start : start + step][bits.argmax(axis=0)], first)
        first = np.minimum(first, seen)
    keys = np.flatnonzero(covered)
    return keys, covered[keys], first[keys]


def _numbers(column: pa.Array, kind: np.dtype) -> tuple[NDArray, NDArray[np.int64]]:  # type: ignore[type-arg]
    """Return the numbers in a binary column, concatenated, and the row of each number."""
    is_large = pa.types.is_large_binary(column.type)
    _, offsets, data = column.buffers()
    width = np.dtype(np.int64 if is_large else np.int32)
    ends = np.zeros(1, np.int64)
    if offsets is not None and offsets.size:
        ends = np.frombuffer(offsets, width, len(column) + 1, column.offset * width.itemsize).astype(np.int64)
    content = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]] if data is not None else np.zeros(0, np.uint8)
    lengths = np.diff(ends) // kind.itemsize
    return content.copy().view(kind), np.repeat(np.arange(len(lengths)), lengths)
