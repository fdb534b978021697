"""Random walks on disk: a folder of Parquet parts with one row a walk, and `run.json` that says what they are walks of.

    DIR/run.json                    the run: spec, configurations, seed, weights, names of actions and properties
    DIR/walks/part-000000.parquet   one row a walk, in the order of their numbers; every part but a run's last is full
    DIR/steps/part-000000.parquet   one row a step, only where the run was asked for them

A part appears whole or not at all, and its content depends on the run and its number alone. Columns of `walks`:

| column | type | what |
| --- | --- | --- |
| `walk` | int64 | the walk's number; configuration c has the numbers from c * walks on |
| `configuration` | int32 | the configuration, as `run.json` numbers them |
| `spec`, `scenario` | string | their names; no scenario where constants were set by hand |
| `constants` | string | the configuration's constants as JSON, keys sorted |
| `spec_digest` | string | what the spec meant, of `checker.ir.digest`: tells rows of a spec that has changed since |
| `seed` | uint64 | the walk's own seed: with the spec, the constants and the weights it is the whole walk |
| `initial` | int32 | the number of its initial state in `spec.initial_states()` |
| `length` | int32 | how many steps it took |
| `ending` | string | `depth`, `deadlock` (no action enabled), `violation`, `bounds`, or `constraint` (false there) |
| `verdict` | string | `holds`, `violated`, or `error` where a type's bounds were left |
| `property` | string? | the first property violated; for an error the action, property or constraint that failed |
| `conjunct` | int32? | which operand of the property's outermost `and` is false, from 0; null where it has none |
| `violated_at` | int32? | after how many steps (0: in the initial state) |
| `violated` | int64 | bit i: property i of `run.json` (the last may be `deadlock`) is violated there; several may be |
| `reached` | int64 | bit i: property i is a reachable, and some state of the walk satisfies it |
| `failed_instance` | int32? | the action instance that left its bounds; it is not among the actions |
| `actions` | binary | the action instances taken, little-endian uint16 |
| `coverage` | binary | bit i (of byte i // 8, the lowest first): action instance i was taken |
| `branches` | binary | bits 2i and 2i + 1: a step took the true, the false side of condition i of `run.json` |
| `fingerprint` | uint64? | of the violation's shape, see `pattern_fingerprint` |
| `sampled_states` | binary | hashes (little-endian uint64) of the visited states with their top `sampling` bits 0 |

Columns of `steps`: `walk` (int64), `step` (int32, from 1), `instance` (int32), `action` (string), `enabled` (int32: how
many instances were), `state` (uint64: the hash of the state it led to).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from checker.errors import InputError
from checker.language.spec import Spec
from checker.run import registry
from checker.run.plan import DEADLOCK

FORMAT = "tidemark-walks"
SCHEMA_VERSION = 1
RUN_FILE = "run.json"
WALKS, STEPS = "walks", "steps"

PATTERN_ACTIONS = 3
"""How many of the last actions make the shape of a violation."""

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
        pa.field("sampled_states", pa.binary(), nullable=False),
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

SCHEMAS = {WALKS: WALK_SCHEMA, STEPS: STEP_SCHEMA}


@dataclass(frozen=True)
class ActionRange:
    """An action, the number of its first instance, how many it has, and the weight of each."""

    name: str
    first: int
    instances: int
    weight: int = 1


@dataclass(frozen=True)
class BranchCondition:
    """What actions branch on: the text of the expression, and where it stands."""

    file: str
    line: int
    text: str


@dataclass(frozen=True)
class WalkConfiguration:
    """One point of a run's grid: the constants, and what the numbers in its rows mean."""

    number: int
    constants: dict[str, int | bool | str]
    spec_digest: str
    initial_states: int
    actions: tuple[ActionRange, ...]
    conditions: tuple[BranchCondition, ...] = ()

    @property
    def instances(self) -> int:
        """How many action instances there are: the bits of `coverage`."""
        return sum(action.instances for action in self.actions)

    @property
    def constants_json(self) -> str:
        """The constants as the column `constants` has them."""
        return constants_json(self.constants)


@dataclass(frozen=True)
class WalkRun:
    """What `run.json` says. `walks` are the walks of each configuration, `part` is how many of them a full part holds.

    `target` is what the command line called the spec, `settings` what it set, `sweep` the constants varied. `expected`:
    `holds`, `error`, the properties that the scenario says are violated, or None where nothing is expected.
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

    @property
    def parts_per_configuration(self) -> int:
        """How many parts each configuration has."""
        return -(-self.walks // self.part)

    @property
    def parts(self) -> int:
        """How many parts the whole run has."""
        return self.parts_per_configuration * len(self.configurations)

    def span(self, part: int) -> tuple[WalkConfiguration, int, int]:
        """Return a part's configuration, the number of its first walk, and how many it has."""
        number, within = divmod(part, self.parts_per_configuration)
        first = within * self.part
        return self.configurations[number], number * self.walks + first, min(self.part, self.walks - first)

    def to_json(self) -> dict[str, Any]:
        """Return the content of `run.json`."""
        return {"format": FORMAT, "version": SCHEMA_VERSION, **asdict(self)}


def constants_json(constants: dict[str, int | bool | str]) -> str:
    """Return constants as canonical JSON."""
    return json.dumps(constants, sort_keys=True, separators=(",", ":"))


def pattern_fingerprint(name: str, conjunct: int | None, last_actions: Iterable[str]) -> int:
    """Return the 64-bit fingerprint of a violation's shape.

    The shape: the property, its false conjunct, and the names of the last PATTERN_ACTIONS actions, the violating one at
    the end; of an error the failing action stands at the end.
    """
    content = json.dumps([name, conjunct, list(last_actions)[-PATTERN_ACTIONS:]], separators=(",", ":"))
    return int.from_bytes(hashlib.blake2b(content.encode(), digest_size=8).digest(), "little")


def part_path(folder: Path, kind: str, number: int) -> Path:
    """Return where a part of `walks` or `steps` stands."""
    return folder / kind / f"part-{number:06d}.parquet"


def part_kinds(run: WalkRun) -> tuple[str, ...]:
    """Return what a run has parts of."""
    return (WALKS, STEPS) if run.steps else (WALKS,)


def missing_parts(folder: Path, run: WalkRun) -> list[int]:
    """Return the numbers of the parts that are not there."""
    there = {kind: {path.name for path in (folder / kind).glob("part-*.parquet")} for kind in part_kinds(run)}
    return [
        number
        for number in range(run.parts)
        if any(part_path(folder, kind, number).name not in names for kind, names in there.items())
    ]


def read_run(folder: Path) -> WalkRun:
    """Read what a folder's walks are; raise UserError where it is none, or of a version that is not known here."""
    path = folder / RUN_FILE
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{folder} holds no walks: it has no {RUN_FILE}, which `simulate --out` writes") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f'{path} is not of a run of walks: it has no "format": "{FORMAT}"')
    if content.get("version") != SCHEMA_VERSION:
        raise InputError(
            f"{path} has version {content.get('version')} of the format; this program reads {SCHEMA_VERSION}"
        )
    try:
        return _run(content)
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is not whole: {error} is missing or has the wrong form") from None


def _run(content: dict[str, Any]) -> WalkRun:
    values = {key: value for key, value in content.items() if key not in ("format", "version")}
    configurations = tuple(_configuration(found) for found in content["configurations"])
    return WalkRun(**(values | {"configurations": configurations, "properties": tuple(content["properties"])}))


def _configuration(content: dict[str, Any]) -> WalkConfiguration:
    actions = tuple(ActionRange(**action) for action in content["actions"])
    conditions = tuple(BranchCondition(**condition) for condition in content["conditions"])
    return WalkConfiguration(**(content | {"actions": actions, "conditions": conditions}))


def part_paths(folder: Path, run: WalkRun, kind: str = WALKS) -> list[Path]:
    """Return the paths of a whole run's parts; raise UserError where one is missing, cut off or of another schema."""
    if kind == STEPS and not run.steps:
        raise InputError(f"{folder} has no steps: simulate with --steps")
    missing = missing_parts(folder, run)
    if missing:
        raise InputError(
            f"{folder} lacks {len(missing)} of {run.parts} parts: run the same simulate command again to go on"
        )
    paths = [part_path(folder, kind, number) for number in range(run.parts)]
    for number, path in enumerate(paths):
        rows = check_part(path, SCHEMAS[kind])
        expected = run.span(number)[2]
        if kind == WALKS and rows != expected:
            raise InputError(f"{path} has {rows} walks, not {expected}: remove it and simulate again")
    return paths


def check_part(path: Path, schema: pa.Schema) -> int:
    """Return how many rows a part has, from what its end says; raise UserError where it is not of the schema."""
    try:
        metadata = pq.read_metadata(path)
        found = metadata.schema.to_arrow_schema()
    except (pa.ArrowException, OSError) as error:
        reason = str(error).split("\n")[0]
        raise InputError(f"{path} is cut off or no Parquet file ({reason}): remove it and simulate again") from None
    version = (found.metadata or {}).get(b"version", b"none").decode(errors="replace")
    if version != str(SCHEMA_VERSION) or (found.metadata or {}).get(b"format") != FORMAT.encode():
        raise InputError(f"{path} has version {version} of the walks' schema; this program reads {SCHEMA_VERSION}")
    if not found.equals(schema):
        different = next((name for name in schema.names if name not in found.names), None) or next(
            (field.name for field in schema if not found.field(field.name).equals(field)), "more columns"
        )
        raise InputError(f"{path} has another schema than version {SCHEMA_VERSION} of the walks': see {different}")
    return int(metadata.num_rows)


def read_parts(paths: Iterable[Path], columns: list[str] | None = None) -> Iterator[pa.Table]:
    """Yield the tables of some parts, one at a time; raise UserError where the data of one is damaged."""
    for path in paths:
        try:
            yield pq.read_table(path, columns=columns)
        except (pa.ArrowException, OSError) as error:
            reason = str(error).split("\n")[0]
            raise InputError(f"{path} is damaged ({reason}): remove it and simulate again") from None


def read_walk(folder: Path, run: WalkRun, walk: int) -> dict[str, Any]:
    """Return the row of one walk by column; raise UserError where there is no such walk."""
    total = run.walks * len(run.configurations)
    if not 0 <= walk < total:
        raise InputError(f"{folder} has no walk {walk}: its walks are numbered from 0 to {total - 1}")
    configuration, within = divmod(walk, run.walks)
    part = configuration * run.parts_per_configuration + within // run.part
    path = part_path(folder, WALKS, part)
    if not path.exists():
        raise InputError(f"{path} is missing: run the same simulate command again to go on")
    check_part(path, WALK_SCHEMA)
    table = next(read_parts([path]))
    row: dict[str, Any] = table.slice(within % run.part, 1).to_pylist()[0]
    return row


def spec_of(run: WalkRun, configuration: int) -> Spec:
    """Return the spec that the walks of a configuration walked; raise UserError where it has changed since."""
    from checker.frontend import compile_spec
    from checker.ir.digest import digest_of

    found = run.configurations[configuration]
    spec = registry.select_spec(run.target).spec(**found.constants)
    names = [name for name in run.properties if name != DEADLOCK]
    unknown = [name for name in names if name not in spec.roles]
    if unknown or digest_of(compile_spec(spec, names)) != found.spec_digest:
        what = f"it has no property {unknown[0]} any more" if unknown else "its rows are of what it was"
        raise InputError(f"{run.spec} has changed since these walks were made, {what}: simulate again")
    return spec
