"""Recorded events held against a spec: a mapping says what an event means, the validator whether the spec can do it."""

from traces.validate.mapping import Found, Mapping, Observation, PossibleStep, event

__all__ = ["Found", "Mapping", "Observation", "PossibleStep", "event"]
