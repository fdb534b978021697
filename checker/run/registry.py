"""The registry of specs: families, specs and scenarios, found by name or in a user's file.

A family is a package below `specs/` with its sub-packages, or a file. A family is imported when a name refers to it.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import pkgutil
import re
import shlex
import sys
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Never

from checker.errors import InputError, SpecError
from checker.language.error_location import assignment_error, with_location
from checker.language.spec import FILE_MODULE_PREFIX, Bug, Scenario, Spec, require_steps
from checker.language.tables import Table

PACKAGE = "specs"

_FILE = re.compile(r"(.+?\.py)((?:/.*)?)", re.DOTALL)
"""A name that begins with a file: `path/to/my_spec.py`, `path/to/my_spec.py/spec`."""


@dataclass(frozen=True)
class SpecEntry:
    """A spec with its name and the scenarios of its family.

    `target` is its name on the command line: `replication/kip320` or `path/to/my_spec.py/kip320`.
    """

    family: str
    target: str
    spec: type[Spec]
    scenarios: tuple[Scenario, ...] = ()

    @property
    def name(self) -> str:
        """The full name: `replication/kip320`."""
        return f"{self.family}/{self.spec.name}"

    def description(self, scenario: str | None, constants: Mapping[str, int | bool | str]) -> str:
        """Return the description of a scenario, or "" if the constants are not those of the scenario."""
        found = self.scenario(scenario, constants)
        return found.description if found is not None else ""

    def scenario(self, name: str | None, constants: Mapping[str, int | bool | str]) -> Scenario | None:
        """Return a scenario by its name, or None if the constants are not those of the scenario."""
        for found in self.scenarios:
            if found.name == name and self.spec(**found.constants).constants == constants:
                return found
        return None


@dataclass(frozen=True)
class Family:
    """The specs of a package or a file, in the order of their definition."""

    name: str
    entries: tuple[SpecEntry, ...]
    summary: str = ""
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True)
class Selection:
    """A spec, with one of its scenarios or, if `scenario` is None, all of them."""

    entry: SpecEntry
    scenario: Scenario | None = None


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return the end of a sentence about an unknown name: the most similar known name, and all known names."""
    names = list(known)
    if not names:
        return "none is defined"
    # Imported here, as most names are right.
    import difflib

    close = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]}? Choose from " if close else "choose from "
    return hint + ", ".join(names)


def family_names() -> list[str]:
    """Return the names of the families below `specs/`, without importing them."""
    try:
        package = importlib.import_module(PACKAGE)
    except ModuleNotFoundError:
        return []
    return sorted(module.name for module in pkgutil.iter_modules(package.__path__) if module.ispkg)


def families() -> list[Family]:
    """Return every family below `specs/`; raise SpecError if one cannot be imported."""
    return [load_family(name) for name in family_names()]


def load_family(name: str) -> Family:
    """Return the family `name` below `specs/`; raise SpecError if it does not exist or cannot be imported."""
    known = family_names()
    if name not in known:
        raise SpecError(f"unknown spec family {name}: {suggestion(name, known)}")
    return load_package(f"{PACKAGE}.{name}")


def load_package(dotted: str) -> Family:
    """Return the specs of a package, as the family of its last name; raise SpecError if it cannot be imported.

    The sub-packages of an outermost package are families themselves; those of any other package belong to its family.
    """
    name = dotted.rpartition(".")[2]
    return _family(name, name, _modules_of(dotted))


def _modules_of(dotted: str) -> list[ModuleType]:
    """Import the modules of a family and return them, each package before its modules."""
    package = _imported(dotted)
    modules = [package]
    for found in pkgutil.iter_modules(package.__path__):
        inner = f"{dotted}.{found.name}"
        if not found.ispkg:
            modules.append(_imported(inner))
        elif "." in dotted:
            modules += _modules_of(inner)
    return modules


def load_file(path: Path) -> Family:
    """Return the specs of a user's file; raise SpecError if it cannot be imported or defines no spec."""
    family = load_any_file(path)
    if not family.entries:
        raise SpecError(f"{path} defines no spec: derive a class from checker.language.Spec")
    return family


class _UncachedLoader(importlib.machinery.SourceFileLoader):
    """Compiles a file at every import: cached bytecode may belong to an older text of the same second and size."""

    def path_stats(self, path: str) -> Never:
        """Raise OSError: without a file's time and size, importlib does not use the bytecode cache."""
        raise OSError(path)


def load_any_file(path: Path) -> Family:
    """Return the specs of a file, which may define none; raise SpecError if it cannot be read or imported."""
    if not path.is_file():
        raise SpecError(f"the file {path} does not exist")
    module_name = f"{FILE_MODULE_PREFIX}{path.stem}"
    loader = _UncachedLoader(module_name, str(path.absolute()))
    description = importlib.util.spec_from_file_location(module_name, path, loader=loader)
    if description is None or description.loader is None:
        raise SpecError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(description)
    # Declarations look up their module by name, and a spec file may import the modules beside it, like a script.
    sys.modules[module_name] = module
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        with warnings.catch_warnings():
            # Python warns of `x is 1` and the like; the front end refuses it with a sentence.
            warnings.simplefilter("ignore", SyntaxWarning)
            description.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise _import_error(error, path) from error
    finally:
        sys.path.pop(0)
    return _family(path.stem, str(path), [module])


def family_of(name: str) -> Family:
    """Return the family of a name; raise SpecError if it does not exist."""
    return _family_and_rest(name)[0]


def select(name: str) -> list[Selection]:
    """Return the specs or scenarios of a name; raise SpecError if it is unknown, or if a spec has no action.

    Names: `family`, `family/spec`, `family/spec/scenario`, `file.py`, `file.py/spec`, `file.py/spec/scenario`.
    """
    selections = _selected(name)
    for selection in selections:
        require_steps(selection.entry.spec)
    return selections


def _selected(name: str) -> list[Selection]:
    family, rest = _family_and_rest(name)
    if not rest:
        if not family.entries:
            raise SpecError(f"{family.name} defines no specs")
        return [Selection(entry) for entry in family.entries]
    spec_name, *more = rest
    entry = next((entry for entry in family.entries if entry.spec.name == spec_name), None)
    if entry is None:
        known = [found.spec.name for found in family.entries]
        raise SpecError(f"{family.name} has no spec {spec_name}: {suggestion(spec_name, known)}")
    if not more:
        return [Selection(entry)]
    scenario_name = "/".join(more)
    for scenario in entry.scenarios:
        if scenario.name == scenario_name:
            return [Selection(entry, scenario)]
    known = [scenario.name for scenario in entry.scenarios]
    raise SpecError(f"{entry.name} has no scenario {scenario_name}: {suggestion(scenario_name, known)}")


def select_spec(name: str) -> SpecEntry:
    """Return the spec of a name; raise SpecError if several specs have the name."""
    selections = select(name)
    if len(selections) > 1:
        known = ", ".join(selection.entry.target for selection in selections)
        raise SpecError(f"{name} has several specs; name one of {known}")
    return selections[0].entry


def trusted_target(recorded: str, spec: Path | None, source: Path) -> str:
    """Return the spec to load for the name that the data file `source` records, as a name on the command line.

    A data file must not choose the code that runs. Specs of the library are loaded by their recorded names; a spec in a
    file only from `spec`, which the user names. Raises InputError if the recorded spec is in a file and `spec` is None.
    """
    file, rest = _file_and_rest(recorded)
    if spec is not None:
        if _file_and_rest(str(spec)) != (spec, ""):
            raise InputError(f"--spec {spec}: name a Python file")
        return f"{spec}/{rest.split('/')[-1]}"
    if file is not None:
        raise InputError(
            f"the spec of {source} is in the Python file {file}, which is not loaded because only the data names it: "
            f"add --spec {shlex.quote(str(file))} to the command if you trust that file"
        )
    return recorded


def spec_words(target: str) -> list[str]:
    """Return the words of the command line that allow loading a target that a data file names."""
    file, _ = _file_and_rest(target)
    return ["--spec", str(file)] if file is not None else []


def target_files(names: Iterable[str]) -> list[Path]:
    """Return the files that names on the command line begin with, as `path/to/my_spec.py/spec` does."""
    return [file for name in names if (file := _file_and_rest(name)[0]) is not None]


def _file_and_rest(name: str) -> tuple[Path | None, str]:
    found = _FILE.fullmatch(name)
    return (Path(found[1]), found[2]) if found else (None, name)


def _family_and_rest(name: str) -> tuple[Family, list[str]]:
    file, after = _file_and_rest(name)
    if file is not None:
        return load_file(file), [part for part in after.split("/") if part]
    family, *rest = [part for part in name.split("/") if part] or [name]
    if family not in family_names() and Path(f"{name}.py").is_file():
        raise SpecError(f"unknown spec {name}: did you mean the file {name}.py?")
    return load_family(family), rest


def _imported(module: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        found = importlib.util.find_spec(module)
        raise _import_error(error, Path(found.origin if found and found.origin else module)) from error


def _import_error(error: BaseException, path: Path) -> SpecError:
    """Return the error of a failed import, with the line in the module."""
    if isinstance(error, SyntaxError):
        return SpecError(f"{error.msg}: this is not Python", file=error.filename, line=error.lineno, text=error.text)
    found = with_location(error, [str(path), str(path.resolve())])
    return found if found.file else SpecError(found.message, file=str(path))


def _family(name: str, target: str, modules: list[ModuleType]) -> Family:
    """Return the family of the specs, scenarios and tables that some modules define."""
    # A package may list scenarios and tables of its modules again: each counts once.
    scenarios = {id(scenario): scenario for module in modules for scenario in _scenarios_of(module)}
    specs = [spec for module in modules for spec in _specs_of(module)]
    _require_names(modules, list(scenarios.values()))
    entries = tuple(
        SpecEntry(
            name, f"{target}/{spec.name}", spec, tuple(found for found in scenarios.values() if found.spec is spec)
        )
        for spec in specs
    )
    tables = {id(table): table for module in modules for table in _tables_of(module)}
    return Family(name, entries, (modules[0].__doc__ or "").strip().split("\n")[0], tuple(tables.values()))


def _require_names(modules: list[ModuleType], scenarios: list[Scenario]) -> None:
    """Raise SpecError if two scenarios of a spec have one name: a name would select the first only."""
    known: set[tuple[type[Spec], str]] = set()
    for scenario in scenarios:
        if (scenario.spec, scenario.name) in known:
            module = next((found for found in modules if found.__name__ == scenario.spec.__module__), modules[0])
            message = f"two scenarios of {scenario.spec.name} have the name {scenario.name}: give each its own"
            raise assignment_error(module, "scenarios", message)
        known.add((scenario.spec, scenario.name))


def _specs_of(module: ModuleType) -> list[type[Spec]]:
    """Return the specs that a module defines, without the specs that it imports."""
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Spec)
        and not value.abstract
        and value.__module__ == module.__name__
    ]


def _scenarios_of(module: ModuleType) -> list[Scenario]:
    found = vars(module).get("scenarios", [])
    if isinstance(found, ModuleType):
        return []
    if not isinstance(found, (list, tuple)) or not all(isinstance(item, Scenario | Bug) for item in found):
        message = "scenarios must be a list of Scenario(...) and Bug(...): write scenarios = [Scenario(...), ...]"
        raise assignment_error(module, "scenarios", message)
    return [scenario for item in found for scenario in (item.scenarios() if isinstance(item, Bug) else [item])]


def _tables_of(module: ModuleType) -> list[Table]:
    found = vars(module).get("tables", [])
    if isinstance(found, ModuleType):
        return []
    if not isinstance(found, (list, tuple)) or not all(isinstance(item, Table) for item in found):
        raise assignment_error(
            module, "tables", "tables must be a list of Table(...): write tables = [Table(...), ...]"
        )
    return list(found)
