"""The limits of memory: of control groups of both versions, of the address space, and of a run."""

import resource

import pytest

from checker.errors import InputError
from checker.run import memory

GROUPS = {
    "version 2": ("0::/a/b", "a", ("memory.max", "memory.current"), "inactive_file 50"),
    "version 1": (
        "4:cpu,memory:/a/b",
        "memory/a",
        ("memory.limit_in_bytes", "memory.usage_in_bytes"),
        "total_inactive_file 50",
    ),
    # In a container the group is the root of the hierarchy, and the path of the host is missing.
    "container": ("0::/a/b", "", ("memory.max", "memory.current"), "inactive_file 50"),
}


@pytest.fixture(params=GROUPS)
def group(request, tmp_path, monkeypatch):
    """Return a function that limits a control group of this process."""
    line, folder, (limit_name, use_name), cache = GROUPS[request.param]
    own = tmp_path / "own"
    own.write_text(f"3:cpuset:/\n{line}\n")
    monkeypatch.setattr(memory, "_OWN_GROUPS", own)
    monkeypatch.setattr(memory, "_CONTROL_GROUPS", tmp_path / "groups")

    def limit(size):
        place = tmp_path / "groups" / folder
        place.mkdir(parents=True, exist_ok=True)
        (place / limit_name).write_text(f"{size}\n")
        (place / use_name).write_text("300\n")
        (place / "memory.stat").write_text(f"cache 7\n{cache}\n")

    return limit


def test_a_control_group_limits_the_memory(group):
    machine = memory.memory_limit()
    group(1000)
    assert (memory.memory_limit(), memory.available_memory()) == (1000, 1000 - (300 - 50))
    group("max")
    assert memory.memory_limit() == machine
    group((1 << 63) - 4096)
    assert memory.memory_limit() == machine


def test_the_address_space_may_be_limited(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda which: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert memory.available_address_space() is None
    monkeypatch.setattr(resource, "getrlimit", lambda which: (1 << 46, resource.RLIM_INFINITY))
    assert 0 < memory.available_address_space() < 1 << 46
    monkeypatch.setattr(resource, "getrlimit", lambda which: (1, 1))
    assert memory.available_address_space() == 0


@pytest.mark.parametrize(
    ("text", "size"), [("500MB", 500 * 10**6), ("4g", 4 * 10**9), ("2GiB", 2 << 30), ("1.5 k", 1500), ("9999", 9999)]
)
def test_reads_a_size(text, size):
    assert memory.bytes_from_text(text, "--max-memory") == size


@pytest.mark.parametrize("text", ["", "0", "-1GB", "4 cats", "1e9", "9" * 30, "0.0GB", "1.5I", "I", "4GG"])
def test_refuses_other_texts(text):
    with pytest.raises(InputError, match=r"--max-memory .* is not a size of memory"):
        memory.bytes_from_text(text, "--max-memory")


def test_a_watch_compares_with_its_limit():
    watch = memory.MemoryWatch(1000)
    assert not watch.is_short(600, lambda: 400)
    assert watch.is_short(600, lambda: 401)


def test_a_watch_asks_the_system(monkeypatch):
    monkeypatch.setattr(memory, "WATCH_SECONDS", 0.0)
    monkeypatch.setattr(memory, "memory_limit", lambda: 1 << 30)
    available = (1 << 30) // 16
    monkeypatch.setattr(memory, "available_memory", lambda: available + 500)
    large = 1 << 30
    assert not memory.MemoryWatch().is_short(large, lambda: 500)
    assert memory.MemoryWatch().is_short(large, lambda: 501)
    # A small run did not take the memory: it goes on.
    assert not memory.MemoryWatch().is_short(1000, lambda: 501)
