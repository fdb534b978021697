"""The names of specs on the command line: families, files and folders, and the suggestions for wrong names."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from checker.cli.app import main
from checker.run import registry, spec_folders
from tests.cli.conftest import TOY

ROOT = Path(__file__).parent.parent.parent
RETRY = ROOT / "examples" / "retry.py"
PETERSON = ROOT / "specs" / "examples" / "peterson.py"

MODULE = '''
from checker.language import Range, Scenario, Spec, action, invariant
{imports}

class {name}(Spec):
    """A number that grows."""

    count = Range(0, 2)

    @action
    def go(self):
        self.count = {value}

    @invariant
    def is_small(self):
        return self.count < 2


scenarios = [Scenario({name}, "small", expect={{"is_small": 2}})]
'''


def module(name, value="2", imports=""):
    return MODULE.format(name=name, value=value, imports=imports)


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A working directory with a file, a package with a sub-package, and files that are no specs."""
    package = tmp_path / "protocols"
    (package / "inner").mkdir(parents=True)
    for folder in (package, package / "inner"):
        (folder / "__init__.py").touch()
    (tmp_path / "loose.py").write_text(module("Loose"))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "other.py").write_text(module("Other"))
    (package / "base.py").write_text("LAST = 2\n")
    (package / "outer.py").write_text(module("Outer", "LAST", "from .base import LAST\n"))
    (package / "inner" / "deep.py").write_text(module("Deep", "LAST", "from protocols.base import LAST\n"))
    for name in ("test_own.py", "conftest.py", "_draft.py"):
        (tmp_path / name).write_text("raise SystemExit('not a spec')\n")
    monkeypatch.chdir(tmp_path)
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        if name.split(".")[0] == "protocols":
            del sys.modules[name]


def names(outcome):
    """Return the names in the rows of a run."""
    return [line.split()[0] for line in outcome.out.splitlines() if line.endswith("is_small 2")]


ALL = ["other/other/small", "loose/loose/small", "protocols/outer/small", "inner/deep/small"]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (".", ALL),
        ("./", ALL),
        ("folder", ["other/other/small"]),
        ("folder/", ["other/other/small"]),
        ("./folder", ["other/other/small"]),
        ("protocols", ["protocols/outer/small", "inner/deep/small"]),
        ("protocols/outer", ["protocols/outer/small"]),
        ("protocols/outer/small", ["protocols/outer/small"]),
        ("protocols/inner", ["inner/deep/small"]),
        ("protocols/inner/deep", ["inner/deep/small"]),
        ("protocols/outer.py", ["outer/outer/small"]),
        ("protocols/inner/deep.py", ["deep/deep/small"]),
        ("folder/other.py/other/small", ["other/other/small"]),
    ],
)
def test_what_a_name_selects(checker, own, target, expected):
    outcome = checker("run", target, "--engine", "python")
    # The folder is shown before its code runs.
    shown = f"importing [0-9]+ Python files? in {re.escape(str(own))}.*\n" if Path(target).is_dir() else ""
    assert outcome.status == 0 and re.fullmatch(shown, outcome.err)
    assert sorted(names(outcome)) == sorted(expected)


def test_several_names_of_files_and_folders(checker, own):
    outcome = checker("run", "protocols/inner/deep.py", "folder", f"{own}/protocols", "--engine", "python")
    assert names(outcome) == ["deep/deep/small", "other/other/small", "protocols/outer/small", "inner/deep/small"]


def test_list_shows_the_specs_that_run_runs(checker, own):
    outcome = checker("list", ".")
    targets = [line.split()[0] for line in outcome.out.splitlines() if "A number that grows." in line]
    assert sorted(targets) == ["folder/other.py/other", "loose.py/loose", "protocols/inner/deep", "protocols/outer"]
    assert names(checker("run", *targets, "--engine", "python")) == names(checker("run", ".", "--engine", "python"))


def test_a_name_of_the_library_comes_before_a_folder(checker, own):
    shutil.copytree(own / "folder", own / "examples")
    assert "examples/peterson" in checker("list", "examples").out
    for name in ("examples/", "./examples", str(own / "examples")):
        assert names(checker("run", name, "--engine", "python")) == ["other/other/small"]


@pytest.mark.parametrize("target", ["protocols/outer", "folder/other.py/other"])
def test_a_trace_of_a_folder_is_shown_if_the_user_names_its_spec(checker, own, target):
    checker("run", target, "--engine", "python", "--out", "out")
    (trace,) = Path("out").glob("*small.json")
    where = target.rpartition("/")[0]
    refused = checker("show", trace)
    assert refused.status == 2 and f"add --spec {where} to the command if you trust that" in refused.err
    shown = checker("show", trace, "--spec", where)
    assert (shown.status, shown.err) == (0, "")
    command = shown.out.partition("python -m checker ")[2].split()
    assert names(checker(*command, "--engine", "python")) == names(checker("run", target, "--engine", "python"))


def test_all_errors_of_a_folder_are_reported(checker, own):
    for name in ("loose", "folder/other"):
        (own / f"{name}.py").write_text("import nothing_of_this_name\n")
    outcome = checker("run", ".")
    assert outcome.status == 2
    assert (
        outcome.err.count("nothing_of_this_name") >= 2 and "other.py:1" in outcome.err and "loose.py:1" in outcome.err
    )


CODE = "from pathlib import Path\nPath(__file__).with_name('ran').touch()\n"


@pytest.mark.parametrize("command", ["run", "list", "simulate", "validate", "prove", "mutate", "explore"])
def test_code_of_a_folder_elsewhere_does_not_run(checker, tmp_path, monkeypatch, command):
    (tmp_path / "inner").mkdir()
    (tmp_path / "code.py").write_text(CODE)
    (tmp_path / "link").symlink_to("/")
    monkeypatch.chdir(tmp_path / "inner")
    more = {
        "simulate": ("--out", "walks"),
        "validate": ("log.jsonl", "--mapping", "m.py"),
        "explore": ("--no-browser",),
    }
    for target in ("..", "../", f"{tmp_path}", "/", "//", "", "../inner/.."):
        outcome = checker(command, target, *more.get(command, ()))
        assert outcome.status == 2 and outcome.err.startswith("error: ") and not (tmp_path / "ran").exists(), target
    monkeypatch.chdir(tmp_path)
    # A link is its target, and a large folder is none of specs.
    assert "is outside the working directory" in checker("run", "link").err
    assert "has too many files and folders" in checker("run", ".").err and not (tmp_path / "ran").exists()


def test_a_project_elsewhere_is_found(checker, own, monkeypatch, tmp_path_factory):
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert "is outside the working directory" in checker("run", own).err
    # A package is named as a file is.
    assert names(checker("run", own / "protocols", "--engine", "python")) == [
        "protocols/outer/small",
        "inner/deep/small",
    ]
    (own / "pyproject.toml").touch()
    for folder, expected in ((own, ALL), (own / "folder", ["other/other/small"])):
        assert sorted(names(checker("run", folder, "--engine", "python"))) == sorted(expected)


def test_a_folder_of_too_many_files_is_refused(checker, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(spec_folders, "MOST_FILES", 3)
    for number in range(3):
        (tmp_path / f"code{number}.py").write_text(CODE)
    (tmp_path / "test_more.py").touch()
    assert "has no spec" in checker("run", ".").err and (tmp_path / "ran").exists()
    (tmp_path / "ran").unlink()
    (tmp_path / "code3.py").touch()
    assert "has too many files and folders" in checker("run", ".").err and not (tmp_path / "ran").exists()


@pytest.mark.parametrize("command", ["run", "list"])
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("examples/nosuch", "examples has no spec nosuch"),
        ("examples/peterson/nosuch", "has no scenario nosuch"),
        (f"{RETRY}/a/b/c", "retry has no spec a"),
        ("examples//peterson", "has an empty part"),
        ("examples/peterson//", "has an empty part"),
        (f"{RETRY}//retry", "has an empty part"),
    ],
)
def test_names_of_nothing(checker, command, name, says):
    outcome = checker(command, name)
    assert outcome.status == 2 and says in outcome.err and outcome.out == ""


def test_any_name_of_a_file(checker, tmp_path):
    strange = ["r.py.py", "two words.py", "1.py", "a.b.c.py", "r-\u00e9.py", os.fsdecode(b"r\xff.py"), "\x1b[31m.py"]
    for name in strange:
        shutil.copy(RETRY, tmp_path / name)
        outcome = checker("run", tmp_path / name, "--out", tmp_path / "out")
        assert outcome.status == 1 and "error" not in outcome.err
        assert "\x1b" not in outcome.out + outcome.err
    endings = Counter(path.suffix for path in (tmp_path / "out").iterdir())
    assert {count % len(strange) for count in endings.values()} == {0} and len(endings) >= 4


@pytest.mark.parametrize("value", ["\u096d", "1\u096d", "\uff13", ""])
def test_numbers_have_plain_digits(checker, value):
    outcome = checker("run", f"{TOY}/counter", "--set", f"limit={value}")
    assert outcome.status == 2 and "must be an integer" in outcome.err


@pytest.mark.parametrize("value", ["nan", "-nan", "inf", "-inf", "1e308", "1e999", "4294968", "0"])
def test_a_time_limit_is_a_number_of_seconds_that_the_solvers_can_count(checker, value):
    outcome = checker("prove", "examples/peterson", "--timeout", value)
    assert outcome.status == 2 and ("is not a number" in outcome.err or "is not in the range" in outcome.err)


def test_a_folder_without_specs(checker, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert f"the folder {tmp_path} has no spec" in checker("run", tmp_path).err
    assert "there is no file or folder ./nothing" in checker("run", "./nothing").err


PACKAGES = {"specs": "Specs", "traces": "Traces"}


def test_packages_of_the_working_directory_hide_nothing(tmp_path):
    for package, name in PACKAGES.items():
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
        (tmp_path / package / "mine.py").write_text(module(name))
    environment = os.environ | {"PYTHONPATH": str(ROOT)}

    def out(*words):
        command = [sys.executable, "-m", "checker", *words]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True).stdout

    assert "broker/leader_state" in out("list", "broker")
    assert "specs/specs/small" in out("run", "specs", "--engine", "python")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("kip101", "unknown spec family kip101: did you mean replication/kip101? The families are broker, "),
        ("kip101/three_replicas", "did you mean replication/kip101? "),
        ("kip102", "did you mean replication/kip101? "),
        ("replicatoin/kip101", "did you mean replication? Choose from broker, "),
        ("producer/kip101", "producer has no spec kip101: did you mean replication/kip101?"),
        ("producer/plain_produced", "did you mean plain_producer? `python -m checker list producer` lists all "),
        ("nothing", "choose from broker, consumer, examples, "),
    ],
)
def test_a_wrong_name_gets_a_suggestion(checker, name, says):
    outcome = checker("run", name)
    assert (outcome.status, outcome.out) == (2, "")
    assert says in outcome.err and len(outcome.err) < 200


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (f"{RETRY.with_name('retri.py')}/x", f"retri.py does not exist: did you mean {RETRY}?"),
        ("nowhere/kip101.py", "nowhere/kip101.py does not exist: did you mean replication/kip101?"),
        ("nowhere/xyz.py", "nowhere/xyz.py does not exist"),
        (f"{PETERSON}/exclusve", f"did you mean the scenario {PETERSON}/peterson/exclusive?"),
        (f"{PETERSON}/swapped_steps", f"did you mean the scenario {PETERSON}/peterson_hasty/swapped_steps?"),
        (f"{PETERSON}/petersn", "peterson has no spec petersn: did you mean peterson?"),
        ("examples/exclusive", "did you mean the scenario examples/peterson/exclusive?"),
    ],
)
def test_a_wrong_file_or_scenario_names_the_right_spelling(checker, name, says):
    outcome = checker("run", name)
    assert (outcome.status, outcome.out) == (2, "")
    assert says in outcome.err
    assert "xyz" not in name or "did you mean" not in outcome.err


def test_a_missing_ending_gets_a_suggestion(checker, own):
    assert "did you mean the file loose.py?" in checker("run", "loose").err
    (own / "examples").mkdir()
    shutil.copy("loose.py", "examples")
    assert (
        "examples has no spec loose: did you mean the file examples/loose.py?" in checker("run", "examples/loose").err
    )


def test_long_lists_of_names_are_cut():
    known = [f"name{number}" for number in range(40)]
    assert registry.suggestion("other", known[:3]) == "choose from name0, name1, name2"
    assert registry.suggestion("other", known).endswith("name11 and 28 others")
    assert registry.suggestion("nam", known, "`list` lists all 40") == "did you mean name9? `list` lists all 40"


@pytest.mark.parametrize("words", [["--version"], ["-h"], ["run", "-h"], ["cache", "show", "-h"], ["advise", "-h"]])
def test_version_and_short_help(checker, words):
    outcome = checker(*words)
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.startswith("tidemark " if words == ["--version"] else "Usage: ")


def test_a_reader_that_closes_its_pipe_is_no_error():
    command = f"{sys.executable} -m checker run {TOY} --engine python --workers 2 | head -1"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(["sh", "-c", command], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split()[0] == "verdict"


@pytest.mark.parametrize(
    ("name", "scenario"),
    [
        ("I7", "producer/idempotent_producer/i7_restart"),
        ("i7", "producer/idempotent_producer/i7_restart"),
        ("KAFKA-7128", "replication/partition/r7_"),
    ],
)
def test_names_of_the_catalogue_are_targets(name, scenario, checker):
    (selection,) = registry.select(name)
    assert f"{selection.entry.name}/{selection.scenario.name}".startswith(scenario)
    assert selection.scenario.name in checker("list", name).out


def test_a_ticket_names_all_its_entries():
    assert len(registry.select("KIP-101")) > 1


def test_what_is_known_of_an_entry_is_shown(checker):
    shown = checker("show", "i7")
    assert shown.status == 0 and shown.out.startswith("I7: After a clean restart the broker remembers one batch\n")
    assert all(f"  {field}  " in shown.out for field in ("needs", "remedy", "releases", "seen", "page", "check it"))
    refused = checker("show", "i7", "--format", "html")
    assert refused.status == 2 and "python -m checker run i7 shows them" in refused.err


def test_an_entry_without_a_model_says_so(checker):
    assert "model     none: no scenario shows it" in checker("show", "Producer h-1").out
    refused = checker("run", "producer H-1")
    assert refused.status == 2 and "no spec models producer H-1" in refused.err
    assert "show 'producer H-1'" in refused.err


@pytest.mark.parametrize("command", ["show", "run", "list"])
def test_the_last_word_of_two_names_is_neither(checker, command):
    """Controller H-4 has a scenario, producer H-4 has none."""
    refused = checker(command, "h-4")
    assert refused.status == 2 and not refused.out
    assert "'controller H-4' (A removed disk" in refused.err and "'producer H-4' (A late answer" in refused.err
    assert checker(command, "Controller h-10").status == checker(command, "h-10").status == 0


def test_an_entry_of_two_subjects_is_shown_by_its_whole_name(checker):
    shown = checker("show", "controller h-4").out
    assert shown.startswith("controller H-4: ") and "producer H-4" not in shown
    assert "check it  python -m checker run 'controller H-4'" in shown
    assert [each.scenario.name for each in registry.select("controller H-4")] == ["removed_disk"]


def test_show_names_the_nearest_entry(checker):
    assert "the catalogue has no entry I99: did you mean I9" in checker("show", "I99").err


def test_a_file_comes_before_a_name_of_the_catalogue(checker, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "I7").write_text("{}")
    assert "I7 is not a trace" in checker("show", "I7").err


def test_the_name_of_a_scenario_alone_is_completed(checker):
    assert "did you mean producer/plain_producer/p1_reorder_by_retry?" in checker("run", "p1_reorder_by_retry").err


@pytest.mark.parametrize("command", ["run", "list"])
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("controler H-10", "the catalogue has no entry controler H-10: did you mean controller H-10 or "),
        ("R181", "the catalogue has no entry R181: did you mean R18 or "),
        ("kip-1011", "the catalogue has no entry kip-1011: did you mean KIP-101"),
        ("C99", "the catalogue has no entry C99: did you mean C9"),
        ("KAFKA-99999", "the catalogue has no entry KAFKA-99999"),
        ("zz-5", "the catalogue has no entry zz-5\n"),
    ],
)
def test_a_name_that_looks_like_an_entry_gets_the_nearest_entries(checker, command, name, says):
    outcome = checker(command, name)
    assert (outcome.status, outcome.out) == (2, "")
    assert says in outcome.err


@pytest.mark.parametrize(
    "scenario", ["Scenario(Kip101, 'mine')", "Bug('mine', Kip101, {'weak_isr': 7}, faulty={}, fixed={})"]
)
def test_a_scenario_of_another_files_spec_is_refused(scenario, tmp_path, capsys):
    file = tmp_path / "mine.py"
    file.write_text(
        "from checker.language import Bug, Scenario, Spec, Range, action\n"
        "from specs.replication.kip101 import Kip101\n\n\n"
        "class Own(Spec):\n    n = Range(0, 1)\n\n    @action\n    def stay(self):\n        self.n = 0\n\n\n"
        f"scenarios = [Scenario(Own, 'usual'), {scenario}]\n"
    )
    assert main(["run", str(file)]) == 2
    errors = " ".join(capsys.readouterr().err.split())
    assert f"{file}:13:" in errors and "mine is of Kip101, which this file or package does not define" in errors
