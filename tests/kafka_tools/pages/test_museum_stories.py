"""Every counterexample of the museum shows its cause: each failure has a sentence, in the lane where it happens."""

import ast
import functools
import inspect
import re
import textwrap

import pytest

from checker.explain.step_sentences import describe_steps, short_story
from checker.language.roles import Role
from checker.output.page.chart import chart
from checker.output.page.chart_parts import MOST_WIDTH
from checker.run import registry
from kafka_tools.pages.museum.entries import exhibits
from kafka_tools.pages.museum.named_entries import story_of
from kafka_tools.pages.scenario_runs import run_scenario
from specs.consumer.commits import PollLoop
from specs.consumer.group import ConsumerGroup
from specs.consumer.offsets import OffsetExpiry, RecordDeletion
from specs.pipeline.pipeline import Pipeline
from specs.transactions.transactional_producer import Transactions
from specs.transactions.two_phase_commit import TwoPhaseCommit

NO_FAILURES = {"batches_left", "end_offset", "generation", "lookups_left", "next_record_id", "updates_left"}
"""Bounded variables that count what happens without any failure."""

STATE_CHANGE = re.compile(r" [+-] |other changes")
"""A difference between two states as a sentence: `queued + 1`, `7 other changes`."""


@functools.cache
def budgets(method):
    """Return the variables whose budget a method uses up: `self.crashes_left -= 1`, `self.restarts += 1`."""
    source = textwrap.dedent(inspect.getsource(method))
    changed = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.AugAssign)]
    used = set()
    for node in changed:
        target = node.target.value if isinstance(node.target, ast.Subscript) else node.target
        if isinstance(target, ast.Attribute):
            takes = isinstance(node.op, ast.Sub) and target.attr.endswith("_left")
            counts = isinstance(node.op, ast.Add) and re.search(rf"self\.{target.attr} < self\.max_", source)
            used |= {target.attr} if takes or counts else set()
    return frozenset(used - NO_FAILURES)


def specs():
    """Yield an instance of each class of specs that a scenario explores."""
    seen = set()
    for entry in (entry for family in registry.families() for entry in family.entries):
        for spec in (entry.spec(), *(scenario.configured_spec() for scenario in entry.scenarios)):
            if type(spec) not in seen:
                seen.add(type(spec))
                yield spec


def test_an_action_that_uses_up_a_failure_budget_has_a_sentence_and_a_lane():
    counted, missing = 0, set()
    for spec in specs():
        for action in spec.names_of(Role.ACTION):
            used = budgets(getattr(type(spec), action))
            counted += bool(used)
            declared = spec.draws.event_of(action) if used and spec.draws is not None else None
            if used and (declared is None or not declared.at or not declared.says):
                missing.add(f"{type(spec).__name__}.{action}: {', '.join(used)}")
    assert counted > 200
    assert not missing


def test_a_budget_is_recognised():
    assert budgets(Pipeline.consumer_crash) == {"consumer_crashes_left"}
    assert not budgets(Pipeline.leader_append)


MODELS = [Pipeline, PollLoop, ConsumerGroup, OffsetExpiry, RecordDeletion, Transactions, TwoPhaseCommit]
"""The specs that `advise` explores."""


@pytest.mark.parametrize("model", MODELS, ids=lambda each: each.__name__)
def test_every_action_of_a_model_of_advise_has_a_sentence(model):
    spec = model()
    assert [name for name in spec.names_of(Role.ACTION) if not spec.draws.event_of(name).says] == []


@functools.cache
def violations():
    """Return the counterexamples of the museum: the spec of each, and the violation."""
    scenarios = {}
    for exhibit in exhibits():
        for given in (exhibit.shown_by, *exhibit.further):
            if given is not None and given.violates:
                scenarios[given.target] = given.scenario
    return [
        (target, scenario.configured_spec(), violation)
        for target, scenario in scenarios.items()
        for violation in run_scenario(target).result.violations
        if violation.trace
    ]


@pytest.mark.slow
def test_every_failure_is_in_the_story():
    assert len(violations()) > 200
    for target, spec, violation in violations():
        shown = {sentence.number for sentence in short_story(spec, violation)}
        assert shown, target
        for before, (sentence, event) in enumerate(describe_steps(spec, violation.trace, violation.failed_action), -1):
            if event is None:
                continue
            states = [violation.trace[at].state.values for at in (before, before + 1)]
            used = budgets(getattr(type(spec), event.action))
            is_failure = any(states[0][name] != states[1][name] for name in used) or event.kind
            assert not is_failure or sentence.number in shown, f"{target}: {sentence}"


@pytest.mark.slow
def test_no_sentence_is_a_difference_of_states():
    for target, spec, violation in violations():
        for sentence, _ in describe_steps(spec, violation.trace, violation.failed_action):
            assert not STATE_CHANGE.search(sentence.text), f"{target}: {sentence}"
            assert not re.search(r"refuses.*sequence (\d+):.* expects \1\b", sentence.text), f"{target}: {sentence}"


@pytest.mark.slow
def test_what_was_observed_is_a_sentence():
    for target, _, violation in violations():
        words = re.sub(r"[{\[(].*[}\])]", "", violation.explanation.partition("\n")[0])
        assert len(re.findall(r"\b[a-z]{2,}\b", words)) > 1, f"{target}: {violation.explanation}"


def test_what_was_expected_begins_without_a_keyword():
    properties = {(type(spec), name) for spec in specs() for name, role in spec.roles.items() if role != Role.ACTION}
    assert len(properties) > 400
    for spec, name in properties:
        assert not re.match("[A-Z]{3,}:", inspect.getdoc(getattr(spec, name)) or ""), f"{spec.__name__}.{name}"


@pytest.mark.slow
def test_every_step_of_the_museum_is_in_a_lane_on_the_screen():
    for target, spec, violation in violations():
        drawn = chart(spec, violation.trace, violation)
        assert drawn.least_width <= MOST_WIDTH, target
        heights = {node.y for node in drawn.nodes if node.is_event}
        steps = describe_steps(spec, violation.trace, violation.failed_action)
        for row, (sentence, event) in zip(drawn.rows, steps, strict=True):
            assert event is None or row.y in heights, f"{target}: {sentence}"


def test_a_page_begins_with_the_entry_that_its_scenario_shows():
    lines = story_of("producer/idempotent_producer/i7_restart")
    assert lines[0].startswith("I7: ")
    assert {"needs", "remedy", "releases"} <= {line.split()[0] for line in lines if line.startswith(" ")}
    assert story_of("producer/idempotent_producer/i7_fixed_whole_cache") == story_of("own/spec/i7_restart") == []
