"""No command removes or changes a file that it did not write: every command, with every folder that it can be given."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from checker.cli.app import app, main
from checker.cli.declaration import _LocationType
from checker.errors import InputError, OutputError
from kafka_tools.lab.cluster import all_experiments, experiment_run
from kafka_tools.lab.recording import soak_command
from kafka_tools.lab.recording.soak import SoakPlan
from kafka_tools.site import site_builder
from tests.cli.test_help import commands_of
from tests.cli.test_validate import GOOD, MAPPING

ROOT = Path(__file__).parent.parent.parent
RETRY = str(ROOT / "examples" / "retry.py")
TABLE = str(ROOT / "tests" / "cli" / "table_toy.py")

FOREIGN = (
    *("mine.txt", "cluster/important.txt", "cluster/broker1/data/mine-0/00000000000000000000.log", "producer0.log"),
    *("outcome.json", "soak.json", "part-notes.bin", "runs/mine", "candidates/mine", "walks/mine", "states/mine"),
    *("verdicts.parquet/mine", "pages/mine", "retry/mine.txt", ".hidden", "specs/mine.py", "report/mine.txt"),
)
"""Files of the user, at names that commands use themselves or that look like theirs."""

WORDS: dict[tuple[str, str], list[str]] = {
    ("list", "targets"): ["list", "DIR"],
    ("demo", "--out"): ["demo", "P7", "--no-browser", "--out", "DIR"],
    ("init", "folder"): ["init", "DIR"],
    ("run", "--checkpoint"): ["run", RETRY, "--checkpoint", "DIR"],
    ("run", "--resume"): ["run", RETRY, "--resume", "DIR"],
    ("run", "--html"): ["run", RETRY, "--html", "DIR"],
    ("run", "--out"): ["run", RETRY, "--out", "DIR"],
    ("run", "--witness"): ["run", RETRY, "--witness", "DIR"],
    ("table", "--out"): ["table", TABLE, "--engine", "python", "--out", "DIR"],
    ("graph", "--out"): ["graph", RETRY, "new.dot", "--out", "DIR"],
    ("prove", "--out"): ["prove", RETRY, "--method", "bounded", "--depth", "3", "--out", "DIR"],
    ("prove", "--check"): ["prove", "--check", "DIR"],
    ("simulate", "--out"): ["simulate", RETRY, "--traces", "100", "--out", "DIR"],
    ("simulate", "--counterexamples"): ["simulate", RETRY, "--traces", "100", "--counterexamples", "DIR"],
    ("report", "folder"): ["report", "DIR"],
    ("report", "--out"): ["report", "WALKS", "--out", "DIR"],
    ("report", "--compare"): ["report", "WALKS", "--compare", "DIR"],
    ("report", "--against"): ["report", "WALKS", "--against", "DIR"],
    ("validate", "logs"): ["validate", RETRY, "DIR", "--mapping", "MAPPING"],
    ("validate", "--out"): ["validate", RETRY, "LOG", "--mapping", "MAPPING", "--out", "DIR"],
    ("traces replay", "folder"): ["traces", "replay", "DIR", "0"],
    ("advise", "--out"): ["advise", "SETTINGS", "--out", "DIR"],
    ("audit", "folders"): ["audit", "DIR"],
    ("cluster", "folder"): ["cluster", "up", "DIR"],
    ("cluster", "--lib"): ["cluster", "up", "NEW", "--lib", "DIR"],
    ("conform", "--lib"): ["conform", "--lib", "DIR"],
    ("experiment", "--out"): ["experiment", "p3-lost-response", "--out", "DIR"],
    ("experiment", "--lib"): ["experiment", "p3-lost-response", "--lib", "DIR"],
    ("experiment", "--again"): ["experiment", "soak", "--again", "DIR", "--out", "NEW"],
    ("pages", "folder"): ["pages", "DIR", "--check"],
    ("pages", "--site"): ["pages", "DOCS", "--site", "DIR", "--quick"],
    ("record", "--cluster"): ["record", "NEW", "--cluster", "DIR", "--partition", "mine-0"],
}
"""For each option or argument that may be a folder, words of a command line that give it the folder DIR."""

FILES = {"--json", "--junit", "--sarif", "file", "--ledger", "--update-docs", "--spec", "--certificate", "--history"}
FILES |= {"trace", "log", "files", "--mapping", "--from", "name", "conform spec"}
FILES |= {"traces replay --out", "show --out", "audit --html"}
"""The options and arguments of which the value is a file, which the command reads or writes under that name."""


def folders_of_commands():
    """Yield each option and argument that the declarations give a path, with the words of its command."""
    for words in commands_of(app):
        command, context = app, click.Context(app)
        for word in words:
            command = command.get_command(context, word)
        for parameter in command.params:
            name = parameter.opts[0]
            is_path = isinstance(parameter.type, click.Path | _LocationType)
            is_named = any(word in (parameter.metavar or "") for word in ("FILE", "DIR", "PATH", "OTHER", "LOG"))
            if (is_path or is_named) and name not in FILES and f"{' '.join(words)} {name}" not in FILES:
                yield " ".join(words), name


def test_every_folder_of_the_command_line_is_tried():
    assert set(folders_of_commands()) == set(WORDS)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Return the paths of what commands read, by the words for them."""
    folder = tmp_path_factory.mktemp("inputs")
    log = "".join(json.dumps(event) + "\n" for event in GOOD)
    texts = {"LOG": log, "MAPPING": MAPPING, "SETTINGS": "acks=all\nenable.idempotence=true\n"}
    for name, text in texts.items():
        (folder / f"{name}{'.py' if name == 'MAPPING' else '.properties'}").write_text(text)
    (folder / "DOCS").mkdir()
    (folder / "DOCS" / "index.md").write_text("# Docs\n")
    assert main(["simulate", RETRY, "--traces", "100", "--out", str(folder / "WALKS")]) in (0, 1)
    return {name: folder / f"{name}{'.py' if name == 'MAPPING' else '.properties'}" for name in texts} | {
        "WALKS": folder / "WALKS",
        "DOCS": folder / "DOCS",
    }


def write_foreign(folder):
    for name in FOREIGN:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"mine: {name}")


def foreign_text(folder):
    return {name: (folder / name).read_text() for name in FOREIGN if (folder / name).exists()}


SLOW = {("pages", "folder"), ("advise", "--out")}


@pytest.mark.parametrize(
    "key", [pytest.param(key, marks=[pytest.mark.slow] if key in SLOW else [], id=" ".join(key)) for key in WORDS]
)
def test_a_command_leaves_foreign_files(key, inputs, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(experiment_run, "make_folder", lambda folder: pytest.fail("an experiment starts"))
    folder = tmp_path / "folder"
    folder.mkdir()
    write_foreign(folder)
    before = foreign_text(folder)
    places = inputs | {"DIR": folder, "NEW": tmp_path / "new"}
    assert main([str(places.get(word, word)) for word in WORDS[key]]) in (0, 1, 2, 3)
    assert foreign_text(folder) == before
    assert "internal error" not in capsys.readouterr().err


@pytest.mark.parametrize("key", [("run", "--checkpoint"), ("simulate", "--out"), ("validate", "--out")], ids=" ".join)
def test_a_second_run_leaves_files_that_came_after_the_first(key, inputs, tmp_path):
    folder = tmp_path / "folder"
    words = [str((inputs | {"DIR": folder}).get(word, word)) for word in WORDS[key]]
    assert main(words) in (0, 1)
    # The report of a validation is replaced, as its files are.
    write_foreign(folder)
    before = foreign_text(folder)
    main(words)
    assert foreign_text(folder) == before


def test_walks_without_their_description_are_no_walks(inputs, tmp_path, capsys):
    folder = tmp_path / "walks"
    words = [str((inputs | {"DIR": folder}).get(word, word)) for word in WORDS["simulate", "--out"]]
    main(words)
    for damage in (lambda file: file.write_text("{"), lambda file: file.unlink(), lambda file: file.symlink_to("none")):
        damage(folder / "run.json")
        capsys.readouterr()
        assert main(words) == 2
        assert str(folder) in capsys.readouterr().err
    # A run that died before its first part is begun again.
    empty = tmp_path / "died"
    (empty / "walks").mkdir(parents=True)
    (empty / ".run.json.12.abc").touch()
    assert main([*words[:-1], str(empty)]) in (0, 1)


def test_an_experiment_replaces_no_result(tmp_path, monkeypatch):
    """Neither that of an earlier run, nor the cluster that still runs in it."""
    for module, name in (
        (all_experiments, "perform_experiment"),
        (soak_command, "SoakRun"),
        (soak_command, "_examine"),
    ):
        monkeypatch.setattr(module, name, lambda *given: pytest.fail("something runs"))
    monkeypatch.setattr(soak_command, "read_soak", lambda soak: (SoakPlan("4.3.1", 1, 1), []))
    for name in ("cluster", "outcome.json"):
        out = tmp_path / f"of {name}"
        (out / "cluster").mkdir(parents=True)
        (out / name).touch() if name != "cluster" else (out / name / "cluster.json").write_text("{}")
        with pytest.raises(InputError, match="replaces none: name a new folder"):
            all_experiments.run_every_experiment(None, out)
        with pytest.raises(InputError, match="replaces none: name a new folder"):
            soak_command.run_soak(SoakPlan("4.3.1", 1, 1), out)
        with pytest.raises(InputError, match="replaces none: name a new folder"):
            soak_command.record_soak_again(tmp_path / "soak", out)


def test_a_site_replaces_its_own_files_alone(tmp_path):
    output, site = tmp_path / "output", tmp_path / "site"
    (output / "a").mkdir(parents=True)
    (output / "a" / "index.html").write_text("1")
    site_builder._replace(output, site)
    (output / "a" / "index.html").write_text("2")
    site_builder._replace(output, site)
    assert (site / "a" / "index.html").read_text() == "2"
    (site / "a" / "mine.txt").write_text("mine")
    with pytest.raises(OutputError, match="has files that are not of a site"):
        site_builder._replace(output, site)
    assert (site / "a" / "mine.txt").read_text() == "mine"
    # A mark without a list, as of an older release, names no file.
    (site / site_builder._MARK).write_text("")
    with pytest.raises(OutputError, match="has files that are not of a site"):
        site_builder._check_target(site)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["output", "site"]


def test_the_checkpoint_of_an_exploration_on_spark_keeps_foreign_files(tmp_path):
    from spark_analysis.explore.checkpoint import Checkpoint, ExplorationIdentity

    names = {"runs/mine", "runs/00001-mine", "candidates/notes.txt", "runs/00001-00002-abc", "candidates/initial"}
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps(name))
    Checkpoint(tmp_path, ExplorationIdentity("s", {}, [], "", 1), durable=False).load()
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {"runs/mine", "runs/00001-mine", "candidates/notes.txt"}
