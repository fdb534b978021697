"""Progress of random walks, in a terminal and in a log."""

import io

from spark_analysis.commands.walk_progress import WalkProgress, walk_progress_text


def test_progress_text():
    assert walk_progress_text("a/b", 500, 2000, 0, 7, 3.0) == "a/b: 500 of 2,000 walks (25%), 3 s"
    text = walk_progress_text("a/b", 1500, 2000, 1000, 7, 4.0)
    assert text == "a/b: 1,500 of 2,000 walks (75%), 7 with a violation, 250/s, 4 s, 2 s left"


def test_without_a_terminal_a_line_is_printed_every_few_seconds(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("spark_analysis.commands.walk_progress.time.monotonic", lambda: now[0])
    stream = io.StringIO()
    with WalkProgress("a/b", 2000, 500, stream) as progress:
        for second in range(12):
            now[0] = 100.0 + second
            progress.update(500 + 100 * second, second)
    first, second = stream.getvalue().splitlines()
    assert first == "a/b: 1,000 of 2,000 walks (50%), 5 with a violation, 100/s, 5 s, 10 s left"
    assert second.startswith("a/b: 1,500 of 2,000 walks (75%), 10 with a violation, 100/s, 10 s")
