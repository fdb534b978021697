"""Counterexamples as trace files, which `show` reads."""

from __future__ import annotations

import json

from checker.output.formats import Counterexample
from traces import trace_file


def write(counterexample: Counterexample) -> str:
    """Return a counterexample as the text of a trace file."""
    content = trace_file.trace_to_json(counterexample.spec, counterexample.violation, counterexample.origin)
    return json.dumps(content, indent=1) + "\n"
