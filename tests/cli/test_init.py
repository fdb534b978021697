"""`init` writes a starting point that passes its own test and lint, and replaces no file."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

WRITTEN = {".github/workflows/specs.yml", "pyproject.toml", "specs/lease.py", "tests/test_lease.py"}
ROOT = Path(__file__).parents[2]


def files_in(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def empty(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_files_are_written_and_named(checker, empty):
    outcome = checker("init")
    assert (outcome.status, outcome.err) == (0, "")
    assert files_in(empty) == WRITTEN
    assert {line.split()[1] for line in outcome.out.splitlines() if line.startswith("wrote ")} == WRITTEN
    assert outcome.out.endswith("next:\n  python -m checker run specs/lease.py\n  pytest\n")


def test_a_folder_is_created(checker, empty):
    outcome = checker("init", "some/where")
    assert outcome.status == 0
    assert files_in(empty / "some" / "where") == WRITTEN
    assert "\n  cd some/where\n" in outcome.out


def test_every_verdict_of_the_spec_is_as_expected(checker, empty):
    checker("init")
    outcome = checker("run", "specs/lease.py")
    assert outcome.status == 0
    assert "2 runs" in outcome.out and "all as expected" in outcome.out


@pytest.mark.parametrize("existing", sorted(WRITTEN - {"pyproject.toml"}))
def test_an_existing_file_is_not_replaced(checker, empty, existing):
    path = empty / existing
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    outcome = checker("init")
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err == f"error: {existing} exists, and init replaces no file: name a new folder, or move the file\n"
    assert files_in(empty) == {existing}
    assert path.read_text() == "mine"


def test_a_link_that_leads_nowhere_is_not_followed(checker, empty):
    (empty / "specs").mkdir()
    (empty / "specs" / "lease.py").symlink_to(empty / "elsewhere.py")
    assert checker("init").status == 2
    assert files_in(empty) == set()


def test_existing_settings_stay_and_the_missing_ones_are_printed(checker, empty):
    settings = empty / "pyproject.toml"
    settings.write_text("[project]\nname = 'mine'\n")
    outcome = checker("init")
    assert outcome.status == 0
    assert files_in(empty) == WRITTEN
    assert settings.read_text() == "[project]\nname = 'mine'\n"
    assert "pyproject.toml exists and is unchanged. Add these settings to it:\n" in outcome.out
    assert '    pythonpath = ["specs"]\n' in outcome.out


def test_a_file_instead_of_a_folder(checker, empty):
    (empty / "file").write_text("")
    outcome = checker("init", "file")
    assert (outcome.status, outcome.err) == (2, "error: file is a file: name a folder\n")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission(checker, empty):
    empty.chmod(0o500)
    outcome = checker("init")
    assert outcome.status == 2
    assert "cannot be written" in outcome.err


def test_a_folder_below_a_file(checker, empty):
    (empty / "file").write_text("")
    outcome = checker("init", "file/below")
    assert outcome.status == 2
    assert outcome.err.startswith("error: the file file/below/specs/lease.py cannot be written: ")


@pytest.mark.skipif(shutil.which("ruff", path=Path(sys.executable).parent) is None, reason="needs the extra dev")
@pytest.mark.parametrize("rule", [["check"], ["format", "--check"]], ids=lambda rule: rule[0])
def test_the_files_follow_the_default_rules_of_ruff(checker, empty, rule):
    checker("init")
    ruff = Path(sys.executable).parent / "ruff"
    done = subprocess.run([ruff, *rule, "--isolated", "--no-cache", "."], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_pytest_passes_without_an_option(checker, empty):
    checker("init")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stdout
    assert "tests/test_lease.py .." in done.stdout and "specs/lease.py .." in done.stdout and "4 passed" in done.stdout
