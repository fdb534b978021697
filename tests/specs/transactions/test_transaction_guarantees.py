"""The table of transactions by release, and the page compared with it."""

from pathlib import Path

import pytest

from specs.kafka_versions import catalogue_entry
from specs.transactions.guarantees import COLUMNS, MIXED_RELEASES, PROPOSED, RELEASES, ROWS, UPGRADED
from specs.transactions.versions import loop_rules, transaction_rules
from tests.support.short_tables import computed_table

PAGE = Path(__file__).parents[3] / "docs" / "transactions.md"

ENTRIES = {
    "late_hang": "T1",
    "late_read": "T2",
    "late_torn": "T3",
    "coordinator": "T4",
    "next": "T5",
    "exhausted": "T6",
}
ENTRIES |= {"marker_retry": "T7", "unclean": "T9", "buffers": "T10", "delayed_fetch": "T11"}
"""The columns that show a whole entry of the catalogue; T8 has several columns."""


@pytest.fixture(scope="module")
def computed(tmp_path_factory):
    """The exit status, the answers by release and column, and the page with its section rewritten."""
    status, rows, page = computed_table("transactions", PAGE, tmp_path_factory.mktemp("guarantees"))
    answers = [{column: cell["answer"] for column, cell in row["cells"].items()} for row in rows]
    return status, dict(zip((*ROWS, "upgraded", "proposed"), answers, strict=True)), page


@pytest.mark.slow
def test_a_release_has_the_bugs_of_the_table_of_rules(computed):
    """The exploration finds a bug exactly in the releases between the changes that open and close its entry."""
    assert computed[0] == 0
    for release in RELEASES:
        answers = computed[1][release, release]
        for column, entry in ENTRIES.items():
            assert (answers[column] == "yes") == catalogue_entry(entry).exists_in(release), (release, column)
        t8 = [answers[column] for column in ("timeout", "other_epoch", "expiry", "zombie")]
        assert ("yes" in t8) == catalogue_entry("T8").exists_in(release), release


@pytest.mark.slow
def test_transaction_version_2_needs_clients_and_brokers(computed):
    """T2 and T3 exist if either is older; the other bugs of version 1 are those of the brokers."""
    for releases in MIXED_RELEASES:
        answers = computed[1][releases]
        assert answers["late_read"] == answers["late_torn"] == "yes"
        assert answers["late_hang"] == answers["coordinator"] == "no"


@pytest.mark.slow
def test_an_upgrade_has_the_bugs_of_both_versions_and_one_more(computed):
    """A batch that is sent again with version 2 outlives the end of its transaction with version 1."""
    versions = [computed[1][releases] for releases in ((UPGRADED, UPGRADED), (UPGRADED, "3.9.0"))]
    either = {column for answers in versions for column, answer in answers.items() if answer == "yes"}
    upgraded = {column for column, answer in computed[1]["upgraded"].items() if answer == "yes"}
    assert upgraded - either == {"late_hang"}
    # A client of 4.3 stops if its transactional.id is unknown.
    assert either - upgraded == {"zombie"}


@pytest.mark.slow
def test_only_the_proposal_keeps_a_prepared_transaction(computed):
    proposed = computed[1]["proposed"]
    assert [releases for releases in computed[1] if computed[1][releases]["two_phase"] == "no"] == ["proposed"]
    assert proposed == computed[1][PROPOSED, PROPOSED] | {"two_phase": "no"}


@pytest.mark.slow
def test_the_page_is_what_the_command_prints(computed):
    assert computed[2] == PAGE.read_text(), (
        "update the section: python -m checker table transactions --update-docs docs/transactions.md"
    )


def test_versions_of_releases():
    assert transaction_rules("3.9.2")["transaction_version"] == 1
    assert transaction_rules("4.0.0")["markers"] == transaction_rules("4.1.2")["markers"] == "not_lower"
    assert transaction_rules("4.2.0")["markers"] == "retry_accepted"
    assert not transaction_rules("3.5.2")["verification"] and transaction_rules("3.6.0")["verification"]
    assert set(ENTRIES) < set(COLUMNS)


def test_versions_of_mixed_releases():
    old_clients, old_brokers = transaction_rules("4.3.0", "3.9.0"), transaction_rules("3.9.0", "4.3.0")
    assert old_clients["transaction_version"] == old_brokers["transaction_version"] == 1
    assert old_clients["old_clients"] and not old_brokers["old_clients"]
    assert loop_rules("3.9.0", "4.3.0")["lost_mapping"] == "fatal"
