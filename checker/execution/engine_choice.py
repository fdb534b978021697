"""The engines that explore on this machine, by name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from checker.errors import MissingExtraError
from checker.language.spec import Spec
from checker.run.plan import Plan
from checker.run.registered_functions import function_on_spark
from checker.run.result import Result
from traces.storage import Location, RemotePath

EngineName = Literal["native", "python", "both", "spark", "gpu"]

_DEVICE = Path("/dev/nvidia0")
"""The first card of NVIDIA, if its driver is loaded."""

Explore = Callable[[Spec, Plan], Result]
"""Explores a spec as planned; raises UserError if the spec is wrong or outside the language."""


def engine_named(name: EngineName, *, evidence: bool = False) -> Explore:
    """Return the `explore` of an engine, which is imported only now; raise MissingExtraError if it is not installed.

    `evidence`: complete explorations also report findings. The Spark engine is not here: it needs a session.
    """
    try:
        if name == "python":
            if evidence:
                from checker.evidence import interpreted_evidence

                return interpreted_evidence.explore
            from checker.engines.python import explorer

            return explorer.explore
        if name == "both":
            from checker.engines import both

            return functools.partial(both.explore, explore_natively=engine_named("native", evidence=evidence))
        if name == "gpu":
            from checker.engines.gpu import engine as on_card

            return on_card.explore
        if evidence:
            from checker.evidence import native_evidence

            return native_evidence.explore
        from checker.engines.native import engine

        return engine.explore
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"the {name} engine needs {error.name}, which is not installed: install it, or use --engine python"
        ) from None


def faster_engine(name: EngineName) -> str:
    """Return a sentence about the engine that explores faster on this machine than the named one; "" if none does."""
    if name != "native" or not _DEVICE.exists():
        return ""
    return "this machine has an NVIDIA card: --engine gpu may take seconds for this, without liveness properties"


def native_engine_for_group(wanted: Sequence[tuple[Spec, Sequence[str]]]) -> Explore:
    """Return the `explore` of the native engine for specs of one class, which share code as far as they can.

    `wanted`: each spec, with the properties that are searched.
    """
    engine_named("native")
    from checker.engines.native import engine
    from checker.engines.native.cache.shared_lowering import SharedLowering

    return functools.partial(engine.explore, lowering=SharedLowering(wanted).lowered)


def groups_with_shared_code(wanted: Sequence[tuple[Spec, Sequence[str]]]) -> list[list[int]]:
    """Return the positions of specs in groups that `native_engine_for_group` may be given."""
    from checker.engines.native.cache.shared_lowering import groups

    return groups(wanted)


def has_checkpoint(folder: Location, name: EngineName) -> bool:
    """Return whether a folder holds a checkpoint of an engine."""
    if name == "spark":
        return bool(function_on_spark("has_checkpoint")(folder))
    from checker.engines.native.explore import checkpoint

    return not isinstance(folder, RemotePath) and checkpoint.has_checkpoint(folder)
