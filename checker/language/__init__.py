"""The language that specs are written in; docs/language.md describes all of it."""

from enum import Enum

from checker.errors import Disabled
from checker.language.declarations import Bag, Constant, Domain, Map, Option, Range, Seq, SetOf, Struct, replace
from checker.language.drawing import Arrow, Channel, Drawing, Lane, Log
from checker.language.interpreter import State, Step
from checker.language.spec import (
    Bug,
    Scenario,
    Spec,
    action,
    constraint,
    implies,
    invariant,
    lemma,
    reachable,
    require,
    step_invariant,
)
from checker.language.types import BoundsError

__all__ = [
    "Arrow",
    "Bag",
    "BoundsError",
    "Bug",
    "Channel",
    "Constant",
    "Disabled",
    "Domain",
    "Drawing",
    "Enum",
    "Lane",
    "Log",
    "Map",
    "Option",
    "Range",
    "Scenario",
    "Seq",
    "SetOf",
    "Spec",
    "SpecError",
    "State",
    "Step",
    "Struct",
    "action",
    "constraint",
    "implies",
    "invariant",
    "lemma",
    "reachable",
    "replace",
    "require",
    "step_invariant",
]
