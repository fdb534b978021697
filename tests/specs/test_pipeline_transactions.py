"""The table of the pipeline with transactions: the rows of the page, with each other and with the declared table.

`tests/docs/test_tables_of_guarantees.py` compares the page with the computed table.
"""

from pathlib import Path

import pytest

from specs.pipeline.transactional_guarantees import COLUMNS, RECOMMENDED, SETTINGS, row, tables
from tests.support.short_tables import answers_on

PAGE = Path(__file__).parents[2] / "docs" / "guarantees.md"
(TABLE,) = tables
MISTAKES = {
    "isolation_level": {"abort", "partial"},
    "unclean": {"lost", "partial", "unread"},
    "repeats_commit": {"twice", "answer_twice"},
    "kafka": {"late", "torn"},
}
"""The settings that the columns of the name show as a mistake."""


def yes_columns(settings):
    """Return the columns that have a yes in the row of some settings."""
    (answers,) = (
        answers for shown, answers in answers_on(PAGE, "pipeline", TABLE, 1) if shown == row(settings).settings
    )
    return {column for column in COLUMNS if answers[column]}


def test_the_recommended_settings_have_no_yes():
    assert yes_columns(RECOMMENDED) == set()
    assert yes_columns(RECOMMENDED | dict(offsets="no metadata", transactional_id="partition")) == set()


@pytest.mark.parametrize("setting", MISTAKES)
def test_one_other_setting_is_a_mistake(setting):
    (settings,) = (
        found for found in SETTINGS if {name for name in found if found[name] != RECOMMENDED[name]} == {setting}
    )
    assert yes_columns(settings) == MISTAKES[setting]


@pytest.mark.parametrize(
    ("offsets", "columns"),
    [
        ("commitSync", {"crash_twice", "rebalance_twice", "answer_twice"}),
        ("no metadata", {"rebalance_twice", "answer_twice"}),
    ],
)
def test_offsets_belong_to_the_transaction_and_its_generation(offsets, columns):
    assert yes_columns(RECOMMENDED | dict(offsets=offsets)) == columns
