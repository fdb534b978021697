"""Validation of recorded events: a mapping translates them to steps, and the validator checks these."""

from traces.validate.events import Found
from traces.validate.mapping import Mapping, Observation, PossibleStep, event

__all__ = ["Found", "Mapping", "Observation", "PossibleStep", "event"]
