"""Odd environments: the answer is the right one, or an error says in a sentence why there is none."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import TOY

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent

VARIABLES = {
    "no variables": None,
    "no HOME": {"HOME": None},
    "HOME is a device": {"HOME": "/dev/null"},
    "HOME is missing": {"HOME": "/nothing/here"},
    "HOME is read-only": {"HOME": "/proc"},
    "cache in a device": {"XDG_CACHE_HOME": "/dev/null"},
    "cache in a relative folder": {"XDG_CACHE_HOME": "cache"},
    "code cache in a file": {"TIDEMARK_CODE_CACHE": TOY},
    "code cache in a shared folder": {"TIDEMARK_CODE_CACHE": "/tmp"},
    "code cache off": {"TIDEMARK_CODE_CACHE": "off"},
    "temporary folder is missing": {"TMPDIR": "/nothing/here"},
    "temporary folder is a device": {"TMPDIR": "/dev/null"},
    "ASCII": {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"},
    "UTF-16": {"PYTHONIOENCODING": "utf-16"},
    "unknown locale": {"LC_ALL": "xx_XX.nothing", "LANG": "yy"},
    "no columns": {"COLUMNS": "0"},
    "negative columns": {"COLUMNS": "-5"},
    "one column": {"COLUMNS": "1"},
    "many columns": {"COLUMNS": "1000000"},
    "columns are a word": {"COLUMNS": "many"},
    "dumb terminal": {"TERM": "dumb"},
    "unknown terminal": {"TERM": "\x1b[31m"},
    "colour is forced": {"FORCE_COLOR": "1", "CLICOLOR_FORCE": "1"},
    "no colour": {"NO_COLOR": "1"},
    "GitHub without a workspace": {"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": "/nothing"},
    "no assertions": {"PYTHONOPTIMIZE": "1"},
    "another hash seed": {"PYTHONHASHSEED": "12345"},
    "warnings are errors": {"PYTHONWARNINGS": "error"},
    "development mode": {"PYTHONDEVMODE": "1"},
    "unbuffered": {"PYTHONUNBUFFERED": "1"},
    "no PATH": {"PATH": ""},
    "no CPU features": {"OPENBLAS_CORETYPE": "nothing", "OMP_NUM_THREADS": "x"},
}  # fmt: skip

LIMITS = {
    "address space 3 GB": (resource.RLIMIT_AS, 3 << 30, {0}),
    "address space 1 GB": (resource.RLIMIT_AS, 1 << 30, {0, 3}),
    "address space 400 MB": (resource.RLIMIT_AS, 400 << 20, {0, 2, 3}),
    "address space 385 MB": (resource.RLIMIT_AS, 385 << 20, {0, 2, 3}),
    "address space 250 MB": (resource.RLIMIT_AS, 250 << 20, {3}),
    "address space 100 MB": (resource.RLIMIT_AS, 100 << 20, {3}),
    "files of 0 bytes": (resource.RLIMIT_FSIZE, 0, {0, 2}),
    "6 open files": (resource.RLIMIT_NOFILE, 6, {0, 2, 3}),
    "12 open files": (resource.RLIMIT_NOFILE, 12, {0, 2, 3}),
    "stack of 256 kB": (resource.RLIMIT_STACK, 256 << 10, {0, 2, 3}),
    "no locked memory": (resource.RLIMIT_MEMLOCK, 0, {0}),
    "no core files": (resource.RLIMIT_CORE, 0, {0}),
}

VERDICTS = {
    "toy/counter/reaches_limit": "violated",
    "toy/overflow/overflows": "error",
    "toy/bounded/bounded": "holds",
    "toy/log/two_leaders": "violated",
}


def run(words, environment=None, **more):
    return subprocess.run(
        [sys.executable, "-m", "checker", *map(str, words)],
        env=(environment or dict(os.environ)) | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=60,
        **more,
    )


def check(done, expected, tmp_path):
    err = done.stderr.decode(errors="replace")
    assert done.returncode in expected, (done.returncode, err)
    assert "Traceback" not in err and "\x1b" not in err
    if done.returncode:
        assert err.startswith("error: "), err
    else:
        lines = map(json.loads, (tmp_path / "out.json").read_text().splitlines())
        assert {f"{line['spec']}/{line['scenario']}": line["verdict"] for line in lines} == VERDICTS


@pytest.mark.parametrize("name", VARIABLES)
def test_variables(tmp_path, name):
    changes = VARIABLES[name]
    environment = {} if changes is None else dict(os.environ)
    for variable, value in (changes or {}).items():
        environment.pop(variable, None)
        if value is not None:
            environment[variable] = value
    words = ["run", TOY, "--workers", 2, "--json", tmp_path / "out.json"]
    check(run(words, environment, cwd=tmp_path), {0}, tmp_path)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", LIMITS)
def test_limits(tmp_path, name, workers):
    which, size, expected = LIMITS[name]
    words = ["run", TOY, "--workers", workers, "--json", tmp_path / "out.json"]
    done = run(words, preexec_fn=lambda: resource.setrlimit(which, (size, size)))
    check(done, expected, tmp_path)


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)], ids=str)
def test_closed_streams(tmp_path, closed):
    closing = " ".join(f"{number}>&-" for number in closed)
    command = f"{sys.executable} -m checker run {TOY} --json {tmp_path}/out.json {closing}"
    done = subprocess.run(
        ["sh", "-c", command], env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, timeout=60
    )
    check(done, {0}, tmp_path)


def test_a_removed_working_folder(tmp_path):
    (tmp_path / "gone").mkdir()
    command = f"cd {tmp_path}/gone && rmdir ../gone && {sys.executable} -m checker run {TOY} --json {tmp_path}/out.json"
    done = subprocess.run(
        ["sh", "-c", command], env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, timeout=60
    )
    check(done, {0, 2}, tmp_path)


@pytest.mark.parametrize("mask", [0o077, 0o777])
def test_a_mask_of_permissions(tmp_path, mask):
    done = run(["run", TOY, "--json", tmp_path / "out.json"], preexec_fn=lambda: os.umask(mask))
    check(done, {0}, tmp_path)


@pytest.mark.parametrize("words", [("list",), ("run", TOY), ("run", "--help"), ("--help",)], ids=str)
def test_a_reader_that_closes_its_pipe(words):
    command = " ".join([sys.executable, "-m", "checker", *words, "|", "head", "-c", "1"])
    done = subprocess.run(
        ["sh", "-c", command], env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, b"")


INTERPRETER_CHANGES = {
    "no path of modules": "import sys\nsys.path.clear()",
    "few nested calls": "import sys\nsys.setrecursionlimit(50)",
    "no streams": "import sys\nsys.stdout = sys.stderr = None",
    "closed stream": "import sys\nsys.stdout.close()",
    "closed descriptor": "import os\nos.close(1)",
    "few open files": "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (5, 5))",
}


@pytest.mark.parametrize("name", INTERPRETER_CHANGES)
def test_a_spec_that_changes_the_interpreter_is_no_verdict(tmp_path, name):
    (tmp_path / "mine.py").write_text(f"{INTERPRETER_CHANGES[name]}\n{Path(TOY).read_text()}")
    done = run(["run", tmp_path / "mine.py", "--engine", "python"])
    assert done.returncode in {2, 3, 70}, done
    assert b"error: " in done.stderr and b"Traceback" not in done.stderr
