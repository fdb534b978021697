"""Specs in tests: `check` explores one, `state_machine` drives an implementation along one."""

from checker.testing.adapter import Adapter
from checker.testing.checking import CheckFailed, Checking, check
from checker.testing.machine import state_machine

__all__ = ["Adapter", "CheckFailed", "Checking", "check", "state_machine"]
