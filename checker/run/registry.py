"""The registry of specs: families, specs and scenarios, found by name or in a user's file or folder.

A family is a package below `specs/` with its sub-packages, or a file. A family is imported when a name refers to it.
`checker.run.spec_folders` describes the families of a folder.
"""

from __future__ import annotations

import functools
import importlib
import importlib.machinery
import importlib.util
import pkgutil
import re
import shlex
import sys
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Never

from checker.errors import CollectedErrors, InputError, SpecError, nearest_names
from checker.language.error_location import assignment_error, with_location
from checker.language.spec import FILE_MODULE_PREFIX, Bug, Scenario, Spec, require_steps
from checker.language.tables import Table
from checker.printable import printable
from checker.run.registered_functions import scenarios_named
from checker.run.spec_folders import family_paths, is_package, package_root, require_specs_folder

PACKAGE = "specs"

_FILE = re.compile(r"(.+?\.py)((?:/.*)?)", re.DOTALL)
"""A name that begins with a file: `path/to/my_spec.py`, `path/to/my_spec.py/spec`."""


@dataclass(frozen=True)
class SpecEntry:
    """A spec with its name and the scenarios of its family.

    `target` is its name on the command line: `replication/kip320`, `path/to/my_spec.py/kip320` or, in a package,
    `path/to/package/kip320`.
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
        match = self.scenario(scenario, constants)
        return match.description if match is not None else ""

    def scenario(self, name: str | None, constants: Mapping[str, int | bool | str]) -> Scenario | None:
        """Return a scenario by its name, or None if the constants are not those of the scenario."""
        for candidate in self.scenarios:
            if candidate.name == name and self.spec(**candidate.constants).constants == constants:
                return candidate
        return None


@dataclass(frozen=True)
class Family:
    """The specs of a package or a file, in the order of their definition; `target` is its name on the command line."""

    name: str
    entries: tuple[SpecEntry, ...]
    summary: str = ""
    tables: tuple[Table, ...] = ()
    target: str = ""


@dataclass(frozen=True)
class Selection:
    """A spec, with one of its scenarios or, if `scenario` is None, all of them."""

    entry: SpecEntry
    scenario: Scenario | None = None


_MOST_NAMES = 12
"""A sentence lists at most this many names."""


def suggestion(name: str, known: Iterable[str], listing: str = "") -> str:
    """Return the end of a sentence about an unknown name: the most similar known name, and all if they are few.

    `listing` is the end of the sentence if they are many: where the names are listed.
    """
    names = list(known)
    if not names:
        return "none is defined"
    close = nearest_names(name, names)
    hint = f"did you mean {close[0]}? " if close else ""
    others = len(names) - _MOST_NAMES
    if others <= 0 or not listing:
        listing = f"choose from {', '.join(names[:_MOST_NAMES])}{f' and {others} others' if others > 0 else ''}"
    return hint + (listing.replace("choose", "Choose", 1) if hint else listing)


def _suggest_target(name: str) -> str:
    """Return the end of a sentence about an unknown name: specs of the library that it may mean, and the families."""
    if Path(f"{name}.py").is_file():
        return f"did you mean the file {name}.py?"
    known = family_names()
    if not known:
        return "no specs are installed here: name a file, as in path/to/my_spec.py"
    parts = [part for part in name.split("/") if part] or [name]
    families_suggested = suggestion(parts[0], known)
    if not families_suggested.startswith("did you mean") and (close := _similar_specs(parts)):
        return f"did you mean {' or '.join(close)}? The families are {', '.join(known)}"
    return families_suggested


def _similar_specs(parts: list[str]) -> list[str]:
    """Return up to three specs, or scenarios for a name of one part, that have a part of a name or a similar one."""
    entries = [entry for family in families() for entry in family.entries]
    scenarios = [
        f"{entry.name}/{scenario.name}" for entry in entries for scenario in entry.scenarios if [scenario.name] == parts
    ]
    specs = [entry.name for entry in entries]
    same = scenarios or [target for target in specs if target.partition("/")[2] in parts]
    if same:
        return same[:3]
    return (
        nearest_names("/".join(parts[:2]), specs, 3, 0.7)
        or [target for part in parts for target in specs if nearest_names(part, [target.partition("/")[2]], 1, 0.8)][:3]
    )


def family_names() -> list[str]:
    """Return the names of the families below `specs/`, without importing them."""
    return sorted(module.name for module in pkgutil.iter_modules(_library_folders()) if module.ispkg)


def _library_folders() -> list[str]:
    # A folder of the user may have a package of this name, which could not be imported after this one.
    package_spec = importlib.util.find_spec(PACKAGE)
    return list((package_spec.submodule_search_locations if package_spec is not None else None) or [])


def families() -> list[Family]:
    """Return every family below `specs/`; raise SpecError if one cannot be imported."""
    return [load_family(name) for name in family_names()]


# A table of guarantees asks for all families for each of its cells, and their scenarios take tenths of a second.
@functools.cache
def load_family(name: str) -> Family:
    """Return the family `name` below `specs/`; raise SpecError if it does not exist or cannot be imported."""
    known = family_names()
    if name not in known:
        raise SpecError(f"unknown spec family {name}: {suggestion(name, known)}")
    return load_package(f"{PACKAGE}.{name}")


def load_package(dotted: str, target: str = "") -> Family:
    """Return the specs of a package, as the family of its last name; raise SpecError if it cannot be imported.

    The sub-packages of an outermost package are families themselves; those of any other package belong to its family.
    `target` is the name of the family on the command line (default: its name).
    """
    name = dotted.rpartition(".")[2]
    return _family(name, target or name, _modules_of(dotted))


def _modules_of(dotted: str) -> list[ModuleType]:
    """Import the modules of a family and return them, each package before its modules."""
    package = _import(dotted)
    modules = [package]
    for module_info in pkgutil.iter_modules(package.__path__):
        inner = f"{dotted}.{module_info.name}"
        if not module_info.ispkg:
            modules.append(_import(inner))
        elif "." in dotted:
            modules += _modules_of(inner)
    return modules


def load_file(path: Path) -> Family:
    """Return the specs of a user's file; raise SpecError if it cannot be imported or defines no spec."""
    family = load_any_file(path)
    if not family.entries:
        raise SpecError(f"{path} defines no spec: derive a class from checker.language.Spec")
    return family


class UncachedLoader(importlib.machinery.SourceFileLoader):
    """Compiles a file at every import: cached bytecode may belong to an older text of the same second and size."""

    def path_stats(self, path: str) -> Never:
        """Raise OSError: without a file's time and size, importlib does not use the bytecode cache."""
        raise OSError(path)


def uncached_finder(folder: str) -> importlib.machinery.FileFinder:
    """Return the finder of a folder of the user whose source files are compiled at every import."""
    extensions = (importlib.machinery.ExtensionFileLoader, importlib.machinery.EXTENSION_SUFFIXES)
    sources = (UncachedLoader, importlib.machinery.SOURCE_SUFFIXES)
    return importlib.machinery.FileFinder(folder, extensions, sources)


def load_any_file(path: Path) -> Family:
    """Return the specs of a file, which may define none; raise SpecError if it cannot be read or imported."""
    return _family(path.stem, str(path), [load_module(path)])


def load_module(path: Path) -> ModuleType:
    """Import a file of the user; raise SpecError if it cannot be read or imported."""
    if not path.is_file():
        raise SpecError(f"the file {path} does not exist{_similar_file(path)}")
    root = package_root(path)
    # A file of a package may have relative imports.
    packages = path.resolve().parent.relative_to(root).parts
    module_name = ".".join([*packages, f"{FILE_MODULE_PREFIX}{path.stem.replace('.', '_')}"])
    loader = UncachedLoader(module_name, str(path.absolute()))
    description = importlib.util.spec_from_file_location(module_name, path, loader=loader)
    if description is None or description.loader is None:
        raise SpecError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(description)
    # Declarations look up their module by name, and a spec file may import the modules beside it, like a script.
    sys.modules[module_name] = module
    searched = list(dict.fromkeys([str(path.parent.resolve()), str(root)]))
    sys.path[:0] = searched
    # For the modules beside the file.
    sys.path_importer_cache |= {folder: uncached_finder(folder) for folder in searched}
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
        for folder in searched:
            sys.path.remove(folder)
    return module


def _similar_file(path: Path) -> str:
    """Return a question about a file of a similar name in the folder, or about the library's module of the name."""
    beside = [each.stem for each in path.parent.glob("*.py")] if path.parent.is_dir() else []
    if close := nearest_names(path.stem, beside, 1, 0.7):
        return f": did you mean {path.with_name(f'{close[0]}.py')}?"
    modules = (folder / path.with_suffix("").name for root in _library_folders() for folder in Path(root).iterdir())
    same = next((each for each in modules if each.with_suffix(".py").is_file()), None)
    return f": did you mean {same.parent.name}/{same.name}?" if same is not None else ""


def load_path(path: Path) -> Family:
    """Return the family at a path of `spec_folders.family_paths`, which may have no specs.

    Raises UserError if the import fails.
    """
    if not path.is_dir():
        return load_any_file(path)
    root = package_root(path)
    dotted = ".".join(path.resolve().relative_to(root).parts)
    # The package is imported under its full name, since its modules import each other by that name.
    sys.path.insert(0, str(root))
    try:
        family = load_package(dotted, _folder_name(path))
    finally:
        sys.path.remove(str(root))
    loaded_file = sys.modules[dotted].__file__
    if loaded_file is None or Path(loaded_file).resolve().parent != path.resolve():
        raise InputError(f"{path} cannot be imported: another package has the name {dotted}: {loaded_file}")
    return family


def _folder_name(path: Path) -> str:
    """Return the name of a folder on the command line, which no family of the library has."""
    is_plain = not path.is_absolute() and path.parts[0] not in (".", "..")
    return f"./{path}" if is_plain and path.parts[0] in family_names() else str(path)


def load_folder(folder: Path) -> list[Family]:
    """Return the families with specs at and below a folder; raise UserError with all that cannot be imported.

    Their code runs, so the folder is shown before. Raises SpecError if it is no folder of specs.
    """
    errors, loaded = CollectedErrors(), list[Family]()
    count = require_specs_folder(folder)
    files = "1 Python file" if count == 1 else f"{count} Python files"
    print(printable(f"importing {files} in {folder.resolve()}"), file=sys.stderr)
    for path in family_paths(folder):
        with errors.collecting():
            loaded.append(load_path(path))
    errors.raise_found()
    families_with_specs = [family for family in loaded if family.entries]
    if not families_with_specs:
        raise SpecError(f"the folder {folder} has no spec: derive a class from checker.language.Spec in a file of it")
    return families_with_specs


def families_of(name: str) -> list[Family]:
    """Return the families of a name, which are several for a folder; raise SpecError if there are none.

    A family has only the specs and the scenarios that the name selects.
    """
    return [family for target in _targets(name) for family in _families_at(target)]


def _families_at(target: str) -> list[Family]:
    folder, rest = _folder_and_rest(target)
    if folder is not None and not rest:
        return load_folder(folder)
    family, rest = _family_and_rest(target)
    if not rest:
        return [family]
    selected = tuple(
        choice.entry if choice.scenario is None else replace(choice.entry, scenarios=(choice.scenario,))
        for choice in _select(target)
    )
    return [replace(family, entries=selected)]


def _targets(name: str) -> list[str]:
    """Return the names that a name stands for: those of a registered name such as I7, else the name itself."""
    is_registered_here = name in family_names() or file_and_rest(name)[0] is not None or Path(name).exists()
    return [name] if not name or "/" in name or is_registered_here else scenarios_named(name) or [name]


def select(name: str) -> list[Selection]:
    """Return the specs or scenarios of a name; raise SpecError if it is unknown, or if a spec has no action.

    Names: `family`, `family/spec`, `family/spec/scenario`, the same with a file or a package in place of the family
    (`file.py/spec`), a folder with families: `folder/`, and names that other packages register.
    """
    selections = [selection for target in _targets(name) for selection in _select(target)]
    for selection in selections:
        require_steps(selection.entry.spec)
    return selections


def select_for_constants(name: str) -> list[Selection]:
    """Return what `select` does, but perhaps without the scenarios: for a command that sets the constants itself.

    A spec of the library whose module has its name is imported without the other modules of its family, in a seventh
    of the time.
    """
    entry = _entry_of_module(name)
    if entry is None:
        return select(name)
    require_steps(entry.spec)
    return [Selection(entry)]


def _entry_of_module(name: str) -> SpecEntry | None:
    """Return the spec `FAMILY/SPEC` of the library, without scenarios; None if no module SPEC of FAMILY defines it."""
    family, _, spec_name = name.partition("/")
    is_path = file_and_rest(name)[0] is not None or _folder_and_rest(name)[0] is not None
    if is_path or not spec_name.isidentifier() or family not in family_names():
        return None
    package = _import(f"{PACKAGE}.{family}")
    module = f"{package.__name__}.{spec_name}"
    if importlib.util.find_spec(module) is None:
        return None
    spec_class = next((spec for spec in _specs_of(_import(module)) if spec.name == spec_name), None)
    return None if spec_class is None else SpecEntry(family, f"{family}/{spec_name}", spec_class)


def _select(name: str) -> list[Selection]:
    folder, inner = _folder_and_rest(name)
    if folder is not None and not inner:
        return [Selection(entry) for family in load_folder(folder) for entry in family.entries]
    family, rest = _family_and_rest(name)
    if not rest:
        if not family.entries:
            raise SpecError(f"{family.name} defines no specs")
        return [Selection(entry) for entry in family.entries]
    spec_name, *more = rest
    entry = next((entry for entry in family.entries if entry.spec.name == spec_name), None)
    if entry is None:
        raise SpecError(f"{family.name} has no spec {spec_name}: {_suggest_spec(family, name, spec_name)}")
    if not more:
        return [Selection(entry)]
    scenario_name = "/".join(more)
    for scenario in entry.scenarios:
        if scenario.name == scenario_name:
            return [Selection(entry, scenario)]
    known = [scenario.name for scenario in entry.scenarios]
    listing = f"`python -m checker list {family.target}` lists all {len(known)}"
    raise SpecError(f"{entry.name} has no scenario {scenario_name}: {suggestion(scenario_name, known, listing)}")


def _suggest_spec(family: Family, name: str, spec_name: str) -> str:
    """Return the end of a sentence about an unknown spec of a family: similar ones, also of other families."""
    if Path(f"{name}.py").is_file() or Path(name).is_dir():
        return f"did you mean the file {name}.py?" if Path(f"{name}.py").is_file() else f"did you mean ./{name}?"
    scenarios = {each.name: f"{entry.target}/{each.name}" for entry in family.entries for each in entry.scenarios}
    known = [known_entry.spec.name for known_entry in family.entries]
    # A scenario without its spec, as a file with one spec suggests.
    if not nearest_names(spec_name, known) and (meant := nearest_names(spec_name, scenarios)):
        return f"did you mean the scenario {scenarios[meant[0]]}?"
    is_library = name.split("/")[0] in family_names()
    same = [target for target in _similar_specs([spec_name]) if target.endswith(f"/{spec_name}")] if is_library else []
    if same:
        return f"did you mean {' or '.join(same)}?"
    return suggestion(spec_name, known, f"`python -m checker list {family.target}` lists all {len(known)}")


def select_spec(name: str) -> SpecEntry:
    """Return the spec of a name; raise SpecError if several specs have the name."""
    selections = select(name)
    if len(selections) > 1:
        known = ", ".join(selection.entry.target for selection in selections)
        raise SpecError(f"{name} has several specs; name one of {known}")
    return selections[0].entry


def target_to_load(recorded: str, spec: Path | None, source: object) -> str:
    """Return the spec to load for the name that a data file records, as a name on the command line.

    `source` is the file or URL of the data, for messages.

    A data file must not choose the code that runs. Specs of the library are loaded by their recorded names; a spec in a
    file only from `spec`, which the user names. Raises InputError if the recorded spec is in a file and `spec` is None.
    """
    file, rest = file_and_rest(recorded)
    if spec is not None:
        if spec.is_dir():
            return f"{_folder_name(spec)}/{rest.split('/')[-1]}"
        if file_and_rest(str(spec)) != (spec, ""):
            raise InputError(f"--spec {spec}: name a Python file or a package")
        return f"{spec}/{rest.split('/')[-1]}"
    if file is not None:
        raise InputError(
            f"the spec of {source} is in the Python file {file}, which is not loaded because only the data names it: "
            f"add --spec {shlex.quote(str(file))} to the command if you trust that file"
        )
    folder, _ = _folder_and_rest(recorded)
    if folder is not None:
        raise InputError(
            f"the spec of {source} is in the package {folder}, which is not loaded because only the data names it: "
            f"add --spec {shlex.quote(str(folder))} to the command if you trust that package"
        )
    return recorded


def absolute_target(target: str) -> str:
    """Return a target with the whole path of its file or folder, for a process that runs in another folder."""
    file, rest = file_and_rest(target)
    if file is not None:
        return f"{file.resolve()}{rest}"
    return str(Path(target).resolve()) if _folder_and_rest(target)[0] is not None else target


def spec_words(target: str) -> list[str]:
    """Return the words of the command line that allow loading a target that a data file names."""
    file = file_and_rest(target)[0] or _folder_and_rest(target)[0]
    return ["--spec", str(file)] if file is not None else []


def target_files(names: Iterable[str]) -> list[Path]:
    """Return the files that names on the command line begin with, as `path/to/my_spec.py/spec` does."""
    return [file for name in names if (file := file_and_rest(name)[0]) is not None]


def file_and_rest(name: str) -> tuple[Path | None, str]:
    """Return the file that a name begins with, as `path/to/my_spec.py/spec` does, and the rest of the name."""
    match = _FILE.fullmatch(name)
    return (Path(match[1]), match[2]) if match else (None, name)


def _folder_and_rest(name: str) -> tuple[Path | None, list[str]]:
    """Return the folder that a name begins with, and the rest of the name; no folder for a name of the library.

    A family of the library comes before a folder of its name, which is written `./producer` or `producer/`.
    """
    if not name:
        raise SpecError("the name of a spec is empty: name a family, a file or a folder (. is the working directory)")
    parts = name.split("/")
    is_path = parts[0] in ("", ".", "..") or name.endswith("/")
    if _FILE.fullmatch(name) or not (is_path or parts[0] not in family_names()):
        return None, []
    path = Path(name)
    if path.is_dir():
        return path, []
    package = next((folder for folder in path.parents if is_package(folder)), None)
    return (package, list(path.relative_to(package).parts)) if package is not None else (None, [])


def _family_and_rest(name: str) -> tuple[Family, list[str]]:
    file, after = file_and_rest(name)
    if file is not None:
        return load_file(file), _parts(name, after.removeprefix("/"))
    folder, rest = _folder_and_rest(name)
    if folder is not None:
        return load_path(folder), rest
    family, *rest = _parts(name, name) or [name]
    if family not in family_names():
        if name.startswith((".", "/")):
            raise SpecError(f"there is no file or folder {name}")
        raise SpecError(f"unknown spec family {family}: {_suggest_target(name)}")
    return load_family(family), rest


def _parts(name: str, rest: str) -> list[str]:
    """Return the parts of the rest of a name; raise SpecError if one is empty."""
    parts = rest.removesuffix("/").split("/")
    if "" in parts[1:] or (rest and not parts[0]):
        raise SpecError(f"the name {name} has an empty part: write one / between two parts")
    return parts if rest else []


def _import(module: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        module_spec = importlib.util.find_spec(module)
        raise _import_error(
            error, Path(module_spec.origin if module_spec and module_spec.origin else module)
        ) from error


def _import_error(error: BaseException, path: Path) -> SpecError:
    """Return the error of a failed import, with the line in the module."""
    if isinstance(error, SyntaxError):
        first = error.offset or 1
        # The end is 0 if it is unknown, and in another line if the part has several.
        last = error.end_offset if error.end_offset and error.end_lineno == error.lineno else first + 1
        return SpecError(
            f"{error.msg}: this is not Python",
            file=error.filename,
            line=error.lineno,
            text=error.text,
            columns=(first, max(last, first + 1)),
        )
    if isinstance(error, (RecursionError, MemoryError)):
        return SpecError("Python cannot read it, its expressions are nested too deeply: split them", file=str(path))
    located = with_location(error, [str(path.absolute()), str(path.resolve())])
    return located if located.file else SpecError(located.message, file=str(path))


def _family(name: str, target: str, modules: list[ModuleType]) -> Family:
    """Return the family of the specs, scenarios and tables that some modules define."""
    # A package may list scenarios and tables of its modules again: each counts once.
    scenarios = {id(scenario): scenario for module in modules for scenario in _scenarios_of(module)}
    specs = [spec for module in modules for spec in _specs_of(module)]
    _require_names(modules, list(scenarios.values()))
    _require_specs(modules, specs)
    entries = tuple(
        SpecEntry(name, f"{target}/{spec.name}", spec, tuple(each for each in scenarios.values() if each.spec is spec))
        for spec in specs
    )
    tables = {id(table): table for module in modules for table in _tables_of(module)}
    summary = (modules[0].__doc__ or "").strip().split("\n")[0]
    return Family(name, entries, summary, tuple(tables.values()), target)


def _require_names(modules: list[ModuleType], scenarios: list[Scenario]) -> None:
    """Raise SpecError if two scenarios of a spec have one name: a name would select the first only."""
    known: set[tuple[type[Spec], str]] = set()
    for scenario in scenarios:
        if (scenario.spec, scenario.name) in known:
            module = next(
                (candidate for candidate in modules if candidate.__name__ == scenario.spec.__module__), modules[0]
            )
            message = f"two scenarios of {scenario.spec.name} have the name {scenario.name}: give each its own"
            raise assignment_error(module, "scenarios", message)
        known.add((scenario.spec, scenario.name))


def _require_specs(modules: list[ModuleType], specs: list[type[Spec]]) -> None:
    """Raise SpecError if a module lists a scenario of a spec that is not here: nothing would run it."""
    for module in modules:
        for scenario in _scenarios_of(module):
            if scenario.spec not in specs:
                message = (
                    f"scenario {scenario.name} is of {scenario.spec.__name__}, which this file or package does not "
                    "define: list it beside the class, or derive a class of your own"
                )
                raise assignment_error(module, "scenarios", message)


def _specs_of(module: ModuleType) -> list[type[Spec]]:
    """Return the specs that a module defines, without the specs that it imports."""
    return [
        value
        # A copy: to look at the class of a lazy object of another program may define further names.
        for value in list(vars(module).values())
        if isinstance(value, type)
        and issubclass(value, Spec)
        and not value.abstract
        and value.__module__ == module.__name__
    ]


def _scenarios_of(module: ModuleType) -> list[Scenario]:
    declared = vars(module).get("scenarios", [])
    if isinstance(declared, ModuleType):
        return []
    if not isinstance(declared, (list, tuple)) or not all(isinstance(item, Scenario | Bug) for item in declared):
        message = "scenarios must be a list of Scenario(...) and Bug(...): write scenarios = [Scenario(...), ...]"
        raise assignment_error(module, "scenarios", message)
    return [scenario for item in declared for scenario in (item.scenarios() if isinstance(item, Bug) else [item])]


def _tables_of(module: ModuleType) -> list[Table]:
    declared = vars(module).get("tables", [])
    if isinstance(declared, ModuleType):
        return []
    if not isinstance(declared, (list, tuple)) or not all(isinstance(item, Table) for item in declared):
        raise assignment_error(
            module, "tables", "tables must be a list of Table(...): write tables = [Table(...), ...]"
        )
    return list(declared)
