"""SPIN on the same model in the same run: a Promela text, generated for the constants, made into a program and run."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from jinja2 import Environment, StrictUndefined
from measure import BenchmarkError, Constants, Finished, Row, Sample, run

_TEMPLATE = Path(__file__).with_name("kip320.pml.j2")
_MOST_DEPTH = 10_000
"""Steps of the longest path that depth-first search may hold; SPIN says so where that is too few."""

_EXACT = ("-DSAFETY", "-DNOREDUCE", "-DNOFAIR", "-DNOBOUNDCHECK")
"""Whole states, no reduction, and nothing checked that the two properties do not need: SPIN at its fastest."""

_STATES, _ERRORS = r"(\d+) states, stored", r"errors: (\d+)"
_MEBIBYTES = r"([\d.]+)\s+total actual memory usage"


@dataclass(frozen=True)
class Variant:
    """A way to search, and how much the C compiler optimises."""

    label: str
    flags: tuple[str, ...]


VARIANTS = (
    Variant("SPIN, depth first, -O3", ("-O3",)),
    Variant("SPIN, breadth first, -O3", ("-O3", "-DBFS")),
    Variant("SPIN, depth first, -O0", ("-O0",)),
)


@dataclass(frozen=True)
class Run:
    """One run from source to verdict: seconds to compile (`spin -a` and the C compiler) and to explore, and memory."""

    compiling: float
    exploring: float
    peak_bytes: float


def missing() -> list[str]:
    """Return sentences that say what to install before SPIN can be run here; none where it can."""
    sentences = []
    if shutil.which("spin") is None:
        sentences.append("SPIN is not installed, so it is not measured here: install the Debian package `spin`")
    if _compiler() is None:
        sentences.append("SPIN needs a C compiler: install the Debian package `gcc`")
    return sentences


def write_model(constants: Constants, folder: Path) -> Path:
    """Write the Promela text for some constants to a folder, and return its path."""
    template = Environment(undefined=StrictUndefined, autoescape=False).from_string(_TEMPLATE.read_text())
    model = folder / "kip320.pml"
    model.write_text(template.render(**asdict(constants)))
    return model


def explore(variant: Variant, constants: Constants, states: int, folder: Path) -> Run:
    """Run SPIN in a folder; raise BenchmarkError if it does not find all states, and no error."""
    model = write_model(constants, folder)
    made = [run(command, folder) for command in _commands(variant, model)]
    # Four slots a state or more: with fewer it is slower, with many more too.
    process = run(["./pan", f"-m{_MOST_DEPTH}", f"-w{states.bit_length() + 2}", "-b"], folder)
    found, errors = int(_figure(_STATES, process)), int(_figure(_ERRORS, process))
    if found != states or errors != 0:
        raise BenchmarkError(f"{variant.label}: {found:,} states and {errors} errors, instead of {states:,} and none")
    return Run(sum(step.seconds for step in made), process.seconds, _figure(_MEBIBYTES, process) * 2**20)


def row(variant: Variant, runs: Sequence[Run], states: int) -> Row:
    """Return the row of a variant; all memory of the program, which is little else, counts as the states'."""
    peak = max(done.peak_bytes for done in runs)
    return Row(
        variant.label,
        states,
        whole=Sample(tuple(done.compiling + done.exploring for done in runs)),
        compiling=Sample(tuple(done.compiling for done in runs)),
        exploring=Sample(tuple(done.exploring for done in runs)),
        peak_bytes=peak,
        state_bytes=peak / states,
    )


def _compiler() -> str | None:
    return shutil.which("gcc") or shutil.which("cc")


def _commands(variant: Variant, model: Path) -> Iterator[list[str]]:
    yield ["spin", "-a", model.name]
    yield [_compiler() or "cc", "-w", *variant.flags, *_EXACT, "-o", "pan", "pan.c"]


def _figure(pattern: str, process: Finished) -> float:
    """Return a figure in SPIN's report; raise BenchmarkError where it is not in there."""
    found = re.search(pattern, process.output)
    if found is None:
        raise BenchmarkError(f"SPIN's report lacks what matches {pattern}")
    return float(found[1])
