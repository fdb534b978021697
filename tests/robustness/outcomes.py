"""What every refusal of the command line has in common."""

from __future__ import annotations


def assert_one_sentence(outcome) -> None:
    """Assert that an outcome is one error of a few lines, without control characters and without a traceback."""
    assert outcome.out == ""
    assert outcome.err.startswith("error: "), outcome.err
    assert "Traceback" not in outcome.err
    assert len(outcome.err.splitlines()) <= 3, outcome.err
    assert all(character.isprintable() or character in "\n\t" for character in outcome.err), ascii(outcome.err)
    assert len(outcome.err) < 2000
