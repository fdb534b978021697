"""The progress display without a terminal."""

import io

import pytest

from checker.execution import engine_choice
from checker.output import progress as display
from checker.run.plan import ExplorationProgress
from spark_analysis.commands.walk_progress import WalkProgress, walk_progress_text

SEEN = ExplorationProgress(3, 2_000, 5_000, 40, 2.0, 123_000_000)


def test_exploration_text():
    assert display.exploration_text(SEEN, 1000.0) == (
        "level 3, 2,000 distinct, 5,000 generated, queue 40, 1,000/s, 123 MB, 2 s"
    )


@pytest.mark.parametrize(
    ("width", "text"),
    [
        (140, "a/b/c_d: level 3, 2,000 distinct, 5,000 generated, queue 40, 1,000/s, 123 MB, 2 s"),
        (80, "c_d: level 3, 2,000 distinct, 5,000 generated, queue 40, 1,000/s, 123 MB, 2 s"),
        (60, "c_d: level 3, 2,000 distinct, queue 40, 1,000/s, 2 s"),
        (48, "level 3, 2,000 distinct, queue 40, 1,000/s, 2 s"),
        (20, "2,000 distinct, queue 40, 1,000/s, 2 s"),
    ],
)
def test_a_narrow_terminal_keeps_the_rate_the_queue_and_the_time(width, text):
    assert display.fitting_text("a/b/c_d", SEEN, 1000.0, width) == text


def test_a_long_name_never_hides_the_figures():
    name = "replication/kip101/three_replicas_three_epochs"
    for states in (10**3, 10**6, 10**9):
        progress = ExplorationProgress(40, states, 3 * states, states // 10, 3600.0, 10**9)
        text = display.fitting_text(name, progress, 10**6, 80)
        assert len(text) <= 80
        assert f"queue {states // 10:,}, 1,000,000/s, " in text and text.endswith(" 3600 s")


def forecast(**changes):
    progress = ExplorationProgress(
        40, 10**8, 3 * 10**8, 10**7, 60.0, 10**9, states_to_come=3_100_000_000, bytes_to_come=31 * 10**9, **changes
    )
    return display.exploration_text(progress, 10**6).partition("60 s")[2]


def test_a_long_run_shows_what_is_to_come(monkeypatch):
    monkeypatch.setattr(display.time, "time", lambda: 0.0)
    monkeypatch.setattr(display.time, "localtime", display.time.gmtime)
    assert forecast(free_bytes=40 * 10**9) == ("; about 3.1e9 states to come: 31.0 GB; 40.0 GB free; done at 00:51")


def test_a_run_that_does_not_fit_says_so():
    assert forecast(free_bytes=24 * 10**9) == "; about 3.1e9 states to come do not fit: 31.0 GB; 24.0 GB free"
    assert "states to come need the compact store: 31.0 GB" in forecast(free_bytes=0, is_movable=True)


@pytest.mark.parametrize(("seconds", "to_come", "count"), [(60, 600, 1), (60, 400, 0), (9, 6000, 0), (60, None, 0)])
def test_a_long_run_names_a_faster_engine_once(seconds, to_come, count):
    stream = io.StringIO()
    with display.ProgressDisplay("toy", stream, "a card is faster") as shown:
        for _ in range(2):
            # 100 states in 60 s: 400 states more take 240 s, and 600 take 360 s.
            shown.update(ExplorationProgress(4, 100, 300, 10, seconds, 10**6, states_to_come=to_come))
    assert stream.getvalue().count("a card is faster\n") == count


@pytest.mark.parametrize(
    ("seconds", "queue", "to_come", "count"),
    [(20, 51, None, 1), (20, 50, None, 0), (19, 51, None, 0), (20, 51, 600, 0)],
)
def test_a_run_without_an_end_in_sight_says_once_how_to_end_it(seconds, queue, to_come, count):
    stream = io.StringIO()
    with display.ProgressDisplay("toy", stream) as shown:
        for _ in range(2):
            shown.update(ExplorationProgress(4, 100, 300, queue, seconds, 10**6, states_to_come=to_come))
    assert stream.getvalue().count(f"{queue} of 100 states wait to be expanded") == count
    assert "--max-depth N or --max-states N" in stream.getvalue() or not count


def test_a_card_is_named_where_there_is_one(monkeypatch, tmp_path):
    monkeypatch.setattr(engine_choice, "_DEVICE", tmp_path)
    assert "--engine gpu" in engine_choice.faster_engine("native")
    assert engine_choice.faster_engine("gpu") == ""
    monkeypatch.setattr(engine_choice, "_DEVICE", tmp_path / "none")
    assert engine_choice.faster_engine("native") == ""


def test_an_activity_is_shown_alone():
    progress = ExplorationProgress(40, 10**8, 3 * 10**8, 10**7, 60.0, 10**9, activity="rebuilding the paths, level 7")
    assert display.exploration_text(progress, 10**6) == "rebuilding the paths, level 7, 60 s"


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


@pytest.mark.parametrize(("width", "name"), [(120, "a/b: "), (72, "")])
def test_a_terminal_shows_walks_in_one_line_that_is_drawn_four_times_a_second(monkeypatch, width, name):
    now = [100.0]
    monkeypatch.setattr("spark_analysis.commands.walk_progress.time.monotonic", lambda: now[0])
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True)
    with WalkProgress("a/b", 2000, 500, stream) as progress:
        for tenth in (1, 2, 3, 4, 5, 6):
            now[0] = 100.0 + tenth / 10
            progress.update(500 + 100 * tenth, tenth)
    first, *drawn = stream.getvalue().split("\r\x1b[2K")
    assert first.endswith("a/b: starting Spark")
    # The last one is drawn again when the line is removed.
    assert list(dict.fromkeys(text.split("\n")[0] for text in drawn)) == [
        f"{name}800 of 2,000 walks (40%), 3 with a violation, 1,500/s, 0 s, 1 s left",
        f"{name}1,100 of 2,000 walks (55%), 6 with a violation, 1,200/s, 0 s, 1 s left",
    ]
