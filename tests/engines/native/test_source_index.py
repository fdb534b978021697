"""A spec that did not change is not compiled again, and one that changed is."""

import json
import linecache
import os
import subprocess
import sys
from pathlib import Path

import pytest

from checker import frontend
from checker.engines.native import engine
from checker.engines.native.llvm import code_cache
from checker.language import source_digest
from checker.run import command_process, registry
from checker.run.plan import Plan

ROOT = Path(__file__).parents[3]

SPEC = """
from checker.language import Constant, Range, Spec, action, invariant
from limits_of_counter import LIMIT


class Counter(Spec):
    most = Constant(5)
    x = Range(0, 9)

    @action
    def go(self):
        self.x = min(self.x + 1, LIMIT)

    @invariant
    def small(self):
        return self.x <= 3

    @invariant
    def below_most(self):
        return self.x <= self.most
"""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Use an empty cache, and let all files count as older than the process."""
    monkeypatch.setenv(code_cache.VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(source_digest, "PROCESS_START", 2**63)
    monkeypatch.setattr("checker.engines.native.cache.source_index.PROCESS_START", 2**63)
    monkeypatch.setattr(command_process, "_is_command", True)
    return tmp_path / "cache"


@pytest.fixture
def compiled(monkeypatch):
    """Return the list of the specs that the front end typed."""
    specs = []
    typed = frontend.compile_spec
    monkeypatch.setattr(frontend, "compile_spec", lambda spec, *more: specs.append(spec) or typed(spec, *more))
    return specs


@pytest.fixture
def explored(tmp_path, monkeypatch):
    """Return a function that writes the spec, explores it as a new process would, and returns the result."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def explore(text=SPEC, limit="LIMIT = 3\n", properties=("small",), quick=False, **constants):
        (tmp_path / "counter.py").write_text(text)
        (tmp_path / "limits_of_counter.py").write_text(limit)
        sys.modules.pop("limits_of_counter", None)
        linecache.clearcache()
        spec = registry.load_file(tmp_path / "counter.py").entries[0].spec
        plan = Plan(properties=properties)
        plan.quick = quick
        return engine.explore(spec(**constants), plan)

    yield explore
    sys.modules.pop("limits_of_counter", None)


def test_an_unchanged_spec_is_compiled_once(explored, compiled):
    first, second = explored(), explored()
    assert len(compiled) == 1
    assert (first.distinct_states, first.levels) == (second.distinct_states, second.levels) == (4, (1, 1, 1, 1))
    assert first.violations == second.violations == []


@pytest.mark.parametrize(
    "change",
    [
        dict(text=SPEC.replace("self.x <= 3", "self.x <= 2")),
        dict(limit="LIMIT = 4\n"),
        dict(limit="def limit(): return 4\n\n\nLIMIT = limit()\n"),
        dict(properties=("small", "below_most"), most=2),
    ],
)
def test_a_changed_spec_is_compiled_again(explored, compiled, change):
    assert explored().violations == []
    assert len(explored(**change).violations) == 1
    assert len(compiled) == 2


def test_optimised_code_is_used_if_it_is_known(explored, compiled):
    explored(quick=True)
    explored(quick=True)
    assert len(compiled) == 1
    explored()
    explored(quick=True)
    assert len(compiled) == 2


def test_without_a_cache_every_run_compiles(explored, compiled, monkeypatch):
    monkeypatch.setenv(code_cache.VARIABLE, code_cache.OFF)
    explored()
    explored()
    assert len(compiled) == 2


def test_a_process_that_may_have_replaced_a_part_of_the_checker_indexes_nothing(explored, compiled, monkeypatch):
    monkeypatch.setattr(command_process, "_is_command", False)
    explored()
    explored()
    assert len(compiled) == 2


@pytest.mark.parametrize("module", ["checker.language.source_digest", "checker.engines.native.cache.source_index"])
def test_sources_that_changed_after_the_process_began_are_not_indexed(explored, compiled, monkeypatch, module):
    monkeypatch.setattr(f"{module}.PROCESS_START", 0)
    explored()
    explored()
    assert len(compiled) == 2


def test_sources_that_change_while_the_spec_is_compiled_are_not_indexed(explored, compiled, monkeypatch):
    typed = frontend.compile_spec

    def edited(spec, *more):
        program = typed(spec, *more)
        monkeypatch.setattr(source_digest, "PROCESS_START", 0)
        return program

    monkeypatch.setattr(frontend, "compile_spec", edited)
    explored()
    monkeypatch.setattr(source_digest, "PROCESS_START", 2**63)
    explored()
    assert len(compiled) == 2


def test_a_file_that_is_written_while_the_spec_is_compiled_is_seen_although_digests_are_kept(
    explored, compiled, monkeypatch, tmp_path
):
    typed = frontend.compile_spec

    def written(spec, *more):
        (tmp_path / "counter.py").write_text(SPEC + "# written again\n")
        return typed(spec, *more)

    monkeypatch.setattr(frontend, "compile_spec", written)
    with source_digest.digests_kept():
        explored()
    explored()
    assert len(compiled) == 2


def test_an_entry_that_does_not_fit_the_spec_is_not_used(explored, compiled, cache):
    explored()
    entries = {path: path.read_bytes()[32:] for path in cache.iterdir()}
    [(path, content)] = [(path, content) for path, content in entries.items() if content.startswith(b"{")]
    code_cache.store(path.stem, json.dumps(json.loads(content) | {"instances": 2}).encode())
    assert explored().distinct_states == 4
    assert len(compiled) == 2


def test_an_entry_whose_code_was_removed_is_not_used(explored, compiled, cache):
    explored()
    for path in cache.iterdir():
        if not path.read_bytes()[32:].startswith(b"{"):
            path.unlink()
    explored()
    explored()
    assert len(compiled) == 2


COMPILER = (
    "checker.frontend",
    "checker.ir",
    "checker.engines.native.explore.kernel_definitions",
    "checker.engines.native.explore.compact",
    "checker.engines.native.lowering.emitter",
)
"""The modules that only a run without the machine code of its spec needs."""


def test_a_command_imports_no_numpy_and_a_second_one_no_compiler(tmp_path):
    script = (
        "import sys; from checker.__main__ import main; main(); "
        f"print(*(name for name in sys.modules if name.startswith({(*COMPILER, 'numpy')})), file=sys.stderr)"
    )
    environment = os.environ | {code_cache.VARIABLE: str(tmp_path / "cache")}
    command = [sys.executable, "-c", script, "run", "examples/peterson"]
    runs = [
        subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True) for _ in range(2)
    ]
    imported = set(runs[0].stderr.split())
    assert {"checker.frontend.program", "checker.engines.native.explore.kernel_definitions"} <= imported
    assert "numpy" not in imported
    assert runs[1].stderr.split() == []
    assert "20 distinct states" in runs[0].stdout and "20 distinct states" in runs[1].stdout
