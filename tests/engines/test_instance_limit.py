"""More action instances than an explorer numbers: every engine refuses the spec with one sentence."""

import pytest

from checker.cli.app import main

MANY = """
from checker.language import Range, Spec, action

class Many(Spec):
    x = Range(0, 65535)

    @action
    def put(self, high: Range(1, {high}), low: Range(1, {low})):
        self.x = 0 * (high + low)
"""


@pytest.mark.parametrize(
    "arguments",
    [
        *(("run", "--engine", engine) for engine in ("native", "python", "both", "spark")),
        ("run", "--store", "compact"),
        ("simulate", "--out", "walks"),
        ("graph", "graph.dot"),
    ],
    ids=" ".join,
)
def test_every_engine_refuses_more_instances(capsys, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "many.py").write_text(MANY.format(high=256, low=256))
    status = main([arguments[0], "many.py", *arguments[1:]])
    error = capsys.readouterr().err
    assert status == 2
    assert error.count("\n") == 1 and "has 65536 action instances, over 65535: bind a parameter" in error


def test_the_greatest_number_is_explored(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "many.py").write_text(MANY.format(high=257, low=255))
    assert main(["run", "many.py"]) == 0
