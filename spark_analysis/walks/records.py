"""Random walks on disk: a folder of Parquet parts with one row for each walk, and `run.json` with the run's options.

    DIR/run.json                    the run: spec, configurations, seed, weights, names of actions and properties
    DIR/walks/part-000000.parquet   one row for each walk, by number; only a last part may be shorter
    DIR/states/part-000000.parquet  one row for each distinct state that the walks of the part visited
    DIR/steps/part-000000.parquet   one row for each step, if the run has the option --steps
    DIR/violations/part-000000.parquet  a row for each first violation of a property, if the run has the option --beyond
    DIR/digests/walks-part-000000.blake2b    the digest of a part, which every reader checks

A part appears completely or not at all. Its content depends on the run and its number alone. Columns of `walks`:

| column | type | content |
| --- | --- | --- |
| `walk` | int64 | the walk's number; those of configuration c start at c * walks |
| `configuration` | int32 | the number of the configuration in `run.json` |
| `spec`, `scenario` | string | their names; `scenario` is null if the command line set constants |
| `constants` | string | the configuration's constants as JSON, keys sorted |
| `spec_digest` | string | digest of the compiled spec (`checker.ir.digest`); differs if the spec has changed |
| `seed` | uint64 | the walk's seed; with the spec, the constants and the weights it determines the walk |
| `initial` | int32 | the number of its initial state in `spec.initial_states()` |
| `length` | int32 | number of steps |
| `ending` | string | `depth`, `deadlock` (no action enabled), `violation`, `bounds`, or `constraint` (false) |
| `verdict` | string | `holds`, `violated`, or `error` (a value left its type's bounds) |
| `property` | string? | the first property violated; for an error the action, property or constraint that failed |
| `conjunct` | int32? | index of the false operand of the property's outermost `and`, from 0; null if it has none |
| `violated_at` | int32? | number of steps before the first violation (0: in the initial state) |
| `violated` | int64 | bit i: property i of `run.json` (the last may be `deadlock`) is violated (--beyond: anywhere) |
| `reached` | int64 | bit i: property i is a `@reachable` that some state of the walk satisfies |
| `failed_instance` | int32? | the action instance that left its bounds; `actions` does not contain it |
| `actions` | binary | the action instances taken, little-endian uint16 |
| `coverage` | binary | bit i (of byte i // 8, the lowest first): action instance i was taken |
| `branches` | binary | bits 2i and 2i + 1: a step took the true, the false side of condition i of `run.json` |
| `fingerprint` | uint64? | fingerprint of the violation's pattern, see `pattern_fingerprint` |

Columns of `states`: `configuration` (int32), `state` (uint64: its hash), `walks` (int64: the number of walks of the
part that visited it), `first_walk` (int64: the first of them); see `spark_analysis.walks.state_tallies`.

Columns of `steps`: `walk` (int64), `step` (int32, from 1), `instance` (int32), `action` (string), `enabled` (int32: the
number of enabled instances before the step), `state` (uint64: the hash of the next state).

Columns of `violations`: `walk` (int64), `configuration` (int32), `spec_digest` (string), `property` (string), `bit`
(int32: its bit in `violated`), `conjunct` (int32?), `violated_at` (int32), `instance` (int32?: the action instance of
the step that violates it; null if there is no step), `fingerprint` (uint64). They describe the first state in which the
walk violates the property, as the columns of the same names in `walks`.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from checker.data_files import reason_of, utf8_text
from checker.errors import InputError
from checker.language.spec import Spec
from checker.run import registry
from checker.run.plan import DEADLOCK
from spark_analysis.walks.digests import copy_unchanged, digest_of_run
from traces.json_input import parse_json
from traces.json_schema import read_schema, schema_error
from traces.storage import Location, local_copy, read_location

FORMAT = "tidemark-walks"
SCHEMA_VERSION = 3
RUN_FILE = "run.json"
RUN_SCHEMA = Path(__file__).parent / "run.schema.json"
"""The published JSON Schema of `run.json`."""

MOST_PARTS = 10_000_000
WALKS, STATES, STEPS, VIOLATIONS = "walks", "states", "steps", "violations"

PATTERN_ACTIONS = 3
"""Number of last actions that belong to the pattern of a violation."""

_NAME = pa.dictionary(pa.int32(), pa.string())
_METADATA = {"format": FORMAT, "version": str(SCHEMA_VERSION)}

WALK_SCHEMA = pa.schema(
    [
        pa.field("walk", pa.int64(), nullable=False),
        pa.field("configuration", pa.int32(), nullable=False),
        pa.field("spec", _NAME, nullable=False),
        pa.field("scenario", _NAME),
        pa.field("constants", _NAME, nullable=False),
        pa.field("spec_digest", _NAME, nullable=False),
        pa.field("seed", pa.uint64(), nullable=False),
        pa.field("initial", pa.int32(), nullable=False),
        pa.field("length", pa.int32(), nullable=False),
        pa.field("ending", _NAME, nullable=False),
        pa.field("verdict", _NAME, nullable=False),
        pa.field("property", _NAME),
        pa.field("conjunct", pa.int32()),
        pa.field("violated_at", pa.int32()),
        pa.field("violated", pa.int64(), nullable=False),
        pa.field("reached", pa.int64(), nullable=False),
        pa.field("failed_instance", pa.int32()),
        pa.field("actions", pa.binary(), nullable=False),
        pa.field("coverage", pa.binary(), nullable=False),
        pa.field("branches", pa.binary(), nullable=False),
        pa.field("fingerprint", pa.uint64()),
    ],
    metadata=_METADATA,
)

STATE_SCHEMA = pa.schema(
    [
        pa.field("configuration", pa.int32(), nullable=False),
        pa.field("state", pa.uint64(), nullable=False),
        pa.field("walks", pa.int64(), nullable=False),
        pa.field("first_walk", pa.int64(), nullable=False),
    ],
    metadata=_METADATA,
)

STEP_SCHEMA = pa.schema(
    [
        pa.field("walk", pa.int64(), nullable=False),
        pa.field("step", pa.int32(), nullable=False),
        pa.field("instance", pa.int32(), nullable=False),
        pa.field("action", _NAME, nullable=False),
        pa.field("enabled", pa.int32(), nullable=False),
        pa.field("state", pa.uint64(), nullable=False),
    ],
    metadata=_METADATA,
)

VIOLATION_SCHEMA = pa.schema(
    [
        pa.field("walk", pa.int64(), nullable=False),
        pa.field("configuration", pa.int32(), nullable=False),
        pa.field("spec_digest", _NAME, nullable=False),
        pa.field("property", _NAME, nullable=False),
        pa.field("bit", pa.int32(), nullable=False),
        pa.field("conjunct", pa.int32()),
        pa.field("violated_at", pa.int32(), nullable=False),
        pa.field("instance", pa.int32()),
        pa.field("fingerprint", pa.uint64(), nullable=False),
    ],
    metadata=_METADATA,
)

SCHEMAS = {WALKS: WALK_SCHEMA, STATES: STATE_SCHEMA, STEPS: STEP_SCHEMA, VIOLATIONS: VIOLATION_SCHEMA}


@dataclass(frozen=True)
class ActionRange:
    """An action, the number of its first instance, the number of its instances, and the weight of each."""

    name: str
    first: int
    instances: int
    weight: int = 1


@dataclass(frozen=True)
class BranchCondition:
    """A condition on which an action branches: the text of the expression, and its location."""

    file: str
    line: int
    text: str


@dataclass(frozen=True)
class WalkConfiguration:
    """One configuration of a run: its constants, and the meaning of the numbers in its rows."""

    number: int
    constants: dict[str, int | bool | str]
    spec_digest: str
    initial_states: int
    actions: tuple[ActionRange, ...]
    conditions: tuple[BranchCondition, ...] = ()

    @property
    def instances(self) -> int:
        """The number of action instances, which is the number of bits of `coverage`."""
        return sum(action.instances for action in self.actions)

    @property
    def constants_json(self) -> str:
        """The constants as they appear in the column `constants`."""
        return constants_json(self.constants)


@dataclass(frozen=True)
class WalkRun:
    """The content of `run.json`. `walks` is the number of walks of each configuration, `part` that of a full part.

    `target` is the spec's name on the command line, `settings` are the constants set there, `sweep` the varied ones.
    `expected` is `holds`, `error`, the properties that the scenario expects to be violated, or None. With `beyond`,
    walks go on after a violation.
    """

    target: str
    spec: str
    scenario: str | None
    settings: dict[str, int | bool | str]
    sweep: dict[str, list[int | bool | str]]
    properties: tuple[str, ...]
    expected: str | list[str] | None
    seed: int
    walks: int
    depth: int
    part: int
    sampling: int
    bias: str
    weights: dict[str, int]
    steps: bool
    configurations: tuple[WalkConfiguration, ...] = field(default=())
    tidemark: str = ""
    beyond: bool = False

    @property
    def parts_per_configuration(self) -> int:
        """The number of parts of each configuration."""
        return -(-self.walks // self.part)

    @property
    def parts(self) -> int:
        """The number of parts of the run."""
        return self.parts_per_configuration * len(self.configurations)

    @property
    def total(self) -> int:
        """The number of walks of all configurations."""
        return self.walks * len(self.configurations)

    def span(self, part: int) -> tuple[WalkConfiguration, int, int]:
        """Return a part's configuration, the number of its first walk, and its number of walks."""
        # A part never crosses configurations, so each one has the columns of one compiled spec.
        number, within = divmod(part, self.parts_per_configuration)
        first = within * self.part
        return self.configurations[number], number * self.walks + first, min(self.part, self.walks - first)

    def to_json(self) -> dict[str, Any]:
        """Return the content of `run.json`, with its digest."""
        content = json.loads(json.dumps({"format": FORMAT, "version": SCHEMA_VERSION, **asdict(self)}))
        return {**content, "digest": digest_of_run(content)}


def constants_json(constants: dict[str, int | bool | str]) -> str:
    """Return constants as canonical JSON."""
    return json.dumps(constants, sort_keys=True, separators=(",", ":"))


def pattern_fingerprint(name: str, conjunct: int | None, last_actions: Iterable[str]) -> int:
    """Return the 64-bit fingerprint of a violation's pattern.

    The pattern consists of the property, its false conjunct, and the names of the last PATTERN_ACTIONS actions. The
    last one is the violating action, or the failing action of an error.
    """
    content = json.dumps([name, conjunct, list(last_actions)[-PATTERN_ACTIONS:]], separators=(",", ":"))
    return int.from_bytes(hashlib.blake2b(content.encode(), digest_size=8).digest(), "little")


def part_path(folder: Location, kind: str, number: int) -> Location:
    """Return the path of a part of `walks`, `states`, `steps` or `violations`."""
    return folder / kind / f"part-{number:06d}.parquet"


def part_kinds(run: WalkRun) -> tuple[str, ...]:
    """Return the kinds of parts that a run has."""
    return (WALKS, STATES, *([STEPS] if run.steps else []), *([VIOLATIONS] if run.beyond else []))


def missing_parts(folder: Location, run: WalkRun) -> list[int]:
    """Return the numbers of the parts that are not written yet."""
    # One listing per folder in place of one query per part.
    there = {kind: {path.name for path in (folder / kind).glob("part-*.parquet")} for kind in part_kinds(run)}
    return [
        number
        for number in range(run.parts)
        if any(part_path(folder, kind, number).name not in names for kind, names in there.items())
    ]


def run_with_known_target(folder: Location, spec: Path | None) -> WalkRun:
    """Read the run of a folder, with a `target` that may be loaded: see `checker.run.registry.trusted_target`."""
    run = read_run(folder)
    return replace(run, target=registry.target_to_load(run.target, spec, folder / RUN_FILE))


def read_run(folder: Location) -> WalkRun:
    """Read the run of a folder; raise InputError if the folder holds no walks or has an unknown version.

    Its `target` may name any file: `run_with_known_target` returns a run of which the spec may be loaded.
    """
    path = folder / RUN_FILE
    try:
        content = parse_json(utf8_text(read_location(path)))
    except FileNotFoundError:
        raise InputError(f"{folder} holds no walks: it has no {RUN_FILE}, which `simulate --out` writes") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {reason_of(error)}") from None
    except RecursionError:
        raise InputError(f"{path} cannot be read: it is nested too deeply") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f'{path} does not describe a run of walks: it has no "format": "{FORMAT}"')
    if content.get("version") != SCHEMA_VERSION:
        raise InputError(
            f"{path} has version {content.get('version')!r} of the format; this program reads {SCHEMA_VERSION}"
        )
    wrong = schema_error(read_schema(RUN_SCHEMA), content)
    if wrong:
        raise InputError(f"{path} is not complete: {wrong}")
    digest = content.pop("digest")
    if digest != digest_of_run(content):
        raise InputError(f"{path} was changed, its digest differs: simulate again in a new folder")
    run = _run(content)
    if run.parts > MOST_PARTS or [each.number for each in run.configurations] != list(range(len(run.configurations))):
        raise InputError(f"{path} describes no run: it has {run.parts:,} parts, or its configurations are out of order")
    return run


def _run(content: dict[str, Any]) -> WalkRun:
    values = {key: value for key, value in content.items() if key not in ("format", "version")}
    configurations = tuple(_configuration(each) for each in content["configurations"])
    return WalkRun(**(values | {"configurations": configurations, "properties": tuple(content["properties"])}))


def _configuration(content: dict[str, Any]) -> WalkConfiguration:
    actions = tuple(ActionRange(**action) for action in content["actions"])
    conditions = tuple(BranchCondition(**condition) for condition in content["conditions"])
    return WalkConfiguration(**(content | {"actions": actions, "conditions": conditions}))


def part_paths(folder: Location, run: WalkRun, kind: str = WALKS) -> list[Location]:
    """Return the paths of a complete run's parts; raise InputError if one is missing or damaged."""
    if kind == STEPS and not run.steps:
        raise InputError(f"{folder} has no steps: simulate with --steps")
    missing = missing_parts(folder, run)
    if missing:
        raise InputError(
            f"{folder} lacks {len(missing)} of {run.parts} parts: run the same simulate command again to resume the run"
        )
    paths = [part_path(folder, kind, number) for number in range(run.parts)]
    for number, path in enumerate(paths):
        rows = check_part(path, SCHEMAS[kind])
        expected = run.span(number)[2]
        # The number of steps cannot be known in advance; the number of walks can.
        if kind == WALKS and rows != expected:
            raise InputError(f"{path} has {rows} walks, not {expected}: remove it and simulate again")
    return paths


def check_part(path: Location, schema: pa.Schema) -> int:
    """Return the number of rows of a part; raise InputError if it does not have the schema or has changed."""
    # First: a changed file is not given to the reader of Parquet.
    copy = copy_unchanged(path)
    try:
        metadata = pq.read_metadata(copy)
        stored = metadata.schema.to_arrow_schema()
    except (pa.ArrowException, OSError) as error:
        reason = str(error).split("\n")[0]
        raise InputError(f"{path} is truncated or no Parquet file ({reason}): remove it and simulate again") from None
    version = (stored.metadata or {}).get(b"version", b"none").decode(errors="replace")
    if version != str(SCHEMA_VERSION) or (stored.metadata or {}).get(b"format") != FORMAT.encode():
        raise InputError(f"{path} has version {version} of the walks' schema; this program reads {SCHEMA_VERSION}")
    if not stored.equals(schema):
        different = next((name for name in schema.names if name not in stored.names), None) or next(
            (field.name for field in schema if not stored.field(field.name).equals(field)), "more columns"
        )
        raise InputError(f"{path} has another schema than version {SCHEMA_VERSION} of the walks': see {different}")
    return int(metadata.num_rows)


def read_parts(paths: Iterable[Location], columns: list[str] | None = None) -> Iterator[pa.Table]:
    """Yield the tables of some parts, one at a time; raise InputError if the data of one is damaged."""
    for path in paths:
        try:
            yield pq.read_table(local_copy(path), columns=columns)
        except (pa.ArrowException, OSError) as error:
            reason = str(error).split("\n")[0]
            raise InputError(f"{path} is damaged ({reason}): remove it and simulate again") from None


def read_walk(folder: Location, run: WalkRun, walk: int) -> dict[str, Any]:
    """Return the row of one walk by column; raise InputError if it does not exist."""
    total = run.total
    if not 0 <= walk < total:
        raise InputError(f"{folder} has no walk {walk}: its walks are numbered from 0 to {total - 1}")
    path = part_path(folder, WALKS, _part_of(run, walk))
    if not path.exists():
        raise InputError(f"{path} is missing: run the same simulate command again to resume the run")
    check_part(path, WALK_SCHEMA)
    return read_walks(folder, run, [walk])[walk]


def read_walks(folder: Location, run: WalkRun, walks: Sequence[int]) -> dict[int, dict[str, Any]]:
    """Return the rows of some walks by number, from parts that were checked; raise InputError if one is damaged."""
    rows: dict[int, dict[str, Any]] = {}
    for number, own in itertools.groupby(sorted(walks), key=partial(_part_of, run)):
        path, wanted = part_path(folder, WALKS, number), list(own)
        configuration, first, _ = run.span(number)
        for table in read_parts([path]):
            places = [walk - first for walk in wanted if walk - first < len(table)]
            rows |= {row["walk"]: row for row in table.take(places).to_pylist()}
        for walk in wanted:
            if walk not in rows or rows[walk]["configuration"] != configuration.number:
                raise InputError(f"{path} does not have the walk {walk} in its place: remove it and simulate again")
    return rows


def _part_of(run: WalkRun, walk: int) -> int:
    """Return the number of the part that holds a walk."""
    configuration, within = divmod(walk, run.walks)
    return configuration * run.parts_per_configuration + within // run.part


def configured_spec(run: WalkRun, configuration: int) -> Spec:
    """Return the spec of a configuration as it is now; `spec_of` also compares it with the one that was walked."""
    return registry.select_spec(run.target).spec(**run.configurations[configuration].constants)


def spec_of(run: WalkRun, configuration: int) -> Spec:
    """Return the spec of a configuration; raise InputError if the spec has changed since the walks were made."""
    from checker.frontend import compile_spec
    from checker.ir.digest import digest_of

    settings = run.configurations[configuration]
    spec = configured_spec(run, configuration)
    names = [name for name in run.properties if name != DEADLOCK]
    unknown = [name for name in names if name not in spec.safety_properties]
    if unknown or digest_of(compile_spec(spec, names)) != settings.spec_digest:
        what = f" and has no property {unknown[0]} now" if unknown else ""
        raise InputError(f"{run.spec} has changed since these walks were made{what}: simulate again")
    return spec
