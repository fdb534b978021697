"""The gate of `--require`: its lines, and the exit status that follows from them; without an exploration."""

from types import SimpleNamespace

import pytest

from checker.run.request import EXIT_OK, EXIT_STOPPED, EXIT_VIOLATED
from kafka_tools.advise.advice import Advice, GuaranteeAnswer
from kafka_tools.advise.cluster import gather
from kafka_tools.advise.effective_config import resolve
from kafka_tools.advise.hazard_answers import of_transactions
from kafka_tools.advise.questions import FAILURES
from kafka_tools.advise.questions import QUESTIONS as GUARANTEES
from kafka_tools.advise.requirements import ACCEPTABLE, Demand, exit_status, requirements
from kafka_tools.advise.transaction_answers import QUESTIONS, TWO_PHASE_QUESTIONS, TransactionAnswer
from kafka_tools.advise.written_settings import ConfigurationFile, WrittenSetting
from specs.hazards import EVENTS, hazards

FAILURE = {failure.slug: failure for failure in FAILURES}
GUARANTEE = {question.name: question for question in GUARANTEES}
ABOUT = {question.name: question for question in (*QUESTIONS, *TWO_PHASE_QUESTIONS)}
CATALOGUE = hazards()


def cell(question, failure, verdict, *entries):
    known = tuple(CATALOGUE[name] for name in entries)
    return GuaranteeAnswer(GUARANTEE[question], FAILURE[failure], verdict, SimpleNamespace(), 7, hazards=known)


def about(name, verdict="yes", version=2):
    return TransactionAnswer(ABOUT[name], version, SimpleNamespace(), verdict, 7)


def advice(*answers, transactions=(), impossible=(), is_whole=True, version="4.3.0", **written):
    settings = {role: [] for role in ("producer", "broker", "topic")}
    for name, value in written.items():
        role, _, key = name.partition("_")
        settings[role].append(WrittenSetting(key.replace("_", "."), value, role, 1))
    files = [ConfigurationFile(role, {role: tuple(found)}) for role, found in settings.items() if found]
    cluster = gather(files, version)
    failures = tuple(FAILURE[name] for name in impossible)
    made = Advice(cluster, resolve(cluster), list(answers), impossible=failures, is_whole=is_whole)
    made.transactions.extend(transactions)
    return made


def gate(made, required, accepted=(), failures=()):
    """Return the line of a requirement and the exit status."""
    demand = Demand((GUARANTEE[required],), frozenset(accepted), tuple(FAILURE[name] for name in failures))
    (line,) = requirements(made, demand)
    return line.sentence, exit_status(made, demand)


NO, YES, OPEN = (cell("loss", "crash", verdict) for verdict in ("no", "yes", "undecided"))
KNOWN = cell("loss", "crash", "known", "R18")
ACCEPTED = "; --accept R18 accepts that"
ALL_BUT_ROWS = "; --accept R18 accepts all but the rows of the table"


@pytest.mark.parametrize(
    ("made", "accepted", "says", "status"),
    [
        (advice(NO), (), "holds in the explored failures", EXIT_OK),
        (advice(YES), (), "does not hold: a broker crash", EXIT_VIOLATED),
        (advice(YES, is_whole=False), (), "does not hold: a broker crash", EXIT_VIOLATED),
        (advice(YES, OPEN), (), "does not hold: a broker crash", EXIT_VIOLATED),
        (advice(YES, KNOWN), (), f"does not hold: a broker crash; known: R18{ALL_BUT_ROWS}", EXIT_VIOLATED),
        (advice(OPEN), (), "is not decided: no answer for a broker crash", EXIT_STOPPED),
        (advice(NO, is_whole=False), (), "is not decided: not every question was answered", EXIT_STOPPED),
        (advice(cell("gaps", "crash", "no")), (), "is not decided: nothing was explored", EXIT_STOPPED),
        (advice(KNOWN), (), f"is not decided: no exploration has R18, which may deny it{ACCEPTED}", EXIT_STOPPED),
        (advice(KNOWN), ("R17",), f"is not decided: no exploration has R18, which may deny it{ACCEPTED}", EXIT_STOPPED),
        (advice(KNOWN), ("R18",), "holds in the explored failures, but for R18, as accepted", EXIT_OK),
        (advice(NO, cell("gaps", "crash", "yes")), (), "holds in the explored failures", EXIT_OK),
    ],
)
def test_a_line_says_what_the_exit_status_is(made, accepted, says, status):
    assert gate(made, "loss", accepted) == (f"required no-loss {says}", status)


@pytest.mark.parametrize(
    ("made", "status"),
    [
        (advice(YES), EXIT_OK),
        (advice(KNOWN), EXIT_OK),
        (advice(OPEN), EXIT_STOPPED),
        (advice(NO, is_whole=False), EXIT_STOPPED),
        (advice(NO, transactions=[about("repeated", "undecided")]), EXIT_STOPPED),
        (advice(impossible=["delivery-timeout"]), EXIT_STOPPED),
        (advice(impossible=["unclean-election"]), EXIT_OK),
    ],
)
def test_without_a_requirement_only_an_open_answer_counts(made, status):
    assert exit_status(made, Demand()) == status


@pytest.mark.parametrize(
    ("name", "required", "failures", "says", "status"),
    [
        ("late-torn", "loss", (), "does not hold: T3; --accept T3 accepts that", EXIT_VIOLATED),
        ("late-torn", "loss", ("crash",), "holds in the explored failures", EXIT_OK),
        ("late-torn", "duplicates", (), "holds in the explored failures", EXIT_OK),
        ("late-read", "duplicates", (), "does not hold: T2; --accept T2 accepts that", EXIT_VIOLATED),
        ("late-marker", "loss", ("crash",), "holds in the explored failures", EXIT_OK),
        ("coordinator", "stuck", ("two-crashes",), "does not hold: T4; --accept T4 accepts that", EXIT_VIOLATED),
        ("repeated", "duplicates", ("slow-follower",), "holds in the explored failures", EXIT_OK),
    ],
)
def test_an_answer_about_transactions_counts_after_its_events(name, required, failures, says, status):
    made = advice(cell(required, "crash", "no"), transactions=[about(name)])
    assert gate(made, required, failures=failures) == (f"required no-{required} {says}", status)


def test_a_denial_is_accepted_by_the_name_that_its_line_has():
    made = advice(cell("duplicates", "crash", "no"), transactions=[about("repeated"), about("repeated", version=1)])
    line, status = gate(made, "duplicates")
    assert line.startswith("required no-duplicates does not hold: repeated (a producer restarts, repeats ")
    assert line.endswith("; --accept repeated accepts that") and line.count("restarts") == 1
    assert status == EXIT_VIOLATED
    line, status = gate(made, "duplicates", ["repeated"])
    assert (line, status) == (
        "required no-duplicates holds in the explored failures, but for repeated, as accepted",
        EXIT_OK,
    )


def test_every_name_that_can_deny_is_acceptable():
    assert {question.accepted_as for question in ABOUT.values()} | set(CATALOGUE) == set(ACCEPTABLE)
    assert "repeated" in ACCEPTABLE and "late-torn" not in ACCEPTABLE


def test_each_question_about_transactions_has_a_guarantee_and_the_events_of_its_entry():
    for question in ABOUT.values():
        assert question.of in GUARANTEE and question.events and set(question.events) <= set(EVENTS), question.name
        assert not question.entry or set(CATALOGUE[question.entry].after) <= set(question.events), question.name


@pytest.mark.parametrize("required", ["loss", "duplicates", "stuck"])
def test_an_entry_about_transactions_that_no_answer_explores_leaves_a_guarantee_open(required):
    settings = dict(producer_transactional_id="t", version="3.0.0")
    made = advice(cell(required, "crash", "no"), **settings)
    names = [hazard.name for hazard in of_transactions(made.cluster, made.config)]
    line, status = gate(made, required)
    assert status == EXIT_STOPPED and all(name in line for name in names)
    assert gate(made, required, names)[1] == EXIT_OK
    # None of them needs a slow follower only.
    assert gate(made, required, failures=["slow-follower"])[1] == EXIT_OK
    explored = [about(name, "no") for name in ABOUT]
    line, _ = gate(advice(cell(required, "crash", "no"), transactions=explored, **settings), required)
    assert "T3" in names and "T3" not in line and "producer H-1" in line


@pytest.mark.parametrize(
    ("failures", "says", "status"),
    [
        (["unclean-election"], "holds: an unclean election cannot happen with unclean.leader.election.enable=false", 0),
        (["delivery-timeout"], "is not decided: not explored: a delivery timeout", 3),
        (["crash", "delivery-timeout"], "is not decided: not explored: a delivery timeout", 3),
        (["crash", "rebalance"], "holds in the explored failures", 0),
    ],
)
def test_a_named_failure_cannot_happen_or_was_not_explored(failures, says, status):
    cells = [NO] if "crash" in failures else []
    made = advice(*cells, impossible=[name for name in failures if name != "crash"])
    assert gate(made, "loss", failures=failures) == (f"required no-loss {says}", status)


def test_a_failure_that_no_one_names_is_a_note_of_the_table():
    assert gate(advice(NO, impossible=["delivery-timeout"]), "loss")[1] == EXIT_OK


@pytest.mark.parametrize(
    ("failures", "status"),
    [(["producer-restart"], EXIT_OK), (["producer-restart", "delivery-timeout"], EXIT_STOPPED)],
)
def test_the_specs_of_transactions_explore_a_restart_and_no_delivery_timeout(failures, status):
    made = advice(transactions=[about("restart", "no"), about("late-read", "no")], impossible=failures)
    assert gate(made, "duplicates", failures=failures)[1] == status


def test_accepted_names_do_not_accept_what_is_not_explored():
    """Only the named entries are accepted: a failure without an exploration stays open, with and without them."""
    made = advice(KNOWN, OPEN, impossible=["delivery-timeout"])
    text, status = gate(made, "loss", failures=["delivery-timeout"])
    assert text.endswith("; --accept R18 accepts these names alone") and status == EXIT_STOPPED
    text, status = gate(made, "loss", ["R18"], ["delivery-timeout"])
    assert "is not decided" in text and "accept" not in text and status == EXIT_STOPPED
