"""Wrong specs that a generator makes end with exit status 2 and sentences that have the file and the line."""

import random
import re
import sys
from pathlib import Path

import pytest

import specs
from checker.cli.app import main
from tests.frontend.wrong_specs import WrongSpec, wrong_specs

HEADER = "from checker.language import *\nfrom checker.language import Lane\n"

TOY = Path(__file__).parent.parent / "toy.py"

FILES = [
    path
    for path in sorted(Path(specs.__file__).parent.rglob("*.py"))
    if "@action" in path.read_text() and "(Spec):" in path.read_text()
]
"""Files with whole specs, which do not inherit their parts from other files."""


def outcome_of(text: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Run a module's specs as the command line does, and return the exit status, the output and the errors."""
    path = folder / f"wrong_{len(list(folder.iterdir()))}.py"
    path.write_text(text)
    try:
        status = main(["run", str(path), "--engine", "python", "--workers", "1", "--max-states", "1"])
    finally:
        sys.modules.pop(f"spec_file_{path.stem}", None)
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def problem_with(wrong: WrongSpec, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Return what is wrong with the report of a wrong spec, or "": it needs status 2, a file, a line and a sentence."""
    status, out, err = outcome_of(wrong.text, folder, capsys)
    if status == 2 and re.match(r"error: \S+\.py:\d+:", err) and "Traceback" not in err:
        return ""
    if status in (0, 3) and wrong.probe is not None and outcome_of(wrong.probe, folder, capsys)[0] != 2:
        return ""
    return f"{wrong.mistake}: status {status}\n{out}{err}"


def test_wrong_versions_of_a_toy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = _with_names(TOY.read_text().split("class Overflow(")[0])
    assert outcome_of(text, tmp_path, capsys)[0] in (0, 1, 3)
    made = list(wrong_specs(text))
    assert len({wrong.text for wrong in made}) > 150
    problems = [problem_with(wrong, tmp_path, capsys) for wrong in random.Random(1).sample(made, 30)]
    assert not [problem for problem in problems if problem]


@pytest.mark.slow
@pytest.mark.parametrize("file", [TOY, *FILES], ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_wrong_versions_of_a_spec(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = _with_names(file.read_text())
    made = list(wrong_specs(text))
    chosen = random.Random(file.stem).sample(made, min(len(made), 25))
    problems = [problem_with(wrong, tmp_path, capsys) for wrong in chosen]
    assert not [problem for problem in problems if problem]


ONE_SCENARIO = "\nscenarios = list({scenario.spec: scenario for scenario in reversed(scenarios)}.values())\n"
"""The end of a module that keeps the first scenario of each spec: the others have the same parts."""


def _with_names(text: str) -> str:
    """Return a module with all names of the language, which wrong declarations use, and a scenario for each spec."""
    if re.search(r"^scenarios\b", text, re.MULTILINE):
        text += ONE_SCENARIO
    if "from __future__ import annotations\n" in text:
        return text.replace("from __future__ import annotations\n", "from __future__ import annotations\n" + HEADER, 1)
    return text.replace("from checker.language", HEADER + "from checker.language", 1)
