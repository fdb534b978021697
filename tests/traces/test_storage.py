"""Files in an object store: whole or not at all, cached, and errors of one sentence."""

from __future__ import annotations

import io
import signal
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from checker.errors import UserError
from tests.support.object_store import object_store, set_permissions
from traces import storage
from traces.storage import Location, RemotePath, local_copy, location_of, new_file


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    with object_store("storage") as url:
        yield url


@pytest.fixture(params=["local", "s3"])
def folder(request: pytest.FixtureRequest, bucket: str, tmp_path: Path) -> Location:
    """Return an empty folder on this machine, or in the store."""
    place = location_of(str(tmp_path) if request.param == "local" else f"{bucket}/{tmp_path.name}")
    place.mkdir(exist_ok=True)
    return place


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setattr(storage, "_cache_folder", lambda: folder)
    return folder


def test_both_kinds_of_folders_behave_alike(folder: Location) -> None:
    file = folder / "runs" / "part-1.parquet"
    assert not file.exists() and not list(folder.glob("runs/*")) and not (folder / "runs").is_dir()
    (folder / "runs").mkdir(exist_ok=True)
    with new_file(file) as written:
        written.write_bytes(b"states")
        assert not file.exists()
    assert (file.name, file.stem, file.suffix) == ("part-1.parquet", "part-1", ".parquet")
    assert file.is_file() and not file.is_dir() and file.parent.is_dir() and file.parent == folder / "runs"
    assert [found.name for found in folder.iterdir()] == ["runs"]
    assert list(folder.glob("runs/part-*")) == [file] and not list(folder.glob("runs/steps-*"))
    assert (file.read_bytes(), local_copy(file).read_bytes()) == (b"states", b"states")
    file.unlink()
    file.unlink(missing_ok=True)
    assert not file.exists()
    with pytest.raises(FileNotFoundError, match=r"[Nn]o such file"):
        file.unlink()
    with pytest.raises(FileNotFoundError, match=r"[Nn]o such file"):
        file.read_text()


def test_a_file_that_is_not_finished_does_not_appear(folder: Location) -> None:
    file = folder / "manifest"
    file.write_text("old")
    with pytest.raises(ZeroDivisionError), new_file(file) as written:
        written.write_text(str(1 // 0))
    assert file.read_text() == "old" and [found.name for found in folder.iterdir()] == ["manifest"]


def test_a_range_is_read(bucket: str) -> None:
    file = location_of(f"{bucket}/ranges/file")
    assert isinstance(file, RemotePath)
    file.write_bytes(bytes(range(100)))
    assert [file.read_range(*place) for place in ((10, 3), (98, 9), (200, 1))] == [b"\x0a\x0b\x0c", b"bc", b""]


def test_a_copy_is_fetched_again_only_after_a_change(bucket: str, cache: Path, monkeypatch) -> None:
    file = location_of(f"{bucket}/cached/file")
    assert isinstance(file, RemotePath)
    file.write_text("one")
    copy = local_copy(file)
    assert local_copy(file) == copy and list(cache.iterdir()) == [copy]
    file.write_text("two")
    assert local_copy(file).read_text() == "two"
    immutable = local_copy(file, is_immutable=True)
    file.write_text("four!!")
    assert local_copy(file, is_immutable=True) == immutable and immutable.read_text() == "two"
    monkeypatch.setattr(storage, "CACHE_BYTES", 6)
    newest = local_copy(file)
    assert list(cache.iterdir()) == [newest] and newest.read_text() == "four!!"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("s4://bucket/walks", "s4://bucket: s4 is not one of s3, gs, abfs, hdfs and file"),
        ("s3:/walks", "s3:/walks names no bucket: write s3://BUCKET/FOLDER"),
        ("file://host/walks", "file://host/walks names another host: write file:///PATH"),
        (
            "s3://key:secret@bucket/walks",
            "a URL with credentials would appear in files and messages: write s3://bucket/",
        ),
        (
            "abfs://walks:secret@account.dfs.core.windows.net/run",
            "a URL with credentials would appear in files and messages: write abfs://walks@account.dfs.core.windows.net/",
        ),
        (
            "abfs://walks@account.dfs.core.windows.net/run?client_id=a&client_secret=secret",
            "a URL with credentials would appear in files and messages: write abfs://walks@account.dfs.core.windows.net/",
        ),
        ("s3://bucket/walks#2", "s3://bucket/walks#2: the part after # would be ignored"),
        ("s3://bucket/walks?nonsense=1", "s3://bucket cannot be used: "),
    ],
)
def test_a_wrong_url_is_refused(url: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        location_of(url)
    shown = str(caught.value)
    assert shown.startswith(message) and not any(part in shown for part in ("\n", ":secret", "=secret"))


def test_the_store_gets_a_file_by_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # An interrupt between two writes would leave the first piece of the file as the whole one.
    sizes: list[int] = []

    class Stream(io.BytesIO):
        def write(self, content: Any) -> int:
            sizes.append(memoryview(content).nbytes)
            return sizes[-1]

    store = SimpleNamespace(open_output_stream=lambda path: Stream())
    monkeypatch.setattr(storage, "_open", lambda location: (store, location.path))
    for size in (0, 5 << 20):
        file = tmp_path / str(size)
        file.write_bytes(bytes(size))
        RemotePath("s3://bucket", "file").upload(file)
    assert sizes == [0, 5 << 20]


def test_an_interrupt_takes_effect_after_the_whole_file(monkeypatch: pytest.MonkeyPatch) -> None:
    written = []

    class Stream(io.BytesIO):
        def __enter__(self) -> Stream:
            signal.raise_signal(signal.SIGINT)
            return self

        def write(self, content: Any) -> int:
            written.append(bytes(content))
            return len(content)

    store = SimpleNamespace(open_output_stream=lambda path: Stream())
    monkeypatch.setattr(storage, "_open", lambda location: (store, location.path))
    with pytest.raises(KeyboardInterrupt):
        RemotePath("s3://bucket", "file").write_text("all of it")
    assert written == [b"all of it"] and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_file_url_is_a_path() -> None:
    assert location_of("file:///tmp/a%20b") == Path("/tmp/a b")
    assert location_of("walks/2024") == Path("walks/2024")


def test_reasons_of_a_store_are_short(bucket: str) -> None:
    missing, there = location_of("s3://no-such-bucket/file"), location_of(f"{bucket}/permitted")
    with pytest.raises(OSError, match=r"^s3://no-such-bucket/file cannot be used: The specified bucket"):
        missing.write_text("")
    set_permissions(are_checked=True)
    try:
        with pytest.raises(OSError, match=r"\((INVALID_ACCESS_KEY_ID|ACCESS_DENIED) of \w+\)"):
            there.write_text("")
    finally:
        set_permissions(are_checked=False)
    there.write_text("now")
