"""`advise`: text, JSON, pages, exit status and wrong input."""

import html
import json
import re
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parent.parent / "kafka_tools" / "advise" / "fixtures"
QUICK = ("--failure", "crash", "--changes", "0")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_the_answer_on_the_screen(checker):
    outcome = checker("advise", FIXTURES / "misconfigured-acks-1.toml", "--kafka", "3.7", *QUICK)
    assert outcome.status == 0
    assert "acks=1 turned the default off" in outcome.out
    assert outcome.out.startswith(
        "For 3 replicas (misconfigured-acks-1.toml).\n"
        "A record can be lost, written twice or written out of order after a broker\ncrash."
    )
    assert "An acknowledged record may be lost after a broker crash:" in outcome.out
    assert re.search(r"^   6  The controller elects n2\.$", outcome.out, re.MULTILINE)
    assert max(map(len, outcome.out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("require", "accepted", "status"),
    [("no-loss", (), 1), ("no-gaps", (), 3), ("no-gaps", ("--accept", "R26", "--accept", "C16"), 0)],
)
def test_require_sets_the_exit_status(checker, require, accepted, status):
    path = FIXTURES / "misconfigured-acks-1.toml"
    outcome = checker("advise", path, "--kafka", "3.7", *QUICK, "--require", require, *accepted)
    assert outcome.status == status
    assert ("required no-loss does not hold: a broker crash" in outcome.out) == (status == 1)


def test_a_failure_that_cannot_happen_denies_nothing(checker, tmp_path):
    path, options = FIXTURES / "server-durable.properties", ("--kafka", "4.3", "--changes", "0")
    asked = ("--require", "no-loss", "--accept", "producer  H-3", "--json", tmp_path / "a.json")
    outcome = checker("advise", path, *options, "--failure", "unclean-election", *asked)
    assert outcome.status == 0
    assert "With these settings, an unclean election cannot happen." in outcome.out
    said = "required no-loss holds: an unclean election cannot happen with unclean.leader.election.enable=false"
    assert said in " ".join(outcome.out.split())
    (required,) = json.loads((tmp_path / "a.json").read_text())["required"]
    assert required == {"guarantee": "no-loss", "verdict": "holds", "sentence": said}


def test_json_and_pages(checker, tmp_path):
    path = FIXTURES / "low-latency-producer.properties"
    outcome = checker("advise", path, "--kafka", "3.7", *QUICK, "--json", tmp_path / "a.json", "--out", tmp_path / "p")
    assert outcome.status == 0
    found = json.loads((tmp_path / "a.json").read_text())
    assert found["settings"]["acks"] == {"value": "1", "origin": "low-latency-producer.properties:2"}
    assert {answer["constants"]["broker_crashes"] for answer in found["answers"]} == {1}
    assert {answer["constants"]["blackouts"] for answer in found["answers"]} == {0}
    yes = [answer for answer in found["answers"] if answer["answer"] == "yes"]
    assert {answer["question"] for answer in yes} == {"loss", "duplicates", "reorder"}
    assert all((tmp_path / "p" / answer["page"]).is_file() for answer in yes)
    index = (tmp_path / "p" / "index.html").read_text()
    assert "loss-crash.html" in index
    shown = html.unescape(index)
    for answer in yes:
        assert [step["step"] for step in answer["steps"]] == list(range(1, answer["length"] + 1))
        assert all(step["sentence"] in shown for step in answer["steps"])


def test_the_pages_replace_no_file_of_the_user(checker, tmp_path):
    (tmp_path / "index.html").write_text("mine")
    outcome = checker("advise", FIXTURES / "low-latency-producer.properties", "--out", tmp_path)
    assert outcome.status == 2
    assert "index.html was not written by Tidemark" in outcome.err
    assert (tmp_path / "index.html").read_text() == "mine"


def test_secrets_are_never_printed(checker, tmp_path):
    files = [
        FIXTURES / "server-durable.properties",
        FIXTURES / "spring-application.properties",
        FIXTURES / "exactly-once-producer.properties",
    ]
    outcome = checker(
        "advise", *files, "--kafka", "3.7", *QUICK, "--json", tmp_path / "a.json", "--out", tmp_path / "p"
    )
    everything = outcome.out + outcome.err + "".join(file.read_text() for file in tmp_path.rglob("*") if file.is_file())
    assert "hunter2" not in everything
    assert "payments-1" not in everything


def test_settings_that_kafka_refuses(checker):
    outcome = checker("advise", FIXTURES / "conflicting-producer.properties", "--kafka", "3.7")
    assert outcome.status == 2
    assert "ConfigException: max.in.flight.requests.per.connection has to be 5 or less" in outcome.err


def test_a_limit_leaves_an_answer_undecided(checker):
    path = FIXTURES / "idempotent-producer.properties"
    outcome = checker("advise", path, "--kafka", "3.7", *QUICK, "--max-states", "100")
    assert outcome.status == 3
    assert "\nNot decided, and not safe: whether a record can be lost" in outcome.out
    assert "?" in outcome.out
    required = checker("advise", path, "--kafka", "3.7", *QUICK, "--max-states", "100", "--require", "no-loss")
    assert required.status == 3
    assert "required no-loss is not decided" in required.out


def test_a_transactional_producer_has_answers_about_its_transactions(checker, tmp_path):
    path = FIXTURES / "exactly-once-producer.properties"
    outcome = checker("advise", path, "--kafka", "3.7", *QUICK, "--max-states", "9", "--json", tmp_path / "a.json")
    answers = json.loads((tmp_path / "a.json").read_text())["transactions"]
    assert outcome.status == 3 and {answer["answer"] for answer in answers} == {"undecided"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["no-such-file"], "cannot be read"),
        ([FIXTURES / "producer-shipped.properties", "--kafka", "1.0"], "Kafka 1.0 is not a release from 2.0.0"),
        ([FIXTURES / "producer-shipped.properties", "--require", "no-worries"], "--require does not know 'no-worries'"),
        (
            [FIXTURES / "producer-shipped.properties", "--require", "no-stuck", "--failure", "consumer-crash"],
            "--failure consumer-crash cannot affect no-stuck, so that nothing would be checked: name one of slow",
        ),
        (
            [FIXTURES / "producer-shipped.properties", "--require", "no-loss", "--accept", "late-torn"],
            "--accept does not know 'late-torn': choose from P1, ",
        ),
        ([FIXTURES / "producer-shipped.properties", "--failure", "flood"], "--failure does not know 'flood'"),
        ([FIXTURES / "producer-shipped.properties", "--json", "/proc/no/such.json"], "/proc/no/such.json cannot be"),
    ],
)
def test_wrong_input(checker, arguments, says):
    outcome = checker("advise", *arguments)
    assert outcome.status == 2
    assert says in outcome.err


@pytest.mark.parametrize("text", ["", "# x\n---\n", "producer: {}\n", "{apiVersion: v1, kind: Namespace}\n"])
def test_a_file_without_settings_has_no_answer(checker, tmp_path, text):
    path = tmp_path / "x.yaml"
    path.write_text(text)
    outcome = checker("advise", path, "--changes", "0", "--failure", "crash")
    assert outcome.status == 2 and "x.yaml has no settings: the answers would be about Kafka's defaults" in outcome.err
    for others in (("--set", "acks=1"), (FIXTURES / "misconfigured-acks-1.toml",)):
        assert checker("advise", path, *others, *QUICK).status == 0
