"""The command `demo`: a bug from the suspicion to the repair."""

import pytest

from checker.cli.app import main
from checker.errors import OutputError
from kafka_tools.pages import demo


@pytest.fixture
def opened(monkeypatch):
    """The addresses that were opened in a browser."""
    addresses = []
    monkeypatch.setattr(demo.webbrowser, "open", addresses.append)
    return addresses


def test_a_demo_goes_from_the_suspicion_to_the_repair(tmp_path, monkeypatch, capsys, opened):
    monkeypatch.setattr(demo.sys.stdout, "isatty", lambda: True)
    demo.show_demo("p7", tmp_path, opens_browser=True)
    out = capsys.readouterr().out
    order = [
        "1  The suspicion",
        "P7: acks=1",
        "2  The search",
        "40 states",
        "3  The picture",
        "4  The repair",
        "holds in all",
    ]
    places = [out.index(part) for part in order]
    assert places == sorted(places)
    assert "no_acked_loss" in (tmp_path / "P7.html").read_text()
    assert "p7_fixed_acks_all" in (tmp_path / "P7-repaired.html").read_text()
    assert opened == [(tmp_path / "P7.html").as_uri()]


def test_a_folder_that_is_a_file_is_refused_before_the_search(tmp_path, monkeypatch, capsys):
    monkeypatch.delattr(demo, "run_scenario")
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="file cannot be written"):
        demo.show_demo("P7", tmp_path / "file", opens_browser=False)
    assert capsys.readouterr().out == ""


def test_a_demo_opens_no_browser_without_a_terminal(tmp_path, capsys, opened):
    demo.show_demo("P7", tmp_path, opens_browser=True)
    assert opened == []


def test_the_repair_names_the_step_that_is_refused(tmp_path, capsys):
    demo.show_demo("P1", tmp_path, opens_browser=False)
    assert "The same steps with it: sender_drain(0): not enabled here" in capsys.readouterr().out


def test_an_entry_without_a_scenario_is_refused(capsys):
    assert main(["demo", "producer H-1"]) == 2
    assert "producer H-1 is no entry with a scenario and a remedy: choose one of P1" in capsys.readouterr().err


def test_a_file_of_the_user_is_kept(tmp_path, capsys):
    own = tmp_path / "P7.html"
    own.write_text("<h1>mine</h1>")
    assert main(["demo", "P7", "--out", str(tmp_path), "--no-browser"]) == 2
    assert f"{own} was not written by Tidemark: name another folder" in capsys.readouterr().err
    assert own.read_text() == "<h1>mine</h1>"
    own.unlink()
    assert [main(["demo", "P7", "--out", str(tmp_path), "--no-browser"]) for _ in range(2)] == [0, 0]
