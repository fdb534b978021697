"""The progress display without a terminal."""

import io

from checker.output import progress as display
from checker.run.plan import ExplorationProgress

SEEN = ExplorationProgress(3, 2_000, 5_000, 40, 2.0, 123_000_000)


def test_exploration_text():
    assert display.exploration_text(SEEN, 1000.0) == (
        "level 3, 2,000 distinct, 5,000 generated, queue 40, 1,000/s, 123 MB, 2 s"
    )


def test_short_run_prints_nothing():
    stream = io.StringIO()
    with display.ProgressDisplay("toy", stream) as shown:
        shown.update(SEEN)
    assert stream.getvalue() == ""


def test_long_run_prints_plain_lines(monkeypatch):
    monkeypatch.setattr(display, "_LINE_INTERVAL", 0.0)
    stream = io.StringIO()
    with display.ProgressDisplay("toy", stream) as shown:
        shown.update(SEEN)
        shown.update(ExplorationProgress(4, 5_000, 9_000, 40, 3.0, 2_500_000_000))
    first, second = stream.getvalue().splitlines()
    assert first.startswith("toy: level 3, 2,000 distinct")
    assert "3,000/s, 2.5 GB" in second
