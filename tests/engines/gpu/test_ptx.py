"""The PTX of the specs: LLVM writes it, and NVIDIA's assembler accepts it."""

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest

from checker.engines.gpu import ptx
from checker.engines.gpu.engine import lower_for_card
from checker.engines.native.llvm import code_cache
from checker.run.plan import properties_to_search
from tests.support.library_runs import RUNS

FEW = ("examples/peterson", "replication/kip320", "broker/leader_state")
ALL = {run.name.rpartition("/")[0]: run for run in RUNS.values()}
"""The last scenario of each spec."""


def assembler():
    """Return NVIDIA's assembler: on the path, or in its wheel `nvidia-cuda-nvcc`; None if it is not installed."""
    found = shutil.which("ptxas")
    package = importlib.util.find_spec("nvidia")
    folders = [] if package is None else list(package.submodule_search_locations or [])
    wheels = [path for folder in folders for path in Path(folder).glob("*/bin/ptxas")]
    return found or next(iter(wheels), None)


def ptx_of(name, target):
    run = ALL[name]
    symmetric_in = run.spec.initial_states() if run.symmetry else None
    return ptx.ptx_of(
        lower_for_card(run.spec, properties_to_search(run.spec, run.properties), symmetric_in).text, target
    )


def check(name, target, folder):
    program = assembler()
    if program is None:
        pytest.skip("there is no ptxas: python -m pip install nvidia-cuda-nvcc")
    source, output = folder / "kernels.ptx", folder / "kernels.cubin"
    source.write_bytes(ptx_of(name, target))
    finished = subprocess.run([program, f"-arch={target}", source, "-o", output], capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    assert output.stat().st_size > 1000


@pytest.mark.parametrize("name", FEW)
@pytest.mark.parametrize("target", ["sm_75", "sm_90"])
def test_the_assembler_accepts_the_kernels(name, target, tmp_path):
    check(name, target, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_the_assembler_accepts_the_kernels_of_every_spec(name, tmp_path):
    check(name, "sm_90", tmp_path)


def test_ptx_has_the_kernels_and_comes_from_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv(code_cache.VARIABLE, str(tmp_path / "code"))
    first = ptx_of("replication/kip320", "sm_80")
    assert all(f".entry {kernel}(" in first.decode() for kernel in ptx.KERNELS)
    monkeypatch.setattr(ptx, "_machine_code", None)
    assert ptx_of("replication/kip320", "sm_80") == first


@pytest.mark.parametrize(
    ("capability", "target"), [((7, 5), "sm_75"), ((8, 6), "sm_80"), ((9, 0), "sm_90"), ((12, 0), "sm_90")]
)
def test_a_card_runs_the_best_target_it_knows(capability, target):
    assert ptx.target_of(capability) == target
