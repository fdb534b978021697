"""The page of common claims decides each claim by running scenarios."""

import re

import pytest

from checker.errors import SpecError
from kafka_tools.pages import myths_page, scenario_runs
from kafka_tools.pages.markdown import WIDTH, code
from kafka_tools.pages.myths import MYTHS, NEVER
from kafka_tools.pages.scenario_runs import run_scenario
from specs.hazards import known_hazards
from specs.kafka_releases import RELEASES, describe_releases

QUICK = "producer/acks/p7_acks_1_loss_on_failover"


def test_a_claim_has_a_scenario_or_says_what_is_not_modelled():
    assert all(myth.scenarios or myth.not_modelled for myth in MYTHS)


def test_releases_come_from_the_table():
    true_in = {myth.claim: myth.true_in for myth in MYTHS}
    assert true_in["The default of retries is 0."] == "0.10.0.0 to 2.0.1"
    assert true_in["The default of acks is 1."] == "0.10.0.0 to 2.8.2"
    assert true_in["Idempotence is off unless it is enabled."] == "0.10.0.0 to 3.0.0, 3.1.0"
    assert true_in["An idempotent producer never duplicates."] == NEVER


def test_a_verdict_is_computed():
    run = run_scenario(QUICK)
    assert run.verdict == "violates `no_acked_loss` after 5 states"
    assert [str(step) for step in run.steps][-1] == "controller_elect(n2)"


def test_an_unexpected_result_is_an_error(monkeypatch):
    scenario = run_scenario(QUICK).scenario
    wrong = type(scenario)(scenario.spec, scenario.name, scenario.constants, "holds", scenario.properties)
    with pytest.raises(SpecError, match="expected every property to hold"):
        scenario_runs._run(QUICK, wrong)


def test_a_scenario_that_does_not_exist_is_an_error():
    with pytest.raises(SpecError, match="is not a scenario"):
        run_scenario("producer/acks/p0")


def test_defaults_are_those_of_advise():
    rows = list(myths_page._default_rows())
    assert rows[0] == ("2.0.0 to 2.0.1", "1", "0", "false", "5")
    assert rows[2][0] == "3.0.0"
    assert rows[-1][1:] == ("all", "2147483647", "true", "5")


def test_a_call_is_not_broken():
    lines = code([f"leader_ask_to_shrink_isr(b{number}, b2)" for number in range(9)]).splitlines()[1:-1]
    assert all(len(line) <= WIDTH and re.fullmatch(r"(\w+\(b\d, b2\),? ?)+", line) for line in lines)
    assert len(lines) > 1


@pytest.mark.parametrize("myth", [myth for myth in MYTHS if myth.denies], ids=lambda myth: myth.claim)
def test_no_claim_is_true_in_a_release_with_an_entry_against_it(myth):
    """The entries are read from the catalogue with the settings that the claim names."""
    against = {
        release: [
            each.name for each in known_hazards(release, myth.denies.config, myth.denies.outcome, myth.denies.events)
        ]
        for release in RELEASES
    }
    assert myth.true_in == (describe_releases([each for each in RELEASES if not against[each]]) or NEVER)
    # The parts before the scenarios: those would be explored.
    known = next(part for part in myths_page._section(1, myth) if part.startswith("**In the [catalogue]"))
    assert all(name in " ".join(known.split()) for name in against[RELEASES[-1]]), known


def test_a_claim_that_something_never_happens_names_what_it_denies():
    """A claim with such a word has the entries against it computed."""
    words = re.compile(r"\b(never|nothing|only loses|has the effect of)\b")
    assert [myth.claim for myth in MYTHS if words.search(myth.claim) and not myth.denies] == []


def test_the_entries_against_the_claims():
    entries = {myth.claim: myth.denies.entries("4.4.0") for myth in MYTHS if myth.denies}
    assert {"I3", "I7", "P9", "P11"} <= {*entries["An idempotent producer never duplicates."]}
    assert {"R11", "R18"} <= {*entries["acks=all with replication factor 3 loses nothing, even if all machines fail."]}
