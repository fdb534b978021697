"""Families: packages with their sub-packages."""

import os
import py_compile
import subprocess
import sys
from pathlib import Path

import pytest

from checker.errors import SpecError
from checker.run import registry
from checker.run import spec_folders as folders
from traces.validate.task import load_mapping

MODULE = """
from checker.language import Range, Scenario, Spec, invariant


class {name}(Spec):
    count = Range(0, 1)

    @invariant
    def is_bounded(self):
        return self.count <= 1


scenarios = [Scenario({name}, "small")]
"""


def make_package(folder: Path, **modules: str) -> None:
    """Write a package with a spec in each module."""
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    for module, name in modules.items():
        (folder / f"{module}.py").write_text(MODULE.format(name=name))


def test_specs_of_sub_packages_belong_to_the_family(tmp_path):
    make_package(tmp_path / "nested_protocols")
    make_package(tmp_path / "nested_protocols" / "counting", first="First")
    make_package(tmp_path / "nested_protocols" / "counting" / "inner", second="Second")
    (path,) = folders.family_paths(tmp_path)
    family = registry.load_path(path)
    assert [entry.name for entry in family.entries] == ["counting/first", "counting/second"]
    assert all([scenario.name for scenario in entry.scenarios] == ["small"] for entry in family.entries)


def test_sub_packages_of_an_outermost_package_are_families(tmp_path):
    make_package(tmp_path / "outermost", first="First")
    make_package(tmp_path / "outermost" / "second", second="Second")
    families = [registry.load_path(path) for path in folders.family_paths(tmp_path)]
    assert [[entry.name for entry in family.entries] for family in families] == [["outermost/first"], ["second/second"]]


def test_producer_specs_keep_their_names_below_sub_packages():
    (selection,) = registry.select("producer/plain_producer/one_in_flight_keeps_the_order")
    assert selection.entry.family == "producer"


def test_the_underscores_of_a_file_name_separate_numbers(tmp_path):
    path = tmp_path / "kip320_without_7128.py"
    path.write_text(
        "from checker.language import Range, Spec\n"
        "class Kip320Without7128(Spec):\n    x = Range(0, 1)\n"
        "class Kip320Without841(Spec):\n    x = Range(0, 1)\n"
    )
    names = [entry.spec.name for entry in registry.load_file(path).entries]
    assert names == ["kip320_without_7128", "kip320_without841"]


def test_constants_select_the_specs_that_their_names_select():
    entries = [entry for family in registry.families() for entry in family.entries]
    alone = [registry.select_for_constants(entry.name) for entry in entries]
    assert [[found.entry.spec for found in selections] for selections in alone] == [[entry.spec] for entry in entries]
    assert [selections[0].entry.target for selections in alone] == [entry.target for entry in entries]


def test_a_spec_of_which_the_constants_are_set_is_imported_alone():
    code = (
        "import sys; from checker.run import registry; registry.select_for_constants('replication/kip320'); "
        "print('specs.replication.kip320' in sys.modules, 'specs.replication.by_version' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "True False\n"


@pytest.mark.parametrize(
    "name",
    [
        "replication/kip32O",
        "replication/base",
        "replication/versions",
        "nowhere/kip320",
        "replication/kip320/x",
        "replication/kip320.x",
    ],
)
def test_constants_and_names_refuse_the_same_names(name):
    with pytest.raises(SpecError) as expected:
        registry.select(name)
    with pytest.raises(SpecError) as refused:
        registry.select_for_constants(name)
    assert str(refused.value) == str(expected.value)


@pytest.mark.parametrize("name", ["broken.py", "../{folder}/broken.py", "linked.py"])
def test_a_failed_import_names_its_line_under_each_path(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.py").write_text("log = 1\nlog()\n")
    (tmp_path / "linked.py").symlink_to("broken.py")
    with pytest.raises(SpecError) as refused:
        registry.load_file(Path(name.format(folder=tmp_path.name)))
    assert refused.value.line == 2


@pytest.mark.parametrize("read", ["beside", "mapping"])
def test_bytecode_of_an_older_text_is_never_used(tmp_path, monkeypatch, read):
    """A text may change within the second of the bytecode's time stamp, and keep its size."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    module = tmp_path / "limits_beside.py"
    for most in (1, 2):
        text = f"from traces.validate import Mapping\nMOST = {most}\n\n\nclass Found(Mapping):\n    most = MOST\n"
        module.write_text(text)
        os.utime(module, (1_000_000_000, 1_000_000_000))
        sys.modules.pop("limits_beside", None)
        if read == "mapping":
            assert load_mapping(str(module)).most == most
        else:
            spec = tmp_path / "limited.py"
            spec.write_text("from limits_beside import MOST\n" + MODULE.format(name="Limited") + "MOST = MOST\n")
            (entry,) = registry.load_file(spec).entries
            assert most == sys.modules[entry.spec.__module__].MOST
        py_compile.compile(str(module))
    sys.modules.pop("limits_beside", None)
