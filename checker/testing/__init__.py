"""Specs in tests: `check` explores a spec, `play` takes steps by hand, `state_machine` drives an implementation."""

from checker.testing.adapter import Adapter
from checker.testing.checking import CheckFailed, SpecChecks, check
from checker.testing.machine import state_machine
from checker.testing.playing import is_enabled, play, state_with

__all__ = ["Adapter", "CheckFailed", "SpecChecks", "check", "is_enabled", "play", "state_machine", "state_with"]
