"""The benchmark of exploration at a tiny size: it runs and its table is complete. The figures are not checked."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "bench" / "explore.py"


@pytest.fixture
def bench(monkeypatch):
    """Make the modules in the script's folder importable, as they are for the script."""
    monkeypatch.syspath_prepend(str(SCRIPT.parent))


@pytest.fixture(scope="module")
def printed():
    # Without a terminal and without SPIN, which has its own test.
    environment = os.environ | {"PATH": ""}
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--quick"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1 worker", "2 workers"])
@pytest.mark.parametrize("properties", ["as published", "all properties"])
def test_table_has_a_complete_row_for_each_setting(printed, workers, properties):
    (row,) = [line for line in printed.split("\n") if f"tidemark, {workers}, {properties} " in line]
    cells = [cell.strip() for cell in row.strip("│").split("│")]
    assert len(cells) == 9
    assert "-" not in cells


@pytest.mark.slow
def test_start_up_and_gain_of_the_second_worker_are_printed(printed):
    assert " s cold " in printed and " s warm" in printed
    assert printed.count("times as fast as with 1 worker") == 2
    assert printed.count("two independent processes: explore") == 1


@pytest.mark.slow
def test_missing_spin_and_compiler_are_named_with_their_packages(printed):
    assert "install the Debian package `spin`" in printed
    assert "install the Debian package `gcc`" in printed


@pytest.mark.parametrize("constants", [(2, 2, 2, 1), (2, 2, 2, 2), (3, 2, 2, 1)], ids=str)
@pytest.mark.usefixtures("bench")
def test_spin_finds_the_published_states(constants, tmp_path):
    import published
    import spin
    from measure import Constants

    if spin.missing():
        pytest.skip("; ".join(spin.missing()))
    model = Constants(*constants)
    states = published.states("Kip320", model)
    for variant in spin.VARIANTS[1:]:
        folder = tmp_path / variant.label
        folder.mkdir()
        # Optimisation by the C compiler takes long and changes no count.
        quick = spin.Variant(variant.label, tuple(flag for flag in variant.flags if not flag.startswith("-O")))
        assert spin.explore(quick, model, states, folder).exploring > 0


@pytest.mark.skipif(shutil.which("spin") is None, reason="SPIN is not installed")
@pytest.mark.usefixtures("bench")
def test_spin_with_another_count_is_an_error(tmp_path):
    import spin
    from measure import BenchmarkError, Constants

    with pytest.raises(BenchmarkError, match="957 states and 0 errors, instead of 958"):
        spin.explore(spin.Variant("SPIN", ()), Constants(2, 2, 2, 1), 958, tmp_path)


@pytest.mark.usefixtures("bench")
def test_published_sentences_are_parsed_to_figures():
    import published
    from measure import Constants

    rows = {row.tool: row for row in published.rows(Constants(3, 3, 3, 2))}
    assert rows["TLC, 1 worker"].whole.median == 430
    assert rows["Rumur, 1 thread, forced inlining"].exploring.median == 13.7
    depth_first = rows["SPIN, depth first"]
    assert (depth_first.exploring.median, depth_first.compiling.median) == (3.2, 2.7)
    assert depth_first.whole.median == pytest.approx(5.9)
    assert round(depth_first.state_bytes) == 104
    assert published.rows(Constants(2, 2, 2, 1)) == []
