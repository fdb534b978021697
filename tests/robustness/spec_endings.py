"""Specs whose own code raises an exception or ends the program, by the place of the code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

HEAD = """import os, sys
from checker.language import Constant, Domain, Enum, Map, Range, Scenario, Seq, Spec, Struct, action, invariant, require

def self_call(): self_call()
"""

SPEC = """class Mine(Spec):
    x = Range(0, 3)
    @action
    def go(self): self.x = 0
"""

FAILS = """def fails(*arguments):
    {statement}
    return 0

"""

PLACES = {
    "module": "{statement}\n" + SPEC,
    "function of the module": f"{FAILS}fails()\n",
    "class of a spec": f"{SPEC}    {{statement}}\n",
    "class of a struct": "class Pair(Struct):\n    {statement}\n",
    "decorator": f"{FAILS}{SPEC}    @fails\n    def come(self): ...\n",
    "bounds of a type": f"{FAILS}{SPEC}    y = Range(0, fails())\n",
    "value of a constant": f"{FAILS}{SPEC}    n = Constant(fails())\n",
    "attribute of the scenarios": "class Fails:\n    def __getattr__(self, name):\n        {statement}\n\n"
    f"scenarios = Fails()\n{SPEC}",
    "scenarios": f"{FAILS}{SPEC}\nscenarios = [fails()]\n",
    "action": f"{SPEC}    @action\n    def come(self):\n        {{statement}}\n        self.x = 1\n",
    "init": f"{SPEC}    def init(self):\n        {{statement}}\n",
    "invariant": f"{SPEC}    @invariant\n    def fine(self):\n        {{statement}}\n        return True\n",
    "function of an action": f"{FAILS}{SPEC}    @action\n    def come(self): self.x = fails()\n",
}
"""Where the statement is. The text after `HEAD`, with `{statement}` in it."""

STATEMENTS = {
    "SystemExit": "raise SystemExit",
    "SystemExit(0)": "sys.exit(0)",
    "SystemExit(1)": "sys.exit(1)",
    "SystemExit(text)": "sys.exit('all is well')",
    "KeyboardInterrupt": "raise KeyboardInterrupt",
    "GeneratorExit": "raise GeneratorExit",
    "MemoryError": "raise MemoryError",
    "RecursionError": "raise RecursionError('maximum recursion depth exceeded')",
    "endless recursion": "self_call()",
    "ZeroDivisionError": "1 / 0",
    "OSError": "open('/nothing/here')",
    "BrokenPipeError": "raise BrokenPipeError(32, 'Broken pipe')",
    "StopIteration": "raise StopIteration",
    "AssertionError": "assert False, 'a spec says so'",
    "KeyError": "{}['key']",
    "control characters": "raise ValueError('\\x1b[2J\\n::error::x')",
    "surrogates": "raise ValueError('\\ud800')",
    "BaseException": "raise BaseException('base')",
    "exception without text": "raise Exception",
    "ImportError": "import nothing_of_this_name",
    "exception group": "raise ExceptionGroup('g', [ValueError(1), TypeError(2)])",
    "exception whose text fails": "raise type('E', (Exception,), {'__str__': lambda self: 1 / 0})()",
}


@dataclass(frozen=True)
class SpecEnding:
    """A spec whose code ends with an exception in a place."""

    place: str
    raised: str

    def __str__(self) -> str:
        return f"{self.raised} in the {self.place}"

    @property
    def text(self) -> str:
        """The source of the module."""
        return HEAD + PLACES[self.place].replace("{statement}", STATEMENTS[self.raised])


def spec_endings() -> Iterator[SpecEnding]:
    """Yield all exceptions in all places."""
    for place in PLACES:
        for raised in STATEMENTS:
            yield SpecEnding(place, raised)
