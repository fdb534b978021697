"""The trace file: one counterexample as self-contained JSON.

It contains the spec's name, the constants, the command that found the violation, the violated property with its
explanation, and every state in full. A reader needs neither the spec nor this program. With the spec, the trace can be
replayed.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from checker.data_files import read_data, read_data_text
from checker.errors import BoundsError, InputError
from checker.explain.differences import changes
from checker.language.error_location import source_files
from checker.language.fairness import Fairness
from checker.language.json_values import Plain, from_plain_json, to_plain_json
from checker.language.roles import LIVENESS_ROLES
from checker.language.spec import Spec
from checker.run.result import ActionCall, Kind, TraceStep, Violation
from checker.run.version import tidemark_version
from traces.json_input import parse_json
from traces.json_schema import read_schema, schema_error

SCHEMA = Path(__file__).parent / "trace-file.schema.json"
"""The published JSON Schema of trace files."""

FORMAT = "tidemark-trace"
VERSION = 1


@dataclass(frozen=True)
class Origin:
    """The origin of a trace.

    `spec` and `scenario` are names; `scenario` is None if the command line set the constants. `target` is the name of
    the spec on the command line, `command` the command that found the violation, and `fingerprint` a hash of the spec's
    source (see `fingerprint_of`). `fairness` is that of the spec, on which a lasso depends.
    """

    spec: str
    scenario: str | None
    target: str
    constants: dict[str, int | bool | str]
    fingerprint: str
    command: str
    tidemark: str
    fairness: Mapping[str, Fairness] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the scenario, or of the spec if there is no scenario."""
        return self.spec if self.scenario is None else f"{self.spec}/{self.scenario}"


@dataclass(frozen=True)
class TraceFile:
    """The content of a trace file: origin, violation, and the steps and the lasso as plain JSON."""

    path: Path
    origin: Origin
    property: str
    kind: Kind
    explanation: str
    length: int
    failed_action: dict[str, Any] | None
    steps: list[dict[str, Any]]
    lasso: dict[str, Any]


def fingerprint_of(spec: type[Spec]) -> str:
    """Return the SHA-256 of the source files that define a spec and the specs that it inherits from."""
    digest = hashlib.sha256()
    for file in source_files(spec):
        content = read_data(Path(file))
        digest.update(len(content).to_bytes(8, "big") + content)
    return digest.hexdigest()


def origin_of(spec: Spec, name: str, scenario: str | None, target: str, command: str) -> Origin:
    """Return the origin of traces of a spec with this name; `target` is its name on the command line."""
    fingerprint = fingerprint_of(type(spec))
    return Origin(name, scenario, target, dict(spec.constants), fingerprint, command, tidemark_version(), spec.fairness)


def steps_to_json(spec: Spec, trace: tuple[TraceStep, ...]) -> list[dict[str, Any]]:
    """Return the steps of a trace as JSON objects: `action`, `arguments`, `changed` (paths) and the full `state`."""
    steps = []
    with spec.bound():
        for number, step in enumerate(trace):
            before = trace[number - 1].state if number else None
            changed = [change.path for change in changes(spec, before, step.state)] if before is not None else []
            state = {name: to_plain_json(kind, step.state.values[name]) for name, kind in spec.variables.items()}
            arguments = arguments_to_json(spec, step.action, step.arguments)
            steps.append({"action": step.action, "arguments": arguments, "changed": changed, "state": state})
    return steps


LASSO_KEYS = ("loop_start", "bindings", "owed_since", "fairness")
"""The keys that only a violation of a liveness property has, see `lasso_to_json`."""


def lasso_to_json(spec: Spec, violation: Violation) -> dict[str, Any]:
    """Return the lasso of a liveness violation as JSON, or {} for another violation.

    `loop_start` and `owed_since` are indices of steps, from 0 on. The state of the last step equals the one of
    `loop_start`. `bindings` are the values of the property's parameters, `fairness` the sentences on fair actions.
    """
    if violation.loop_start is None:
        return {}
    parameters = spec.parameters_of(violation.property)
    values = dict(violation.bindings)
    return {
        "loop_start": violation.loop_start,
        "bindings": {each.name: to_plain_json(each.type, values[each.name]) for each in parameters},
        "owed_since": violation.owed_since,
        "fairness": list(violation.fairness),
    }


def arguments_to_json(spec: Spec, action: str | None, arguments: tuple[Any, ...]) -> dict[str, Plain]:
    """Return the arguments of an action as a JSON object by parameter."""
    if action is None or not arguments:
        return {}
    parameters = zip(spec.parameters_of(action), arguments, strict=True)
    return {parameter.name: to_plain_json(parameter.type, argument) for parameter, argument in parameters}


def trace_to_json(spec: Spec, violation: Violation, origin: Origin) -> dict[str, Any]:
    """Return a violation of a spec as the JSON object of a trace file."""
    failed = violation.failed_action
    return {
        "format": FORMAT,
        "version": VERSION,
        "tidemark": origin.tidemark,
        "spec": origin.spec,
        "scenario": origin.scenario,
        "target": origin.target,
        "source_fingerprint": origin.fingerprint,
        "constants": origin.constants,
        "command": origin.command,
        "property": violation.property,
        "kind": violation.kind,
        "explanation": violation.explanation,
        "length": violation.length,
        "steps": steps_to_json(spec, violation.trace),
        "failed_action": failed
        and {"action": failed.action, "arguments": arguments_to_json(spec, failed.action, failed.arguments)},
        "fair": {
            name: {"strength": strength.strength, "for_each": strength.for_each}
            for name, strength in origin.fairness.items()
        },
        **lasso_to_json(spec, violation),
    }


def read_trace(path: Path) -> TraceFile:
    """Read a trace file; raise InputError if it is not one, is truncated, or has an unknown version.

    The content has the form of the schema. `rebuild_violation` and `traces.replay` check what it says.
    """
    try:
        content = parse_json(read_data_text(path))
    except OSError as error:
        raise InputError(f"the trace {path} cannot be read: {error.strerror}") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{path} is not a complete trace file: {_damage_text(error)}") from None
    except RecursionError:
        raise InputError(f"{path} is not a trace file: it is nested too deeply") from None
    except ValueError as error:
        raise InputError(f"{path} is not a trace file: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f'{path} is not a trace: it has no "format": "{FORMAT}"')
    if content.get("version") != VERSION:
        raise InputError(
            f"{path} has version {content.get('version')!r} of the trace format; this program reads {VERSION}"
        )
    wrong = schema_error(read_schema(SCHEMA), content) or _contradiction(content)
    if wrong:
        raise InputError(f"{path} is not a complete trace file: {wrong}")
    return _trace_file(path, content)


def _contradiction(content: dict[str, Any]) -> str | None:
    """Return what a content of the right form says about itself that cannot be; None if there is nothing."""
    steps, is_lasso = content["steps"], content["kind"] == "liveness"
    for number, step in enumerate(steps, 1):
        if (step["action"] is None) != (number == 1):
            return f"step {number} has {'no' if step['action'] is None else 'an'} action"
    for key in LASSO_KEYS:
        if (key in content) != is_lasso:
            return f"{key} is {'missing' if is_lasso else 'for lassos only'}"
    if content["failed_action"] is not None and content["kind"] != "bounds_error":
        return "failed_action is for a bounds_error only"
    if is_lasso and not all(content[key] < len(steps) for key in ("loop_start", "owed_since")):
        return f"loop_start and owed_since must be indices of its {len(steps)} steps"
    return None if _is_command(content["command"]) else "command is not a command of this program"


def _is_command(text: str) -> bool:
    """Return whether a recorded command is safe to paste: words of a shell without any operator, or a Python call.

    `checker.api` records `explore(MySpec(size=3))`.
    """
    if re.fullmatch(r"explore\([\w\s=,.'()-]*\)", text):
        return True
    try:
        words = shlex.split(text)
    except ValueError:
        return False
    return words[:3] == ["python", "-m", "checker"] and shlex.join(words) == text


def _trace_file(path: Path, content: dict[str, Any]) -> TraceFile:
    origin = Origin(
        spec=content["spec"],
        scenario=content["scenario"],
        target=content["target"],
        constants=dict(content["constants"]),
        fingerprint=content["source_fingerprint"],
        command=content["command"],
        tidemark=content["tidemark"],
        # Absent in files that were written before there was fairness.
        fairness={name: Fairness(**given) for name, given in content.get("fair", {}).items()},
    )
    return TraceFile(
        path,
        origin,
        property=content["property"],
        kind=cast(Kind, content["kind"]),
        explanation=content["explanation"],
        length=content["length"],
        failed_action=content["failed_action"],
        steps=[{key: step[key] for key in ("action", "arguments", "state")} for step in content["steps"]],
        lasso={key: content[key] for key in LASSO_KEYS if key in content},
    )


def _damage_text(error: json.JSONDecodeError) -> str:
    """Return the step at which a file stops being JSON, or the position if it is not inside a step."""
    decoder = json.JSONDecoder()
    begin = re.search(r'"steps"\s*:\s*\[', error.doc)
    if begin is None:
        return str(error)
    position, number = begin.end(), 1
    while True:
        position += len(error.doc[position:]) - len(error.doc[position:].lstrip(" \t\r\n,"))
        if error.doc[position : position + 1] == "]":
            return str(error)
        try:
            _, position = decoder.raw_decode(error.doc, position)
        # Also a number of too many digits, and too many arrays within each other.
        except (ValueError, RecursionError):
            is_cut = error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string")
            return f"it {'ends' if is_cut else 'is not valid JSON'} in the middle of step {number}"
        number += 1


def rebuild_violation(file: TraceFile, spec: Spec) -> Violation:
    """Rebuild the violation of a trace file for `spec`; raise InputError if a step does not belong to that spec."""
    trace = tuple(_step(file, spec, number, step) for number, step in enumerate(file.steps, 1))
    failed = file.failed_action and _call(file, spec, len(trace) + 1, file.failed_action)
    return Violation(file.property, file.kind, trace, file.explanation, failed or None, **_lasso(file, spec))


def _lasso(file: TraceFile, spec: Spec) -> dict[str, Any]:
    """Return the parts of a violation that only a lasso has."""
    is_liveness = spec.roles.get(file.property) in LIVENESS_ROLES
    if not file.lasso:
        if is_liveness and file.kind != "bounds_error":
            raise InputError(f"{file.path}: {file.property} is a liveness property, and the kind is {file.kind}")
        return {}
    start, since, given = (file.lasso[key] for key in ("loop_start", "owed_since", "bindings"))
    if not is_liveness:
        raise InputError(f"{file.path}: {file.property} is not a liveness property of {file.origin.spec}")
    try:
        bindings = tuple(
            (each.name, from_plain_json(each.type, given[each.name])) for each in spec.parameters_of(file.property)
        )
    except (KeyError, TypeError, BoundsError):
        raise InputError(f"{file.path}: the bindings of {file.property} cannot be read: {given}") from None
    return dict(loop_start=start, owed_since=since, bindings=bindings, fairness=tuple(file.lasso["fairness"]))


def _step(file: TraceFile, spec: Spec, number: int, step: dict[str, Any]) -> TraceStep:
    call = _call(file, spec, number, step) if step["action"] is not None else None
    state = step["state"]
    if not isinstance(state, dict) or state.keys() != spec.variables.keys():
        raise InputError(
            f"{file.path}, step {number}: the state is not one of {file.origin.spec}: its variables differ"
        )
    values = {}
    with spec.bound():
        for name, kind in spec.variables.items():
            try:
                values[name] = from_plain_json(kind, state[name])
            except BoundsError as error:
                raise InputError(f"{file.path}, step {number}: {name} cannot be read: {error}") from None
        reached_state = spec.state_of(values)
    return TraceStep(None, (), reached_state) if call is None else TraceStep(call.action, call.arguments, reached_state)


def _call(file: TraceFile, spec: Spec, number: int, step: dict[str, Any]) -> ActionCall:
    action, given = step["action"], step["arguments"]
    if action not in [*spec.actions, "init"]:
        raise InputError(f"{file.path}, step {number}: {file.origin.spec} has no action {action}")
    if action == "init":
        return ActionCall(action, ())
    parameters = spec.parameters_of(action)
    try:
        with spec.bound():
            values = tuple(from_plain_json(parameter.type, given[parameter.name]) for parameter in parameters)
            return ActionCall(action, spec.as_called(action, values))
    except (KeyError, TypeError, BoundsError):
        names = ", ".join(parameter.name for parameter in parameters) or "no arguments"
        raise InputError(f"{file.path}, step {number}: {action} takes {names}, not {given}") from None
