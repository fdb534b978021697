"""Validation of recorded events: a mapping translates them to steps, and the validator checks these."""

from traces.validate.mapping import Found, Mapping, Observation, PossibleStep, event

__all__ = ["Found", "Mapping", "Observation", "PossibleStep", "event"]
