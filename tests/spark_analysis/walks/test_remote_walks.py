"""Random walks in an object store: the same bytes as in a folder, resumed and checked alike."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from checker.cli.app import main
from spark_analysis.walks.digests import DIGESTS
from spark_analysis.walks.records import RUN_FILE, STATES, STEPS, WALKS
from tests.support.object_store import object_store, set_permissions
from traces.storage import Location, location_of

COMMAND = ["simulate", "producer/plain_producer/p1_reorder_by_retry", "--traces", "1200", "--depth", "30", "--steps"]


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    with object_store("walks") as url:
        yield url


def contents(folder: Location) -> dict[str, bytes]:
    kinds = (WALKS, STATES, STEPS, DIGESTS)
    files = [folder / RUN_FILE, *(file for kind in kinds for file in (folder / kind).iterdir())]
    return {f"{file.parent.name if file.name != RUN_FILE else ''}/{file.name}": file.read_bytes() for file in files}


def test_walks_in_a_store_are_those_in_a_folder(bucket: str, tmp_path: Path, capsys) -> None:
    url = f"{bucket}/same"
    assert main([*COMMAND, "--out", str(tmp_path)]) == main([*COMMAND, "--out", url]) == 0
    expected = contents(tmp_path)
    assert len(expected) == 1 + 2 * 3 * 3 and contents(location_of(url)) == expected
    part = location_of(f"{url}/walks/part-000001.parquet")
    part.unlink()
    capsys.readouterr()
    assert main([*COMMAND, "--out", url]) == 0
    assert "500 walks made" in capsys.readouterr().out
    assert contents(location_of(url)) == expected
    assert main([*COMMAND, "--out", url, "--seed", "2"]) == 2
    assert f"{url} holds walks of another run: its seed is 1, not 2" in capsys.readouterr().err
    changed = bytearray(part.read_bytes())
    changed[50] ^= 1
    part.write_bytes(bytes(changed))
    assert main([*COMMAND, "--out", url]) == 2
    assert f"{part} is truncated or was changed" in capsys.readouterr().err


def test_a_walk_is_replayed_from_a_store(bucket: str, capsys) -> None:
    assert main([*COMMAND, "--out", f"{bucket}/replayed"]) == 0
    capsys.readouterr()
    assert main(["traces", "replay", f"{bucket}/replayed", "--walk", "3"]) == 0
    assert f"python -m checker traces replay {bucket}/replayed --walk 3" in capsys.readouterr().out


def test_walks_that_cannot_be_written_are_an_error_of_one_sentence(bucket: str, capsys) -> None:
    def error(url: str) -> str:
        assert main([*COMMAND, "--out", url]) == 2
        [line] = capsys.readouterr().err.splitlines()
        return line.removeprefix("error: ")

    assert error("s3://no-such-bucket/walks").startswith("s3://no-such-bucket/walks cannot be")
    assert "s4 is not one of s3, gs, abfs, hdfs and file" in error("s4://bucket/walks")
    set_permissions(are_checked=True)
    try:
        assert error(f"{bucket}/forbidden").startswith(f"{bucket}/forbidden/walks cannot be used: ")
    finally:
        set_permissions(are_checked=False)
