"""The language of specs. docs/language.md describes it."""

from enum import Enum

from checker.errors import BoundsError, Disabled, SpecError
from checker.language.choices import choose, subsets
from checker.language.declarations import Bag, Constant, Map, OneOf, Option, PartialMap, Seq, SetOf
from checker.language.declared_types import Domain, Range, Struct, replace
from checker.language.drawing import Arrow, Channel, Drawing, Event, Lane, Log
from checker.language.fairness import Fairness, FairUnion
from checker.language.interpreter import State, Step
from checker.language.refinement import Refinement
from checker.language.roles import (
    action,
    always_eventually,
    assume,
    constraint,
    eventually,
    eventually_always,
    implies,
    invariant,
    leads_to,
    lemma,
    reachable,
    require,
    step_invariant,
    view,
)
from checker.language.spec import Bug, Scenario, Spec

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
    "Event",
    "FairUnion",
    "Fairness",
    "Lane",
    "Log",
    "Map",
    "OneOf",
    "Option",
    "PartialMap",
    "Range",
    "Refinement",
    "Scenario",
    "Seq",
    "SetOf",
    "Spec",
    "SpecError",
    "State",
    "Step",
    "Struct",
    "action",
    "always_eventually",
    "assume",
    "choose",
    "constraint",
    "eventually",
    "eventually_always",
    "implies",
    "invariant",
    "leads_to",
    "lemma",
    "reachable",
    "replace",
    "require",
    "step_invariant",
    "subsets",
    "view",
]
