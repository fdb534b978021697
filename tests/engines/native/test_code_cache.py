"""The cache of machine code: what is kept, and what is never loaded."""

import os
from unittest import mock

import pytest

from checker.engines.native import engine
from checker.engines.native.llvm import code_cache, compiler, machine_code
from checker.run.plan import Plan
from specs.examples.peterson import Peterson


@pytest.fixture
def folder(tmp_path, monkeypatch):
    place = tmp_path / "code"
    monkeypatch.setenv(code_cache.VARIABLE, str(place))
    monkeypatch.setattr(machine_code, "_SECONDS_WORTH_KEEPING", 0)
    return place


def explored():
    result = engine.explore(Peterson(), Plan(tuple(Peterson().properties)))
    return result.verdict, result.distinct_states, result.levels


def entries(folder):
    return sorted(folder.glob("*.o"))


def test_a_second_run_compiles_nothing(folder):
    first = explored()
    assert len(entries(folder)) == 1
    with mock.patch.object(compiler, "_optimise", side_effect=AssertionError("compiled again")):
        assert explored() == first


def test_other_code_and_other_targets_have_other_entries(folder):
    explored()
    assert code_cache.digest_of("a", "bc") != code_cache.digest_of("ab", "c")
    target, processor, _ = compiler._host()
    with mock.patch.object(compiler, "_host", return_value=(target, processor, "")):
        explored()
    assert len(entries(folder)) == 2


def test_entries_of_another_version_are_not_loaded(folder, monkeypatch):
    # Up to version 7 an entry had all parts of a module, and in version 8 one of them: LLVM must not get them.
    monkeypatch.setattr(machine_code, "_VERSION", machine_code._VERSION - 1)
    first = explored()
    for entry in entries(folder):
        code_cache.store(entry.stem, b"an entry of another version")
    monkeypatch.undo()
    monkeypatch.setenv(code_cache.VARIABLE, str(folder))
    assert explored() == first


@pytest.mark.parametrize("damage", [lambda content: content[:-1], lambda content: content[:40] + b"?" + content[41:]])
def test_a_damaged_entry_is_compiled_again(folder, damage):
    first = explored()
    entry, *_ = entries(folder)
    whole = entry.read_bytes()
    entry.write_bytes(damage(whole))
    assert explored() == first
    assert entry.read_bytes() == whole


def test_code_that_another_user_could_write_is_not_loaded(folder):
    explored()
    entry, *_ = entries(folder)
    digest = entry.stem
    assert code_cache.load(digest) is not None
    entry.chmod(0o660)
    assert code_cache.load(digest) is None
    entry.chmod(0o600)
    folder.chmod(0o777)
    assert code_cache.load(digest) is None
    assert "does not belong" in code_cache.problem() or "belongs to this user alone" in code_cache.problem()
    folder.chmod(0o700)
    with mock.patch.object(os, "geteuid", return_value=os.geteuid() + 1):
        assert code_cache.load(digest) is None


def test_links_are_not_followed(folder, tmp_path):
    explored()
    entry, *_ = entries(folder)
    moved = tmp_path / "moved.o"
    entry.rename(moved)
    entry.symlink_to(moved)
    assert code_cache.load(entry.stem) is None
    os.rename(folder, tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    assert code_cache.problem()


def test_the_folder_is_private(folder):
    explored()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert entries(folder)[0].stat().st_mode & 0o777 == 0o600


def test_the_entries_that_were_unused_for_the_longest_time_are_removed(folder, monkeypatch):
    monkeypatch.setattr(code_cache, "MOST_BYTES", 1000)
    monkeypatch.setattr(code_cache, "_writes", 1)
    for number in range(40):
        code_cache.store(f"{number:02}", b"x" * 68)
        os.utime(folder / f"{number:02}.o", (number, number))
    code_cache._remove_old(folder)
    assert [entry.stem for entry in entries(folder)] == [f"{number:02}" for number in range(33, 40)]


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(code_cache.VARIABLE, str(tmp_path / "file"))
    assert explored()[0] == "holds"
    monkeypatch.setenv(code_cache.VARIABLE, "off")
    assert explored()[0] == "holds"
    assert code_cache.folder() is None


def test_clear_removes_every_entry(folder):
    explored()
    assert code_cache.size().entries == 1
    assert code_cache.clear().entries == 1
    assert code_cache.size() == code_cache.CacheSize(0, 0)
