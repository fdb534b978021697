"""A missing or old driver or card is one sentence and exit status 2; a card calls the driver as its interface says."""

import ctypes
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from checker.engines.gpu import driver
from checker.engines.gpu.memory import REGIONS
from checker.errors import InputError, InternalError

ROOT = Path(__file__).parents[3]


class PretendedDriver:
    """The functions of the driver's library that a card calls; the memory of the card is that of this process."""

    def __init__(self, *, version=13000, capability=(9, 0), cards=1, start=0, load=0):
        self._answers = {"version": version, "capability": capability, "cards": cards, "start": start, "load": load}
        self.memory, self.launches = {}, []

    def __getattr__(self, name):
        return lambda *arguments: 0

    def cuInit(self, flags):
        return self._answers["start"]

    def cuDeviceGetCount(self, count):
        count._obj.value = self._answers["cards"]
        return 0

    def cuDriverGetVersion(self, version):
        version._obj.value = self._answers["version"]
        return 0

    def cuDeviceGetName(self, name, size, device):
        name.value = b"A Card"
        return 0

    def cuDeviceGetAttribute(self, value, number, device):
        value._obj.value = self._answers["capability"][number - 75]
        return 0

    def cuModuleLoadDataEx(self, module, ptx, count, options, values):
        ctypes.memmove(values[0], b"line 7 is wrong", 15)
        return self._answers["load"]

    def cuMemAlloc_v2(self, address, size):
        if size.value > 1 << 20:
            return 2
        array = ctypes.create_string_buffer(size.value)
        address._obj.value = ctypes.addressof(array)
        self.memory[address._obj.value] = array
        return 0

    def cuMemFree_v2(self, address):
        del self.memory[address.value]
        return 0

    def cuMemsetD32_v2(self, address, value, count):
        ctypes.memset(address.value, value.value, 4 * count.value)
        return 0

    def cuMemcpyHtoD_v2(self, address, source, size):
        ctypes.memmove(address.value, source, size.value)
        return 0

    def cuMemcpyDtoH_v2(self, target, address, size):
        ctypes.memmove(target, address.value, size.value)
        return 0

    def cuLaunchKernel(self, function, *arguments):
        *sizes, _, _, values, _ = arguments
        numbers = [ctypes.c_uint64.from_address(values[number]).value for number in range(2)]
        self.launches.append((sizes, numbers))
        return 0

    def cuGetErrorString(self, code, text):
        text._obj.value = b"no such thing"
        return 0


@pytest.fixture
def library(monkeypatch):
    def choose(**answers):
        found = PretendedDriver(**answers)
        monkeypatch.setattr(driver.ctypes, "CDLL", lambda name: found)
        return found

    return choose


@pytest.mark.parametrize(
    ("answers", "sentence"),
    [
        ({"start": 100}, "the driver finds none"),
        ({"cards": 0}, "the driver finds none"),
        ({"version": 11080}, "a driver of CUDA 12.0 or newer"),
        ({"capability": (7, 0)}, "needs compute capability 7.5 or newer, and A Card has 7.0"),
    ],
)
def test_what_is_missing_is_named(answers, sentence, library):
    library(**answers)
    with pytest.raises(InputError, match=sentence):
        driver.Card()


def test_a_machine_without_the_driver_is_told_what_to_install(monkeypatch):
    def missing(name):
        raise OSError(name)

    monkeypatch.setattr(driver.ctypes, "CDLL", missing)
    with pytest.raises(InputError, match=r"needs NVIDIA's driver \(libcuda.so.1\)"):
        driver.Card()


def test_a_card_copies_clears_launches_and_gives_everything_back(library):
    found = library()
    card = driver.Card()
    card.load(b"ptx", ["expand"])
    address = card.allocate(4)
    card.write(address, np.array([1, 2, 3, 4], np.uint64))
    card.clear(address + 8, 2)
    assert card.read(address, 4).tolist() == [1, 0, 0, 4]
    card.launch("expand", 0, [address, 7])
    card.launch("expand", 10**9, [address, 7])
    (small, numbers), (large, _) = found.launches
    assert numbers == [address, 7]
    # Every region of the entries needs as many blocks as the others, and at least one.
    assert small[0] == REGIONS and large[0] % REGIONS == 0 and large[0] > 50 * REGIONS
    with pytest.raises(MemoryError):
        card.allocate(1 << 20)
    card.allocate(1)
    card.close()
    assert not found.memory


def test_kernels_that_the_driver_refuses_are_a_mistake_of_the_project(library):
    library(load=218)
    with pytest.raises(InternalError, match="line 7 is wrong"):
        driver.Card().load(b"ptx", [])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], "error: examples/peterson/exclusive: --engine gpu needs "),
        (["--coverage"], "--coverage and --strict need what a card does not keep"),
        (["--store", "compact"], "--store is an option of the native engine"),
        (["--checkpoint", "folder"], "--checkpoint needs --engine native or spark"),
    ],
)
def test_the_command_refuses_in_one_sentence(options, sentence, tmp_path):
    words = [sys.executable, "-m", "checker", "run", "examples/peterson", "--engine", "gpu", *options]
    # The loader finds no driver in an empty folder, whatever this machine has.
    (tmp_path / "libcuda.so.1").write_bytes(b"")
    found = subprocess.run(
        words, cwd=ROOT, capture_output=True, text=True, env={"PATH": "/usr/bin", "LD_LIBRARY_PATH": str(tmp_path)}
    )
    assert found.returncode == 2 and sentence in found.stderr and "Traceback" not in found.stderr
    assert not found.stdout.strip()
