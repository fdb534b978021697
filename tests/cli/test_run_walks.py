"""`simulate` without a folder: random walks in the process of the command."""

import json
import re
import threading
from types import SimpleNamespace

import pytest

from checker.errors import InputError
from checker.output.styled_lines import plain
from checker.run.result import TraceStep, Violation
from spark_analysis.commands import run_walks
from spark_analysis.commands.walk_text import walk_lines, walks_to_json
from spark_analysis.walks import local_walks
from spark_analysis.walks.local_walks import FoundByWalk, LocalWalks, walk_locally
from specs.examples.peterson import Peterson, PetersonHasty
from tests.toy import Counter, Overflow
from traces.replay import replay

EXCLUSION = "mutual_exclusion"


def walks(spec, *properties, **options):
    return walk_locally(spec, list(properties), **({"walks": 200, "depth": 20, "seed": 7} | options))


def test_walks_without_a_violation_decide_nothing(checker):
    outcome = checker("simulate", "examples/peterson/exclusive", "--traces", "300", "--depth", "60", "--seed", "7")
    assert outcome.status == 0
    assert outcome.out.endswith("\n\nexamples/peterson/exclusive: no violation in 300 walks\n")
    assert "holds" not in outcome.out
    assert "  20 distinct states visited; other states were not checked\n" in outcome.out


def test_a_violation_is_shown_and_written(checker, tmp_path):
    options = ("--traces", "300", "--seed", "7", "--counterexamples", tmp_path)
    outcome = checker("simulate", "examples/peterson_hasty", *options, "--json", tmp_path / "found.json")
    assert outcome.status == 1
    *_, written, last = outcome.out.splitlines()
    assert written == f"written: {tmp_path}, {tmp_path / 'found.json'}"
    assert last.startswith("examples/peterson_hasty/swapped_steps: violation found: mutual_exclusion in walk ")
    assert "counterexample of" in outcome.out and " walks of at most 100 steps, seed 7: " in outcome.out
    found = json.loads((tmp_path / "found.json").read_text())
    assert (found["walks"], found["failed_walks"], found["seed"]) == (found["violations"][0]["walk"] + 1, 1, 7)
    assert any(path.suffix == ".json" and EXCLUSION in path.name for path in tmp_path.iterdir())


def test_the_same_seed_finds_the_same_walk_for_every_batch(monkeypatch):
    spec = PetersonHasty()
    found = [walks(spec, EXCLUSION, seed=seed) for seed in (7, 7, 8)]
    monkeypatch.setattr(local_walks, "BATCH_STEPS", 40)
    found.append(walks(spec, EXCLUSION))
    texts = [[str(step) for step in made.found[EXCLUSION].violation.trace] for made in found]
    assert texts[0] == texts[1] == texts[3]
    assert [made.found[EXCLUSION].walk for made in (found[0], found[3])] == [found[1].found[EXCLUSION].walk] * 2
    assert (found[0].steps, found[0].distinct_states) == (found[3].steps, found[3].distinct_states)
    replay(spec, found[0].found[EXCLUSION].violation)


def test_keep_going_counts_every_failed_walk():
    made = walks(PetersonHasty(), EXCLUSION, keep_going=True)
    assert made.is_whole and made.failures > 1
    assert made.found[EXCLUSION].walk == walks(PetersonHasty(), EXCLUSION).found[EXCLUSION].walk


def test_an_error_in_an_action_is_a_violation():
    made = walks(Overflow())
    (found,) = made.found.values()
    assert (found.violation.kind, made.is_whole) == ("bounds_error", False)


def test_a_deadlock_is_a_violation():
    made = walks(Counter(), "deadlock")
    assert made.found["deadlock"].violation.kind == "deadlock"


def test_an_interrupt_ends_after_a_batch(monkeypatch):
    monkeypatch.setattr(local_walks, "BATCH_STEPS", 100)
    cancelled = threading.Event()
    made = walks(Peterson(), EXCLUSION, cancelled=cancelled, on_progress=lambda done, failures: cancelled.set())
    assert made.walks == 5 and not made.is_whole and not made.found


def test_an_interrupted_run_is_the_last_one(checker, monkeypatch):
    def stopped(spec, properties, *, cancelled, walks, depth, seed, **_):
        cancelled.set()
        return LocalWalks(depth, seed, walks, sampling=2, walks=1, steps=1)

    monkeypatch.setattr(run_walks, "walk_locally", stopped)
    outcome = checker("simulate", "examples/peterson/exclusive", "examples/echo", "--traces", "5")
    assert outcome.status == 3
    assert outcome.out.startswith(
        "examples/peterson/exclusive\n  1 walk of at most 100 steps, seed 1: 1 step\n  about 0 "
    )
    assert outcome.out.endswith("examples/peterson/exclusive: no violation in 1 walk (interrupted)\n")


def test_a_trace_that_leaves_steps_out_says_so():
    violation = Violation("safe", "invariant", (TraceStep(None, (), Counter().initial_states()[0]),), "")
    run = SimpleNamespace(name="toy", spec=Counter(), scenario=None, entry=SimpleNamespace(name="toy"))
    for length in (1, 2):
        made = LocalWalks(9, 1, 5, walks=4, steps=1000, failures=1, found={"safe": FoundByWalk(3, length, violation)})
        text = plain(walk_lines(run, made, [], 0.5))
        assert ("  the walk had 2 states; this trace leaves steps out\n" in text) == (length == 2)
        assert "  4 walks of at most 9 steps, seed 1: 1,000 steps\n" in text and "2,000 steps per second" in text
        assert text.endswith("toy: violation found: safe in walk 3\n")
        data = walks_to_json(run, made, ["live"], 0.12345678)
        assert (data["seconds"], data["distinct_states_are_estimated"]) == (0.123457, False)
        assert (data["violations"][0]["walk"], data["violations"][0]["found_length"]) == (3, length)


def test_many_states_are_sampled(monkeypatch):
    whole = walks(Peterson(), EXCLUSION)
    monkeypatch.setattr(local_walks, "MOST_HASHES", 8)
    sampled = walks(Peterson(), EXCLUSION)
    assert whole.sampling == 0 and sampled.sampling > 0 and len(sampled.hashes) <= 8
    assert sampled.distinct_states == len(sampled.hashes) << sampled.sampling


@pytest.mark.parametrize("option", ["--steps", "--beyond", "--report", "--sweep=limit=1,2", "--master=local"])
def test_options_of_written_walks_need_a_folder(checker, option):
    outcome = checker("simulate", "examples/peterson", option)
    assert (outcome.status, outcome.out) == (InputError.exit_status, "")
    assert outcome.err.startswith(f"error: {option.partition('=')[0]}: ") and "--out" in outcome.err


@pytest.mark.parametrize("option", ["--keep-going", "--counterexamples=x", "--no-cache", "examples/ring"])
def test_options_of_walks_in_the_process_need_no_folder(checker, option, tmp_path):
    outcome = checker("simulate", "examples/peterson", option, "--out", tmp_path)
    assert (outcome.status, outcome.out) == (InputError.exit_status, "")
    assert outcome.err.startswith("error: --out takes one spec, and none of --keep-going,")


@pytest.mark.parametrize("count", [("--simulate", "9"), ("--simulate=9",)])
def test_the_old_spelling_is_a_hint(checker, tmp_path, count):
    outcome = checker("run", "examples/peterson_hasty", *count, "--seed=7", "--out", tmp_path)
    given = " ".join(count).replace("--simulate", "--traces")
    words = f"examples/peterson_hasty {given} --seed=7 --counterexamples {tmp_path}"
    assert (outcome.status, outcome.err) == (1, f"hint: this is now: python -m checker simulate {words}\n")
    today = checker(*outcome.err.split()[7:])
    assert [line for line in outcome.out.splitlines() if "per second" not in line] == [
        line for line in today.out.splitlines() if "per second" not in line
    ]


def test_liveness_is_not_checked_by_walks(checker):
    outcome = checker("simulate", "examples/echo", "--traces", "5")
    assert "not checked by walks: " in outcome.out


def test_written_walks_and_their_report_name_the_liveness_properties(checker, tmp_path):
    folder = tmp_path / "walks"
    outcome = checker("simulate", "examples/echo", "--traces", "5", "--out", str(folder), "--report")
    (name,) = re.findall(r"^not checked by walks: (.+) \(liveness\)$", outcome.out, re.MULTILINE)
    assert f"Not checked by walks: {name} (liveness)." in outcome.out
    assert f"Not checked by walks: {name} (liveness)." in (folder / "report" / "report.html").read_text()
