"""The driver of NVIDIA's cards, `libcuda.so.1`, which is all that a user needs: no toolkit, no compiler."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from checker.engines.gpu.memory import REGIONS
from checker.engines.gpu.ptx import OLDEST
from checker.errors import InputError, InternalError

if TYPE_CHECKING:
    from checker.engines.native.llvm.word_arrays import Words

_LIBRARY = "libcuda.so.1"
_LEAST_VERSION = 12000
"""The version of the driver's interface, CUDA 12.0, that reads the PTX."""

_OUT_OF_MEMORY = 2
_MAJOR, _MINOR = 75, 76
"""Numbers of the attributes of a card: its compute capability."""

_BLOCK = 256
_MOST_BLOCKS = 64 * REGIONS

_U64 = ctypes.c_uint64


class Card:
    """The first card of this machine, with memory and kernels; `close` gives everything back.

    Raises InputError, a sentence that names what is missing, if there is no card, no driver, or if either is too old.
    """

    def __init__(self) -> None:
        try:
            self._cuda = ctypes.CDLL(_LIBRARY)
        except OSError:
            raise InputError(f"--engine gpu needs NVIDIA's driver ({_LIBRARY}), which is not installed here") from None
        code = self._cuda.cuInit(0)
        device, count = ctypes.c_int(), ctypes.c_int()
        if code or self._cuda.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
            raise InputError(f"--engine gpu needs a card of NVIDIA, and the driver finds none ({self._text(code)})")
        self._call("cuDeviceGet", ctypes.byref(device), 0)
        self._device = device
        version = ctypes.c_int()
        self._call("cuDriverGetVersion", ctypes.byref(version))
        if version.value < _LEAST_VERSION:
            raise InputError("--engine gpu needs a driver of CUDA 12.0 or newer (525.60): update NVIDIA's driver")
        self.driver = f"CUDA {version.value // 1000}.{version.value % 1000 // 10}"
        name = ctypes.create_string_buffer(100)
        self._call("cuDeviceGetName", name, 100, device)
        self.name = name.value.decode(errors="replace")
        self.capability = self._attribute(_MAJOR), self._attribute(_MINOR)
        if self.capability < OLDEST:
            has, needs = (f"{major}.{minor}" for major, minor in (self.capability, OLDEST))
            raise InputError(f"--engine gpu needs compute capability {needs} or newer, and {self.name} has {has}")
        context = ctypes.c_void_p()
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._call("cuCtxSetCurrent", context)
        self._module = ctypes.c_void_p()
        self._functions: dict[str, ctypes.c_void_p] = {}
        self._allocated: set[int] = set()

    def close(self) -> None:
        """Give all memory back."""
        for address in list(self._allocated):
            self.release(address)
        if self._module:
            self._call("cuModuleUnload", self._module)
        self._call("cuDevicePrimaryCtxRelease_v2", self._device)

    def load(self, ptx: bytes, kernels: Sequence[str]) -> None:
        """Let the driver compile PTX, and look its kernels up."""
        log = ctypes.create_string_buffer(4096)
        options = (ctypes.c_int * 2)(5, 6)
        values = (ctypes.c_void_p * 2)(ctypes.cast(log, ctypes.c_void_p), len(log))
        code = self._cuda.cuModuleLoadDataEx(ctypes.byref(self._module), ctypes.c_char_p(ptx), 2, options, values)
        if code:
            report = log.value.decode(errors="replace")
            raise InternalError(f"the driver refuses the kernels: {self._text(code)}: {report}")
        for kernel in kernels:
            function = self._functions[kernel] = ctypes.c_void_p()
            self._call("cuModuleGetFunction", ctypes.byref(function), self._module, kernel.encode())

    def free_bytes(self) -> int:
        """Return the bytes of memory that are free."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self._call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value

    def allocate(self, words: int) -> int:
        """Return the address of new memory; raise MemoryError if there is none."""
        address = _U64()
        code = self._cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(8 * words))
        if code == _OUT_OF_MEMORY:
            raise MemoryError
        self._require(code, "cuMemAlloc_v2")
        self._allocated.add(address.value)
        return address.value

    def release(self, address: int) -> None:
        """Give memory back."""
        self._allocated.remove(address)
        self._call("cuMemFree_v2", _U64(address))

    def clear(self, address: int, words: int) -> None:
        """Set some words to zero."""
        self._call("cuMemsetD32_v2", _U64(address), ctypes.c_uint(0), ctypes.c_size_t(2 * words))

    def write(self, address: int, content: Words) -> None:
        """Copy words to the card."""
        self._call("cuMemcpyHtoD_v2", _U64(address), content.ctypes.data_as(ctypes.c_void_p), _bytes_of(content))

    def read(self, address: int, words: int) -> Words:
        """Return a copy of some words, after the kernels before it have ended."""
        import numpy as np

        content = np.empty(words, np.uint64)
        self._call("cuMemcpyDtoH_v2", content.ctypes.data_as(ctypes.c_void_p), _U64(address), _bytes_of(content))
        return content

    def launch(self, kernel: str, items: int, arguments: Sequence[int]) -> None:
        """Start a kernel with about as many threads as items; it runs after those before it."""
        blocks = -(-max(1, items) // _BLOCK)
        # The entries of a region need a block: every region has as many.
        blocks = min(-(-blocks // REGIONS) * REGIONS, _MOST_BLOCKS)
        values = [_U64(argument) for argument in arguments]
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
        self._call("cuLaunchKernel", self._functions[kernel], blocks, 1, 1, _BLOCK, 1, 1, 0, None, pointers, None)

    def _attribute(self, number: int) -> int:
        value = ctypes.c_int()
        self._call("cuDeviceGetAttribute", ctypes.byref(value), number, self._device)
        return value.value

    def _call(self, name: str, *arguments: Any) -> None:
        self._require(getattr(self._cuda, name)(*arguments), name)

    def _require(self, code: int, name: str) -> None:
        if code:
            raise InternalError(f"the card's driver: {name}: {self._text(code)}")

    def _text(self, code: int) -> str:
        text = ctypes.c_char_p()
        self._cuda.cuGetErrorString(code, ctypes.byref(text))
        return f"error {code}" if text.value is None else text.value.decode(errors="replace")


def _bytes_of(content: Words) -> ctypes.c_size_t:
    return ctypes.c_size_t(content.nbytes)
