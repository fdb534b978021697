"""A data file never chooses the code that runs: only the library and the files that the user names are loaded."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from checker.cli.app import main
from spark_analysis.walks.records import RUN_FILE, read_run
from tests.spark_analysis.walks.walked import spec_of_walks, walks_in

TOY = Path(__file__).parent.parent / "toy.py"


@pytest.fixture
def hostile(tmp_path):
    """A Python file that leaves a mark when it is loaded."""
    path = tmp_path / "hostile.py"
    path.write_text(f"open({str(tmp_path / 'loaded')!r}, 'w').close()\n" + TOY.read_text())
    return path


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A folder with a trace file and a folder of walks."""
    folder = tmp_path_factory.mktemp("recorded")
    assert main(["run", f"{TOY}/log", "--engine", "python", "--out", str(folder)]) == 0
    walks_in(folder, walks=20)
    return folder


@pytest.fixture
def trace(hostile, recorded, tmp_path):
    content = json.loads((recorded / "toy-log-two_leaders-logs_agree.json").read_text())
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(content | {"target": f"{hostile}/log"}))
    return path


@pytest.fixture
def walks(hostile, recorded, tmp_path):
    folder = shutil.copytree(recorded / "walks", tmp_path / "walks")
    shutil.copy(spec_of_walks(recorded / "walks"), spec_of_walks(folder))
    run = replace(read_run(folder), target=f"{hostile}/queue")
    (folder / RUN_FILE).write_text(json.dumps(run.to_json()))
    return folder


def refused(capsys, hostile, *words):
    status, printed = main([str(word) for word in words]), capsys.readouterr()
    assert (status, printed.out) == (2, ""), printed
    assert f"add --spec {hostile} to the command if you trust that file" in printed.err
    assert not (hostile.parent / "loaded").exists()


@pytest.mark.parametrize("format", ["text", "html", "json"])
def test_show_does_not_load_the_file_that_a_trace_names(capsys, hostile, trace, format):
    refused(capsys, hostile, "show", trace, "--format", format)


def test_a_check_does_not_load_the_file_that_a_certificate_names(capsys, hostile, tmp_path):
    pytest.importorskip("cvc5")
    certificate = tmp_path / "certificate.toml"
    text = (Path(__file__).parents[2] / "specs/examples/proofs/peterson.toml").read_text()
    certificate.write_text(text.replace('spec = "examples/peterson"', f'spec = "{hostile}/peterson"'))
    status, printed = main(["prove", "--check", str(certificate)]), capsys.readouterr()
    assert status == 2 and f"add --spec {hostile} to the command if you trust that file" in printed.err
    assert not (hostile.parent / "loaded").exists()


def test_a_certificate_of_a_user_is_checked_with_the_file_that_the_user_names(capsys, tmp_path):
    pytest.importorskip("cvc5")
    spec = tmp_path / "mine.py"
    spec.write_text((Path(__file__).parents[2] / "specs/examples/peterson.py").read_text())
    certificate = str(tmp_path / "mine.toml")
    assert main(["prove", f"{spec}/peterson/exclusive", "--certificate", certificate]) == 0
    assert main(["prove", "--check", certificate]) == 2
    assert "add --spec FILE with its Python file" in capsys.readouterr().err
    assert main(["prove", "--check", certificate, "--spec", str(spec)]) == 0
    assert "confirmed by cvc5" in capsys.readouterr().out


def test_against_a_spec_does_not_allow_the_file_of_the_trace(capsys, hostile, trace):
    refused(capsys, hostile, "show", trace, "--against", f"{TOY}/log")


def test_an_unknown_spec_of_the_library_is_named(capsys, trace):
    trace.write_text(json.dumps(json.loads(trace.read_text()) | {"target": "nothing/here"}))
    assert main(["show", str(trace)]) == 2
    assert "unknown spec family nothing" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["report"], ["traces", "replay", "--walk", "0"]], ids=" ".join)
def test_walks_do_not_load_the_file_that_they_name(capsys, hostile, walks, command):
    refused(capsys, hostile, *command, walks)


def test_the_file_that_the_user_names_is_loaded_in_place_of_the_recorded_one(capsys, hostile, trace, walks):
    assert main(["show", str(trace), "--spec", str(TOY)]) == 0
    assert main(["traces", "replay", str(walks), "--walk", "0", "--spec", str(spec_of_walks(walks))]) == 0
    assert f"traces replay {walks} --walk 0 --spec {spec_of_walks(walks)}" in capsys.readouterr().out
    assert not (hostile.parent / "loaded").exists()
    assert main(["show", str(trace), "--spec", str(hostile)]) == 0
    assert (hostile.parent / "loaded").exists()


@pytest.mark.parametrize(
    ("file", "says"),
    [
        ("nowhere.py", "the file nowhere.py does not exist"),
        ("toy.txt", "--spec toy.txt: name a Python file"),
        (TOY.with_name("lasso_toy.py"), "lasso_toy has no spec log"),
    ],
)
def test_a_wrong_file_is_refused(capsys, trace, file, says):
    assert main(["show", str(trace), "--spec", str(file)]) == 2
    assert says in capsys.readouterr().err
