"""Benchmark of proofs: a bounded search for each published counterexample, and the proofs of KIP-320.

    python bench/prove.py                 all published counterexamples, then the proofs (about ten minutes)
    python bench/prove.py --minutes 1     time limit of each search in minutes

A search is correct if the counterexample has exactly the published length, since shorter lengths are searched first.
Times are CPU seconds, which depend less on other load than wall-clock time.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from checker.engines.smt import bounded, induction  # noqa: E402
from checker.engines.smt.solving import QueryLimits  # noqa: E402
from checker.engines.smt.transition_system import TransitionSystem  # noqa: E402
from checker.language.roles import Role  # noqa: E402
from checker.language.spec import Spec  # noqa: E402
from specs.replication.kip101 import Kip101  # noqa: E402
from specs.replication.kip279 import Kip279  # noqa: E402
from specs.replication.kip320 import Kip320  # noqa: E402
from specs.replication.kip320_first_try import Kip320FirstTry  # noqa: E402
from specs.replication.truncate_to_high_watermark import TruncateToHighWatermark  # noqa: E402

GOLDEN = ROOT / "tests" / "golden" / "kafka-replication.json"
CONSTANTS = ("replicas", "log_size", "max_records", "max_leader_epoch")
SPECS: dict[str, type[Spec]] = {
    "KafkaTruncateToHighWatermark": TruncateToHighWatermark,
    "Kip101": Kip101,
    "Kip279": Kip279,
    "Kip320FirstTry": Kip320FirstTry,
}
OURS = [(Kip279, (3, 2, 2, 2), "weak_isr", 11), (Kip320FirstTry, (3, 1, 1, 2), "weak_isr", 12)]
"""Counterexamples that are not published, with the lengths that the explorer finds."""

PROOFS = [(2, 2, 2, 1), (2, 2, 2, 2), (3, 2, 2, 2)]


def searches() -> Iterator[tuple[type[Spec], tuple[int, ...], str, int]]:
    """Iterate over specs, constants, properties and the lengths of their shortest counterexamples."""
    for row in json.loads(GOLDEN.read_text())["replication"]:
        for name in ("weak_isr", "strong_isr"):
            if "length" in row[name]:
                yield SPECS[row["module"]], tuple(row[c] for c in CONSTANTS), name, row[name]["length"]
    yield from OURS


def search(kind: type[Spec], sizes: tuple[int, ...], name: str, length: int, minutes: float) -> dict[str, Any]:
    """Search for one counterexample; return its verdict, the depth and the CPU seconds."""
    spec = kind(**dict(zip(CONSTANTS, sizes, strict=True)))
    started = time.process_time()
    found = bounded.search(
        TransitionSystem(spec, [name]),
        [name],
        length,
        QueryLimits(minutes * 60),
        is_over=lambda _, seconds: seconds > minutes * 60,
    )
    lengths = [violation.length for violation in found.violations]
    verdict = "as expected" if lengths == [length] else f"different: {lengths}" if lengths else "not finished"
    return {"verdict": verdict, "depth": found.depth, "seconds": time.process_time() - started}


def prove(sizes: tuple[int, ...]) -> induction.InductionProof:
    """Prove the invariants and step invariants of KIP-320 with the spec's lemmas."""
    spec = Kip320(**dict(zip(CONSTANTS, sizes, strict=True)))
    targets, lemmas = spec.names_of(Role.INVARIANT, Role.STEP_INVARIANT), spec.names_of(Role.LEMMA)
    return induction.prove(TransitionSystem(spec, [*targets, *lemmas]), targets, lemmas, QueryLimits(600))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10, help="time limit of one search in minutes (default: 10)")
    minutes = parser.parse_args().minutes
    print("| bounded search | constants | property | states | found | seconds |", flush=True)
    print("| --- | --- | --- | --- | --- | --- |")
    for kind, sizes, name, length in searches():
        found = search(kind, sizes, name, length, minutes)
        words = [kind.name, str(sizes), name, str(length), found["verdict"], f"{found['seconds']:.1f}"]
        print(f"| {' | '.join(words)} |", flush=True)
    print("\n| proof | constants | verdict | queries | seconds | the longest query | seconds |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for sizes in PROOFS:
        started = time.process_time()
        proof = prove(sizes)
        longest = max(proof.cells, key=lambda cell: cell.seconds)
        seconds = time.process_time() - started
        words = ["kip320", str(sizes), proof.verdict, str(len(proof.cells)), f"{seconds:.1f}"]
        words += [f"{longest.conjunct}, {longest.action}", f"{longest.seconds:.1f}"]
        print(f"| {' | '.join(words)} |", flush=True)


if __name__ == "__main__":
    main()
