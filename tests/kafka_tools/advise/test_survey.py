"""The rules that save explorations, compared with separate explorations; and the cache."""

import json
import os
import threading
from pathlib import Path

import pytest

from checker.engines.native.engine import explore, explore_compiled
from checker.run.plan import Plan
from kafka_tools.advise import pipeline_code
from kafka_tools.advise.advice import answer_questions
from kafka_tools.advise.answer_cache import MOST_ENTRIES, AnswerCache, default_folder, source_digest
from kafka_tools.advise.availability import availability_of
from kafka_tools.advise.cluster import gather
from kafka_tools.advise.effective_config import resolve
from kafka_tools.advise.explorer import ParallelExplorer
from kafka_tools.advise.models import SLOW_FOLLOWERS, Model, constants_of, constants_with_failures, includes
from kafka_tools.advise.pipeline_code import code_for, without_code
from kafka_tools.advise.questions import FAILURES, QUESTIONS, properties_for
from kafka_tools.advise.remedy_search import advise
from kafka_tools.advise.survey import ModelExploration, ModelExplorer, Survey, explorations_of, explorer_of, run
from kafka_tools.advise.written_settings import ConfigurationFile, WrittenSetting
from specs.pipeline.pipeline import Pipeline

NEVER = threading.Event()
BY_SLUG = {failure.slug: failure for failure in FAILURES}
LOSS, DUPLICATES = "no_acked_loss", "no_duplicate"


def cluster(version="4.1.0", replicas=2, **given):
    """Return a cluster with a Java producer and a topic; dots of names are written as underscores."""
    files = {"producer": [], "topic": [], "consumer": [], "broker": []}
    for name, value in given.items():
        role, _, rest = name.partition("_")
        files[role].append(WrittenSetting(rest.replace("_", "."), value, "f", 1))
    found = gather([ConfigurationFile("f", {role: tuple(settings) for role, settings in files.items()})], version)
    return found.changed("topic", "replication.factor", str(replicas))


def model_of_pipeline(found, config):
    return Model(Pipeline, tuple(constants_of(found, config, with_consumer=False).items()))


def explore_here(asked):
    return iter([run(survey, None, NEVER, lambda explorer, one: explorer.explore(one, NEVER)) for survey in asked])


FEW = [BY_SLUG["crash"], BY_SLUG["power-loss"], BY_SLUG["crash-and-power-loss"]]


def compare_with_separate_explorations(configuration, failures, questions):
    """Compare each answer with an exploration of its failure alone, to the end and without symmetry."""
    advice = answer_questions(configuration, explore_here, failures, questions)
    answers = {(answer.question, answer.failure): answer for answer in advice.answers}
    for of_consumer, failure in {(question.of_consumer, failure) for question, failure in answers}:
        if failure.of_consumer_group:
            continue
        asked = [q for q, f in answers if f == failure and q.of_consumer is of_consumer]
        constants = constants_of(configuration, resolve(configuration), with_consumer=of_consumer)
        spec = Pipeline(**constants_with_failures({**constants, **dict(failure.overrides)}, failure.left))
        model = Model(Pipeline, ())
        names = tuple(name for question in asked for name in properties_for(question, failure, model))
        result = explore(spec, Plan(names, stop="all", quick=True))
        assert result.ended == "complete"
        lengths = {violation.property: violation.length for violation in result.violations}
        for question in asked:
            answer = answers[question, failure]
            found = [lengths[name] for name in properties_for(question, failure, model) if name in lengths]
            assert answer.verdict in (("yes",) if found else ("no", "known"))
            if answer.violation is not None and answer.exploration.left == failure.left:
                assert answer.violation.length == min(found)


def test_shared_explorations_answer_as_separate_ones():
    compare_with_separate_explorations(cluster(topic_min_insync_replicas="2"), FEW, QUESTIONS[:3])


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "configuration",
    [
        cluster(producer_acks="1"),
        cluster(topic_min_insync_replicas="2", consumer_enable_auto_commit="false"),
        cluster("3.7.0", 3, topic_min_insync_replicas="2"),
        cluster("3.2.0", 3, topic_unclean_leader_election_enable="true"),
        cluster("4.1.0", 3, broker_eligible_leader_replicas_version="1"),
        cluster("4.1.0", 3, topic_min_insync_replicas="2", broker_eligible_leader_replicas_version="1"),
    ],
)
def test_all_shared_explorations_answer_as_separate_ones(configuration):
    compare_with_separate_explorations(configuration, FAILURES, QUESTIONS)


@pytest.mark.parametrize(("in_flight", "is_optimised"), [("5", True), ("1", False)])
def test_a_long_search_gets_optimised_code_at_once_where_states_are_many(in_flight, is_optimised, monkeypatch):
    chosen = {}
    monkeypatch.setattr(pipeline_code, "compile_shared_code", lambda *_, **given: chosen.update(given))
    given = cluster(producer_max_in_flight_requests_per_connection=in_flight)
    spec = Pipeline(**constants_of(given, resolve(given), with_consumer=False))
    pipeline_code.compile_code(spec, for_many=True)
    assert chosen["quick"] is not is_optimised
    pipeline_code.compile_code(spec)
    assert chosen["quick"]


@pytest.mark.parametrize("with_consumer", [False, True])
def test_settings_share_the_machine_code(with_consumer, monkeypatch):
    # Earlier tests of this process may have compiled other sizes.
    monkeypatch.setattr(pipeline_code, "_codes", [])

    def spec(**given):
        found = cluster(**given)
        return Pipeline(**constants_of(found, resolve(found), with_consumer=with_consumer))

    known = code_for(spec())
    changed = [
        spec(producer_acks="1"),
        spec(producer_acks="0", producer_retries="0"),
        spec(topic_min_insync_replicas="2", broker_eligible_leader_replicas_version="1"),
        spec(topic_unclean_leader_election_enable="true", topic_flush_messages="1"),
        spec(version="3.2.0", consumer_enable_auto_commit="false", consumer_auto_offset_reset="earliest"),
    ]
    assert all(code_for(each) is known for each in changed)
    assert without_code(changed) == []
    larger = [spec(replicas=4), spec(replicas=4, producer_acks="1"), spec(replicas=5)]
    assert without_code(larger) == [larger[0], larger[2]]
    assert code_for(spec(producer_max_in_flight_requests_per_connection="1")) is known


def test_code_for_several_requests_in_flight_explores_as_that_for_one(monkeypatch):
    monkeypatch.setattr(pipeline_code, "_codes", [])
    given = [
        cluster(producer_max_in_flight_requests_per_connection="1", producer_enable_idempotence=is_idempotent)
        for is_idempotent in ("true", "false")
    ]
    models = [model_of_pipeline(each, resolve(each)) for each in given]
    specs = [explorer_of(model).spec for model in models]
    (wide,) = without_code([*specs, type(specs[0])(**{**specs[0].constants, "max_in_flight": 3})])
    narrow = pipeline_code.compile_code(specs[0])
    shared = code_for(wide)
    assert without_code(specs) == [] and not narrow.serves(wide) and all(map(narrow.serves, specs))
    names = (LOSS, "no_duplicate", "no_reorder", "no_missing_earlier", "no_endless_retry")
    for spec, model in zip(specs, models, strict=True):
        for failure in ("two-crashes", "crash-and-power-loss", "lost-response", "producer-restart"):
            initial = [explorer_of(model).initial(BY_SLUG[failure].left)]
            one, other = (
                explore_compiled(code.loaded(spec), Plan(names, "all", quick=True), initial, 0.0)[0]
                for code in (narrow, shared)
            )
            assert one.ended == other.ended == "complete" and one.levels == other.levels
            lengths = [{each.property: each.length for each in result.violations} for result in (one, other)]
            assert lengths[0] == lengths[1]


def test_a_counterexample_to_a_smaller_failure_answers_a_larger_one():
    advice = answer_questions(cluster(producer_acks="1"), explore_here, FAILURES, QUESTIONS[:1])
    by_failure = {answer.failure.slug: answer for answer in advice.answers}
    crash, both = by_failure["crash"], by_failure["crash-and-power-loss"]
    assert both.verdict == crash.verdict == "yes"
    assert both.exploration == crash.exploration
    assert ModelExplorer(both.exploration.model).replay(both.failure.left, crash.violation.trace, LOSS)


def test_inclusion_of_failures():
    assert includes(BY_SLUG["two-crashes"].left, BY_SLUG["crash"].left)
    assert includes(BY_SLUG["crash"].left, BY_SLUG["slow-follower"].left)
    assert not includes(BY_SLUG["two-crashes"].left, BY_SLUG["power-loss"].left)
    assert not includes(BY_SLUG["crash"].left, BY_SLUG["two-crashes"].left)


def test_constants_that_a_failure_does_not_read_change_no_exploration():
    """The states are as many with either value after each failure of the rule, and differ after another one."""
    sizes = {"records": 1, "replication_factor": 2, "consumer": "commits_last", "consumer_crashes": 1, "blackouts": 1}
    values = {"flushes": (False, True), "auto_offset_reset": ("latest", "earliest")}
    same, other = set(), set()
    for failure in ("leader_moves", "broker_crashes", "power_failures", "blackouts", "consumer_crashes"):
        left = ((f"{failure}_left", 1),)
        for name, given in values.items():
            constants = {**dict(model_of_pipeline(cluster(), resolve(cluster())).constants), **sizes}
            models = [Model(Pipeline, tuple({**constants, name: value}.items())) for value in given]
            names = ("no_gap", "reads_are_stable")
            asked = [ModelExploration(model, left, names, names, None) for model in models]
            found = [ModelExplorer(one.model).explore(one, NEVER) for one in asked]
            outcomes = {(each.distinct_states, tuple(v.property for v in each.violations)) for each in found}
            is_same = models[0].behaves_as(models[1], left)
            assert not is_same or len(outcomes) == 1
            (same if is_same else other).add((name, failure))
            assert is_same or len(outcomes) == 2
    assert len(same) == 7 and len(other) == 3
    replicas = [Model(Pipeline, (("replication_factor", number),)) for number in (2, 3)]
    assert not replicas[0].behaves_as(replicas[1], ())


def test_an_exploration_checks_what_can_answer_a_later_question():
    crash, both, move = (BY_SLUG[slug].left for slug in ("crash", "crash-and-power-loss", "leader-change"))
    asked = ((crash, (LOSS,)), (move, ("no_reorder",)), (both, (LOSS, DUPLICATES)))
    model = model_of_pipeline(cluster(), resolve(cluster()))
    first = next(explorations_of(Survey(model, asked), None, []))
    assert first.wanted == (LOSS,) and first.checked == (LOSS, DUPLICATES)
    noted = next(explorations_of(Survey(model, asked, noted=("no_reorder",)), None, []))
    assert noted.checked == ("no_reorder", LOSS, DUPLICATES)


def test_an_exploration_ends_when_all_that_is_wanted_is_violated():
    model = model_of_pipeline(cluster(), resolve(cluster(producer_acks="1")))
    left = BY_SLUG["crash"].left
    explorer = ModelExplorer(model)
    short = explorer.explore(ModelExploration(model, left, (LOSS, DUPLICATES), (LOSS,), None), NEVER)
    whole = explorer.explore(ModelExploration(model, BY_SLUG["slow-follower"].left, (LOSS,), (LOSS,), None), NEVER)
    assert (short.ended, whole.ended) == ("violation", "complete")
    assert short.violation(LOSS).length == 6


# Remedies.


@pytest.mark.slow
def test_every_remedy_was_explored_with_its_changes():
    asked = []

    def recording(surveys):
        asked.extend(surveys)
        return explore_here(surveys)

    start = cluster("3.7.0", 3, producer_acks="1", topic_min_insync_replicas="2")
    failures = [BY_SLUG["crash"], BY_SLUG["power-loss"], BY_SLUG["lost-response"]]
    advice = advise(start, recording, failures=failures, questions=QUESTIONS[:3])
    assert advice.remedies
    explored = {(survey.model, left, name) for survey in asked for left, names in survey.asked for name in names}
    for remedy in advice.remedies:
        changed = start
        for change in remedy.changes:
            changed = changed.changed(change.role, change.name, change.value)
        again = answer_questions(changed, explore_here, failures, QUESTIONS[:3])
        for fix in remedy.fixes:
            constants = constants_of(changed, resolve(changed), with_consumer=fix.question.of_consumer)
            model = Model(Pipeline, tuple(constants.items()))
            for failure in fix.failures:
                assert advice.answer(fix.question, failure).verdict == "yes"
                # An entry that needs more than the failure may remain.
                after = again.answer(fix.question, failure)
                is_rarer = after.verdict == "known" and all(hazard.is_rare for hazard in after.hazards)
                assert after.verdict == "no" or is_rarer
                assert all((model, failure.left, name) in explored for name in fix.question.properties)


@pytest.mark.parametrize("acks", ["1", "all"])
@pytest.mark.parametrize(("replicas", "in_sync"), [(1, "1"), (2, "1"), (2, "2"), (3, "2"), (3, "3"), (2, "3")])
@pytest.mark.parametrize("version", ["3.2.0", "4.1.0"])
@pytest.mark.slow
def test_availability_is_that_of_the_pipeline(version, replicas, in_sync, acks):
    found = cluster(version, replicas, producer_acks=acks, topic_min_insync_replicas=in_sync)
    constants = constants_of(found, resolve(found), with_consumer=False)
    spec = Pipeline(**constants_with_failures({**constants, "records": 1}, BY_SLUG["two-crashes"].left))
    names = ("writes_with_one_broker_down", "writes_with_two_brokers_down")
    reached = explore(spec, Plan(names, stop="all", quick=True)).reached
    available = availability_of(found, resolve(found))
    assert (available.with_one_down, available.with_two_down) == tuple(name in reached for name in names)


def test_with_acks_0_writes_succeed_while_a_broker_lives():
    found = cluster(replicas=3, producer_acks="0")
    available = availability_of(found, resolve(found))
    assert available.with_one_down and available.with_two_down


# The cache.


def entry(acks="1", failure="crash"):
    found = cluster(producer_acks=acks)
    model = model_of_pipeline(found, resolve(found))
    explorer = ModelExplorer(model)
    return explorer, ModelExploration(model, BY_SLUG[failure].left, (LOSS, DUPLICATES), (LOSS, DUPLICATES), None)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache" / "advise"


@pytest.mark.parametrize(("acks", "failure"), [("1", "crash"), ("all", "crash"), ("all", "producer-restart")])
def test_a_cached_answer_is_the_computed_one(folder, acks, failure):
    explorer, asked = entry(acks, failure)
    cache = AnswerCache(folder)
    assert cache.load(explorer, asked) is None
    computed = explorer.explore(asked, NEVER)
    cache.store(explorer, asked, computed)
    assert AnswerCache(folder).load(explorer, asked) == computed
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in folder.iterdir()] == [0o600]


def test_another_request_or_source_is_not_answered(folder):
    explorer, asked = entry()
    AnswerCache(folder).store(explorer, asked, explorer.explore(asked, NEVER))
    assert AnswerCache(folder).load(explorer, asked) is not None
    assert AnswerCache(folder, "other source").load(explorer, asked) is None
    other, its_question = entry("all")
    assert AnswerCache(folder).load(other, its_question) is None
    assert len(source_digest()) == 64


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: "[" * 100_000,
        lambda text: "null",
        lambda text: text.replace('"distinct_states": ', '"distinct_states": 1'),
        lambda text: text.replace("leader_acknowledge", "application_send"),
        lambda text: text.replace('"violation"', '"complete"'),
    ],
)
def test_a_damaged_entry_is_ignored_and_replaced(folder, damage):
    explorer, asked = entry()
    cache = AnswerCache(folder)
    computed = explorer.explore(asked, NEVER)
    cache.store(explorer, asked, computed)
    (path,) = folder.iterdir()
    damaged = damage(path.read_text())
    assert damaged != path.read_text()
    path.write_text(damaged)
    assert cache.load(explorer, asked) is None
    cache.store(explorer, asked, computed)
    assert cache.load(explorer, asked) == computed


def test_an_entry_whose_counterexample_is_none_is_ignored(folder):
    """Also if its digest is right: the interpreter replays every counterexample."""
    explorer, asked = entry()
    cache = AnswerCache(folder)
    cache.store(explorer, asked, explorer.explore(asked, NEVER))
    (path,) = folder.iterdir()
    content = json.loads(path.read_text())
    content["result"]["violations"][LOSS] = [["application_send", {}]]
    from kafka_tools.advise import answer_cache

    content["digest"] = answer_cache._digest([content["request"], content["result"]])
    path.write_text(json.dumps(content))
    assert cache.load(explorer, asked) is None


def test_an_unfinished_exploration_is_not_stored(folder):
    explorer, asked = entry()
    limited = ModelExploration(asked.model, asked.left, asked.checked, asked.wanted, 100)
    explored = explorer.explore(limited, NEVER)
    assert explored.ended == "max_states"
    AnswerCache(folder).store(explorer, limited, explored)
    assert list(folder.iterdir()) == []


def test_a_folder_that_others_can_access_is_not_used(folder):
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    explorer, asked = entry()
    computed = explorer.explore(asked, NEVER)
    AnswerCache(folder).store(explorer, asked, computed)
    assert list(folder.iterdir()) == []
    (folder.parent / "file").touch()
    for unusable in (folder.parent / "file", folder.parent / "file" / "below"):
        AnswerCache(unusable).store(explorer, asked, computed)
        assert AnswerCache(unusable).load(explorer, asked) is None


@pytest.mark.parametrize(
    ("platform", "given", "wanted"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/tidemark/advise"),
        ("linux", {"HOME": "/h"}, "/h/.cache/tidemark/advise"),
        ("darwin", {"HOME": "/h"}, "/h/Library/Caches/tidemark/advise"),
        ("win32", {"LOCALAPPDATA": "/l", "HOME": "/h"}, "/l/tidemark/cache/advise"),
        ("win32", {"HOME": "/h"}, "/h/tidemark/cache/advise"),
    ],
)
def test_the_folder_of_the_cache(monkeypatch, platform, given, wanted):
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.platform", platform)
    assert default_folder() == Path(wanted)


# Processes.


@pytest.mark.parametrize("fewest", [2, 4])
def test_processes_give_the_answers_of_one_and_count_them(folder, monkeypatch, capfd, fewest):
    monkeypatch.setattr("kafka_tools.advise.explorer._FEWEST_SURVEYS", fewest)
    found = cluster(producer_acks="1")
    model = model_of_pipeline(found, resolve(found))
    surveys = [Survey(model, ((BY_SLUG[name].left, (LOSS,)),)) for name in ("slow-follower", "crash", "leader-change")]
    expected = [run(one, None, NEVER, lambda explorer, asked: explorer.explore(asked, NEVER)) for one in surveys]
    number = sum(map(len, expected))
    monkeypatch.setattr("kafka_tools.advise.explorer._TICK", 0.001)
    for cache in (None, AnswerCache(folder), AnswerCache(folder)):
        parallel = ParallelExplorer(2, None, cache, threading.Event())
        parallel._shows = True
        assert list(parallel.explore(surveys)) == expected
        assert parallel._explorations.value == number
        # The line is erased at last.
        progress = capfd.readouterr().err
        assert (fewest == 4 or "explorations, " in progress) and progress.endswith("\r\x1b[K")
    stopped = threading.Event()
    stopped.set()
    assert list(ParallelExplorer(2, None, None, stopped).explore(surveys)) == [[], [], []]


def test_the_failures_of_an_exploration_are_without_the_slow_followers():
    left = (("broker_crashes_left", 1), (SLOW_FOLLOWERS, 1))
    asked = ModelExploration(entry()[1].model, left, (), (), None)
    assert asked.failures == left[:1]


def test_the_cache_is_bounded(folder):
    cache = AnswerCache(folder)
    for number in range(MOST_ENTRIES + 3):
        path = folder / f"{number}.json"
        path.touch()
        os.utime(path, (number, number))
    cache.prune()
    names = {path.name for path in Path(folder).iterdir()}
    assert len(names) == MOST_ENTRIES
    assert "2.json" not in names and "3.json" in names


def test_an_interrupted_survey_keeps_what_it_found():
    found = cluster(producer_acks="1")
    model = model_of_pipeline(found, resolve(found))
    survey = Survey(model, ((BY_SLUG["slow-follower"].left, (LOSS,)), (BY_SLUG["crash"].left, (LOSS,))))
    cancelled = threading.Event()

    def explore_once(explorer, asked):
        explored = explorer.explore(asked, NEVER)
        cancelled.set()
        return explored

    assert [asked.left for asked, _ in run(survey, None, cancelled, explore_once)] == [()]
