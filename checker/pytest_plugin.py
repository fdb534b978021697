"""The pytest plugin: scenarios as tests (`pytest --checker-specs specs/`), and the fixture `check`.

pytest loads this module in every environment that has this distribution. The plugin therefore imports the checker only
when it is used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from checker.api import CheckResult, SpecChecks
    from checker.language.spec import Scenario, Spec

MARK = "checker"

_CHOSEN = pytest.StashKey[dict[Path, set[str]]]()
"""The scenarios that the command line selects by the names of their tests, by the path of their family."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("checker", "specs and their scenarios (tidemark)")
    group.addoption(
        "--checker-specs",
        action="append",
        default=[],
        metavar="PATH",
        help="Check every scenario of a spec file, or of a folder of specs, as a test (repeatable).",
    )
    group.addoption(
        "--checker-engine", choices=("native", "python"), default="native", help="Engine that explores the specs."
    )
    parser.addini("checker_specs", "Spec files and folders of specs, as for --checker-specs.", type="paths")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark of scenarios: `pytest -m checker` runs only scenarios."""
    config.addinivalue_line("markers", f"{MARK}: a scenario of a spec, checked by exploring it.")


@pytest.fixture
def check(pytestconfig: pytest.Config) -> Callable[..., CheckResult]:
    """`check(spec, **constants)`: explore a spec; return the result, or fail with the counterexample as text."""
    return _checking(pytestconfig).check


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Add the families of specs to the collected tests."""
    report = yield
    if isinstance(collector, pytest.Session) and report.passed:
        report.result.extend(_families(collector))
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Remove the names of scenarios from the arguments: pytest would search test files for them."""
    paths = set(_family_paths(session.config))
    chosen: dict[Path, set[str]] = {}
    others = []
    for argument in session.config.args:
        file, colons, name = argument.partition("::")
        path = (session.config.invocation_params.dir / file).resolve()
        if colons and path in paths:
            chosen.setdefault(path, set()).add(name)
        else:
            others.append(argument)
    if chosen:
        session.config.args[:] = others
        session.config.stash[_CHOSEN] = chosen


def _family_paths(config: pytest.Config) -> list[Path]:
    """Return the files and packages of the specs that the options select, without repetitions."""
    given = [
        *(Path(path) for path in config.getini("checker_specs")),
        *(config.invocation_params.dir / path for path in config.getoption("--checker-specs")),
    ]
    if not given:
        return []
    from checker.run import spec_folders

    for path in given:
        if not path.exists():
            raise pytest.UsageError(f"--checker-specs: no such file or folder: {path}")
    return list(dict.fromkeys(found for path in given for found in spec_folders.family_paths(path.resolve())))


def _families(session: pytest.Session) -> Iterator[SpecFamily]:
    chosen = session.config.stash.get(_CHOSEN, None)
    for path in _family_paths(session.config):
        if chosen is None or path in chosen:
            yield SpecFamily.of(session, path)


class SpecFamily(pytest.Collector):
    """A family of specs, which is imported when it is collected."""

    @classmethod
    def of(cls, session: pytest.Session, path: Path) -> SpecFamily:
        """Return the collector of the family at a path."""
        relative = Path(os.path.relpath(path, session.config.rootpath)).as_posix()
        made: SpecFamily = cls.from_parent(session, name=relative, path=path, nodeid=relative)
        return made

    def collect(self) -> Iterator[pytest.Item]:
        """Iterate over the scenarios; a spec without scenarios is explored with its default constants."""
        from checker.run import registry

        chosen = self.config.stash.get(_CHOSEN, {}).get(self.path, set())
        found = set()
        for entry in registry.load_path(self.path).entries:
            for scenario in entry.scenarios or (None,):
                name = entry.name if scenario is None else f"{entry.name}/{scenario.name}"
                found.add(name)
                if chosen and name not in chosen:
                    continue
                yield SpecItem.from_parent(self, name=name, spec=entry.spec, scenario=scenario)
        for name in sorted(chosen - found):
            raise self.CollectError(f"{self.name} has no scenario {name}; its scenarios: {', '.join(sorted(found))}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return only the message of an error in a spec."""
        from checker.errors import UserError

        return str(excinfo.value) if isinstance(excinfo.value, UserError) else super().repr_failure(excinfo)


class SpecItem(pytest.Item):
    """A scenario as a test; without a scenario, the spec with its default constants."""

    def __init__(self, *, spec: type[Spec], scenario: Scenario | None, **named: Any):
        super().__init__(**named)
        self._spec, self._scenario = spec, scenario
        self.add_marker(MARK)

    def runtest(self) -> None:
        """Explore the spec."""
        checking = _checking(self.config)
        if self._scenario is None:
            checking.check(self._spec)
        else:
            checking.check_scenario(self._scenario, self.name)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the counterexample, or the message of an error in the spec."""
        from checker.api import CheckFailed
        from checker.errors import UserError

        if isinstance(excinfo.value, (CheckFailed, UserError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the location of the spec, with lines counted from 0, and the name of the scenario."""
        from checker.explain.locations import location_of

        found = location_of(self._spec, "")
        return (Path(found.file), found.first_line - 1, self.name) if found else (self.path, None, self.name)


def _checking(config: pytest.Config) -> SpecChecks:
    from checker.api import SpecChecks

    return SpecChecks(engine=config.getoption("--checker-engine"))
