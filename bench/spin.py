"""SPIN on the same model: a Promela model is generated for the constants, compiled and run."""

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
"""The greatest depth of depth-first search in steps; SPIN reports an error if it is too small."""

_EXACT = ("-DSAFETY", "-DNOREDUCE", "-DNOFAIR", "-DNOBOUNDCHECK")
"""Full states, no partial-order reduction, and no checks that the two properties do not need: SPIN at its fastest."""

_STATES, _ERRORS = r"(\d+) states, stored", r"errors: (\d+)"
_MEBIBYTES = r"([\d.]+)\s+total actual memory usage"


@dataclass(frozen=True)
class Variant:
    """A search order and the optimisation level of the C compiler."""

    label: str
    flags: tuple[str, ...]


VARIANTS = (
    Variant("SPIN, depth first, -O3", ("-O3",)),
    Variant("SPIN, breadth first, -O3", ("-O3", "-DBFS")),
    Variant("SPIN, depth first, -O0", ("-O0",)),
)


@dataclass(frozen=True)
class Run:
    """One run: seconds to compile (`spin -a` and the C compiler), seconds to explore, and peak memory in bytes."""

    compiling: float
    exploring: float
    peak_bytes: float


def missing() -> list[str]:
    """Return a sentence for each program that SPIN needs and that is not installed."""
    sentences = []
    if shutil.which("spin") is None:
        sentences.append("SPIN is not installed, so it is not measured here: install the Debian package `spin`")
    if _compiler() is None:
        sentences.append("SPIN needs a C compiler: install the Debian package `gcc`")
    return sentences


def write_model(constants: Constants, folder: Path) -> Path:
    """Write the Promela model for some constants to a folder, and return its path."""
    template = Environment(undefined=StrictUndefined, autoescape=False).from_string(_TEMPLATE.read_text())
    model = folder / "kip320.pml"
    model.write_text(template.render(**asdict(constants)))
    return model


def explore(variant: Variant, constants: Constants, states: int, folder: Path) -> Run:
    """Run SPIN in a folder; raise BenchmarkError unless it finds all states and no error."""
    model = write_model(constants, folder)
    made = [run(command, folder) for command in _commands(variant, model)]
    # -w: the binary logarithm of the number of hash slots. At least four slots per state; many more are slower too.
    process = run(["./pan", f"-m{_MOST_DEPTH}", f"-w{states.bit_length() + 2}", "-b"], folder)
    found, errors = int(_figure(_STATES, process)), int(_figure(_ERRORS, process))
    if found != states or errors != 0:
        raise BenchmarkError(f"{variant.label}: {found:,} states and {errors} errors, instead of {states:,} and none")
    return Run(sum(step.seconds for step in made), process.seconds, _figure(_MEBIBYTES, process) * 2**20)


def row(variant: Variant, runs: Sequence[Run], states: int) -> Row:
    """Return the row of a variant; all of the program's memory counts as memory of states."""
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
    """Return a figure in SPIN's report; raise BenchmarkError if the report does not have it."""
    found = re.search(pattern, process.output)
    if found is None:
        raise BenchmarkError(f"SPIN's report does not match {pattern}")
    return float(found[1])
