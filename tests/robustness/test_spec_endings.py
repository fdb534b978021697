"""A spec that raises an exception, anywhere, ends the command with a sentence that names its file, never a verdict."""

from __future__ import annotations

import pytest

from tests.robustness.outcomes import assert_one_sentence
from tests.robustness.spec_endings import SpecEnding, spec_endings

CASES = list(spec_endings())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_spec_that_raises(checker, tmp_path, case: SpecEnding):
    (tmp_path / "mine.py").write_text(case.text)
    for engine in ("native", "python"):
        outcome = checker("run", tmp_path / "mine.py", "--engine", engine)
        if case.raised == "KeyboardInterrupt" and outcome.status == 3:
            # The command cannot tell it from Ctrl-C.
            assert (outcome.out, outcome.err) == ("", "interrupted\n")
            continue
        assert outcome.status == 2, (engine, outcome)
        assert_one_sentence(outcome)
        assert "mine.py:" in outcome.err, (engine, outcome.err)
