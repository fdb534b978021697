"""The tutorial and docs/ci.md in a shell: an empty folder, a new virtual environment, and the workflow's commands."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.docs.pages import ROOT, Block, blocks_of, difference, save, steps_of

pytestmark = pytest.mark.slow

CHECKOUT = "PATH/TO/TIDEMARK"
STATUS = "----status:"


class Shell:
    """A shell that keeps its folder and its environment from one command to the next."""

    def __init__(self, folder):
        identity = {f"GIT_{role}_{name}": "reader" for role in ("AUTHOR", "COMMITTER") for name in ("NAME", "EMAIL")}
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST", "GITHUB"))
        }
        # `python3` is the version that runs the tests.
        kept["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
        self._process = subprocess.Popen(
            ["bash"],
            cwd=folder,
            env=kept | identity,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, command):
        """Run a command and return its exit status and its output."""
        self._process.stdin.write(f"{command.replace(CHECKOUT, str(ROOT))} </dev/null\necho '{STATUS}'$?\n")
        self._process.stdin.flush()
        lines = []
        for line in self._process.stdout:
            before, found, status = line.partition(STATUS)
            if found:
                return int(status), "".join([*lines, before])
            lines.append(line)
        raise AssertionError(f"the shell ended: {''.join(lines)}")

    @property
    def folder(self):
        """The folder in which the shell is."""
        return Path(self.run("pwd")[1].strip())

    def close(self):
        self._process.stdin.close()
        self._process.wait()


@pytest.fixture
def shell(tmp_path):
    opened = Shell(tmp_path)
    yield opened
    opened.close()


def problems_of(page, shell):
    """Run the steps of a page, and return a sentence for each command with another output."""
    found = []
    for step in steps_of(page):
        if isinstance(step, Block):
            save(step, shell.folder)
            continue
        status, printed = shell.run(step.text)
        # 1 is a verdict of the checker.
        if status not in ((0, 1) if "checker" in step.text else (0,)):
            found.append(f"{step}\nexit status {status}: {printed}")
        elif step.output and (differs := difference(step.output, printed)):
            found.append(f"{step}\n{differs}")
    return found


def test_the_tutorial(shell):
    found = problems_of("docs/tutorial.md", shell)
    assert not found, "\n\n".join(found)
    status, printed = shell.run("git status --short --untracked-files=no && git ls-files")
    assert status == 0
    assert {"specs/lease.py", "specs/proved_store.py", ".github/workflows/specs.yml"} <= set(printed.split())


def test_the_page_on_continuous_integration_and_its_workflow(shell):
    """The workflow installs the wheel, and its other commands pass after those of the page."""
    (block,) = (block for block in blocks_of("docs/ci.md") if block.language == "yaml")
    steps = [step["run"] for step in yaml.safe_load(block.text)["jobs"]["check"]["steps"] if "run" in step]
    assert len(steps) == 3
    for command in (
        "python3 -m venv .venv",
        "source .venv/bin/activate",
        f"pip wheel -q --no-deps -w vendor {CHECKOUT}",
    ):
        assert shell.run(command)[0] == 0
    install, *checks = steps
    status, printed = shell.run(install)
    assert status == 0, printed
    found = problems_of("docs/ci.md", shell)
    assert not found, "\n\n".join(found)
    for check in checks:
        status, printed = shell.run(check)
        assert status == 0, printed
    assert {"junit.xml", "results.sarif", "site"} <= {path.name for path in (shell.folder / "reports").iterdir()}
