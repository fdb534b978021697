"""The pytest plugin: scenarios as tests, and the fixture `check`."""

import subprocess
import sys

import pytest

from tests.pytest_plugin.conftest import ROOT, TOY_TEXT

SCENARIOS = ["counter/reaches_limit", "overflow/overflows", "bounded/bounded", "log/two_leaders"]


@pytest.mark.parametrize("engine", ["native", "python"])
def test_every_scenario_of_a_folder_is_a_test(project, pytester, engine):
    words = ["-v", "--checker-specs", "specs", "--checker-engine", engine]
    result = project(*words, run=pytester.runpytest_subprocess) if engine == "native" else project(*words)
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines([f"specs/toy.py::toy/{name}*PASSED*" for name in SCENARIOS])


def test_file_and_its_folder_are_collected_once(project):
    result = project("--checker-specs", "specs/toy.py", "--checker-specs", "specs", "-k", "counter or log")
    result.assert_outcomes(passed=2, deselected=2)


def test_specs_of_the_ini_file_run_with_the_tests(project, pytester):
    pytester.makeini("[pytest]\nchecker_specs = specs")
    pytester.makepyfile("def test_mine(): pass")
    project().assert_outcomes(passed=5)
    project("-m", "checker").assert_outcomes(passed=4, deselected=1)


def test_without_the_option_no_spec_is_a_test(project, pytester):
    pytester.makepyfile("def test_mine(): pass")
    project().assert_outcomes(passed=1)


def test_unexpected_verdict_fails_with_the_counterexample_and_no_traceback(project, pytester):
    (pytester.path / "specs" / "toy.py").write_text(TOY_TEXT.replace('{"logs_agree": 5}', '"holds"'))
    result = project("--checker-specs", "specs")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*toy/log/two_leaders*",
            "expected every property to hold, but logs_agree is violated (5 states)",
            "*logs_agree is violated: counterexample of 5 states",
            "  5  write(leader=b*)",
            "FAILED specs/toy.py::toy/log/two_leaders*",
        ]
    )
    result.stdout.no_fnmatch_line("*checking.py*")


def test_spec_without_scenarios_is_explored_with_default_constants(project, pytester):
    text = TOY_TEXT[: TOY_TEXT.index("scenarios = ")]
    (pytester.path / "specs" / "toy.py").write_text(text)
    result = project("--checker-specs", "specs")
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(["FAILED specs/toy.py::toy/counter*"])


def test_modules_of_a_package_import_each_other(project, pytester):
    family = pytester.path / "protocols" / "counting"
    family.mkdir(parents=True)
    for folder in (family.parent, family):
        (folder / "__init__.py").write_text("")
    (family / "base.py").write_text(TOY_TEXT[: TOY_TEXT.index("scenarios = ")])
    (family / "runs.py").write_text(
        "from checker.language import Scenario\n\nfrom .base import Bounded\n\n"
        'scenarios = [Scenario(Bounded, "four", {"limit": 4}), Scenario(Bounded, "five", {"limit": 5})]\n'
    )
    result = project("-v", "--checker-specs", "protocols", "-k", "bounded")
    result.assert_outcomes(passed=2, deselected=3)
    result.stdout.fnmatch_lines(["protocols/counting::counting/bounded/four*PASSED*"])


def test_syntax_error_in_one_file_leaves_the_others(project, pytester):
    (pytester.path / "specs" / "broken.py").write_text("class A(Spec:\n")
    result = project("--checker-specs", "specs", "--continue-on-collection-errors")
    result.assert_outcomes(passed=4, errors=1)
    result.stdout.fnmatch_lines(["*broken.py:1:13: *this is not Python*"])


def test_spec_outside_the_language_fails_with_its_line(project, pytester):
    (pytester.path / "specs" / "wrong.py").write_text(
        "from checker.language import Range, Spec, action\n\n\n"
        "class Wrong(Spec):\n    x = Range(0, 3)\n\n    @action\n    def go(self):\n        self.y = 1\n"
    )
    result = project("--checker-specs", "specs/wrong.py")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*wrong.py:9:9: *"])


def test_scenario_is_selected_by_the_name_of_its_test(project, pytester):
    pytester.makepyfile("def test_mine(): pass")
    project("--checker-specs", "specs", "specs/toy.py::toy/log/two_leaders").assert_outcomes(passed=1)
    both = ["specs/toy.py::toy/log/two_leaders", "test_scenario_is_selected_by_the_name_of_its_test.py::test_mine"]
    project("--checker-specs", "specs", *both).assert_outcomes(passed=2)
    result = project("--checker-specs", "specs", "specs/toy.py::toy/log/three")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*specs/toy.py has no scenario toy/log/three; its scenarios: toy/bounded/bounded, *"])


def test_missing_folder(project):
    result = project("--checker-specs", "nowhere")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*no such file or folder: *nowhere*"])


def test_fixture_check(project, pytester):
    pytester.makepyfile(
        "import sys\nsys.path.insert(0, 'specs')\nimport toy\n\n"
        "def test_holds(check):\n    assert check(toy.Bounded, limit=4).distinct_states == 3\n\n"
        "def test_fails(check):\n    check(toy.Counter, limit=2)\n"
    )
    result = project()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [">   *check(toy.Counter, limit=2)", "E   *below_limit is violated: counterexample of 3 states"]
    )
    result.stdout.no_fnmatch_line("*_explore*")


def test_plugin_alone_imports_no_module_of_the_checker():
    script = (
        "import sys, checker.pytest_plugin; "
        "print(*sorted(name for name in sys.modules if name.startswith(('checker', 'llvmlite', 'numpy', 'click'))))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["checker", "checker.pytest_plugin"]


def test_the_plugin_is_an_entry_point_of_the_distribution():
    assert 'tidemark = "checker.pytest_plugin"' in (ROOT / "pyproject.toml").read_text()
