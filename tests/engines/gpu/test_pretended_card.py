"""The engine on a card, with the card played by this process, agrees with the native engine; faults are noticed."""

import dataclasses
import re
import threading

import pytest

from checker.cli.app import main
from checker.engines.gpu import engine, kernels, search
from checker.engines.gpu.memory import FILL_STRIDE, FILLS
from checker.engines.native import engine as native
from checker.engines.native.llvm.control_flow import word
from checker.errors import InputError, InternalError
from checker.language import Constant, Range, Spec, action, invariant, require, step_invariant, view
from checker.language.liveness import liveness_names
from checker.run import ledger
from checker.run.endings import StoppedError
from checker.run.plan import Plan
from checker.run.request import Request, runs_for
from checker.run.result import Result
from tests.engines.gpu.compare_on_card import content_of, plan_of
from tests.engines.gpu.pretended_card import PretendedCard, explore_on_pretended_card
from tests.engines.test_views import Token
from tests.golden.test_tlc_counts import ROWS, spec_of
from tests.support.library_runs import RUNS
from tests.toy import Bounded, Counter, Log, Overflow

RECORDS = ledger.read(ledger.default_path())
MOST_STATES = 100_000

SMALL = (
    "broker/leader_state/markers_and_verification",
    "broker/leader_state/i13_expiry",
    "broker/follower_state/replication",
    "examples/peterson/exclusive",
    "replication/kip320/two_replicas",
    "replication/kip320_first_try/two_replicas",
    "replication/async_isr/two_replicas",
    "replication/async_isr_history/two_replicas",
)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Let levels have several pieces, and the table grow often."""
    monkeypatch.setattr(search, "MOST_ENTRIES", 600)
    monkeypatch.setattr(search, "_FIRST_SLOTS", 8)


def compare(spec, plan, seed=0, **options):
    one, other = (
        content_of(explore_on_pretended_card(spec, plan, seed, **options)),
        content_of(native.explore(spec, plan)),
    )
    assert one == other


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_small_scenarios_have_the_result_of_the_native_engine(name, seed):
    compare(RUNS[name].spec, plan_of(RUNS[name]), seed)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", RUNS)
def test_scenarios_have_the_result_of_the_native_engine(name, monkeypatch):
    run = RUNS[name]
    if name in RECORDS and (RECORDS[name].distinct_states or 0) > MOST_STATES:
        pytest.skip("too many states for a pretended card")
    monkeypatch.setattr(search, "MOST_ENTRIES", 1 << 14)
    if liveness_names(run.spec, run.properties):
        pytest.skip("a card decides no liveness property")
    expected = native.explore(run.spec, plan_of(run))
    if expected.distinct_states > MOST_STATES:
        pytest.skip("too many states for a pretended card")
    found = explore_on_pretended_card(run.spec, plan_of(run), len(name), regions=8)
    assert content_of(found) == content_of(expected)


LARGER = ({"processes": 3, "tickets": 2}, {"processes": 3}, {"nodes": 5})
"""Constants of specs that have a smaller row too."""


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(
            row,
            id=f"{row['module']} {row['constants']}",
            marks=pytest.mark.slow if row["constants"] in LARGER else (),
        )
        for row in ROWS
    ],
)
def test_golden_counts_are_those_of_the_native_engine(row, monkeypatch):
    monkeypatch.setattr(search, "MOST_ENTRIES", 1 << 14)
    spec = spec_of(row)
    compare(spec, Plan(tuple(spec.safety_properties)))


class Grid(Spec):
    """Two numbers that grow, or are exchanged: many steps lead to one state, and two levels have violations."""

    size = Constant(12)
    x = Range(0, "size")
    y = Range(0, "size")
    fails = Constant(False)

    @action
    def right(self):
        require(self.fails or self.x < self.size)
        self.x += 1

    @action
    def up(self, by: Range(1, 3)):
        require(self.y + by <= self.size)
        self.y += by

    @action
    def exchange(self):
        require(self.x != self.y)
        self.x, self.y = self.y, self.x

    @invariant
    def below_nine(self):
        return self.x + self.y < 9

    @invariant
    def below_seven(self):
        return self.x < 7

    @step_invariant
    def does_not_jump(self, old):
        return self.x - old.x < 6


class Hidden(Grid):
    """A view that depends on the order in which states are found."""

    @view(unchecked=True)
    def only_x(self):
        return self.x


SHORT = range(51_500, 56_000, 500)
"""Sizes of a memory that suffices to begin, for some states of the grid or for all."""

PLANS = [
    Plan(("below_nine", "below_seven", "does_not_jump"), stop="first", deadlock=True),
    Plan(("below_nine", "below_seven", "does_not_jump"), stop="all", deadlock=True),
    Plan(("below_nine", "does_not_jump"), stop=frozenset({"below_nine", "does_not_jump"})),
    Plan(("below_seven",), stop=frozenset({"below_seven", "deadlock"}), deadlock=True),
    Plan((), stop="all", max_depth=4),
    Plan(("below_nine",), stop="all", max_depth=1),
]


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("constants", [{}, {"fails": True}, {"size": 3}])
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_findings_and_limits_have_the_result_of_the_native_engine(plan, constants, seed):
    compare(Grid(**constants), plan, seed)


@pytest.mark.parametrize("spec", [Counter(), Counter(resets=True), Overflow(), Bounded(), Log(), Token()])
@pytest.mark.parametrize("stop", ["first", "all"])
def test_toys_have_the_result_of_the_native_engine(spec, stop):
    compare(spec, Plan(tuple(spec.safety_properties), stop, deadlock=True))


def test_symmetry_stores_one_state_of_each_orbit():
    run = next(run for run in runs_for(Request(("replication/kip320/two_replicas",), symmetry=True)))
    compare(run.spec, plan_of(run))


def test_states_beyond_a_limit_end_with_the_level():
    plan = Plan((), stop="all", max_states=20)
    results = [explore_on_pretended_card(Grid(), plan, seed) for seed in range(3)]
    assert {(result.ended, result.levels) for result in results} == {("max_states", results[0].levels)}
    whole = native.explore(Grid(), Plan((), stop="all"))
    assert results[0].levels == whole.levels[: results[0].depth] and sum(results[0].levels[:-1]) < 20


def test_short_memory_is_a_partial_answer():
    result = explore_on_pretended_card(Grid(), Plan((), stop="all"), memory=53_000)
    assert result.ended == "max_memory" and result.verdict == "incomplete"
    assert 0 < result.distinct_states < native.explore(Grid(), Plan(())).distinct_states
    with pytest.raises(StoppedError, match="memory of the card"):
        explore_on_pretended_card(Grid(), Plan(()), memory=1000)


def test_no_thread_looks_for_a_slot_in_a_full_table(monkeypatch):
    launch = PretendedCard.launch

    def checked(self, kernel, items, arguments):
        if kernel == "insert":
            *_, status, _, slots = arguments
            assert self.read(status, 1)[0] + items < slots
        launch(self, kernel, items, arguments)

    monkeypatch.setattr(PretendedCard, "launch", checked)
    ends = {explore_on_pretended_card(Grid(), Plan((), stop="all"), memory=size).ended for size in SHORT}
    assert ends == {"max_memory", "complete"}


def test_the_limit_of_memory_holds_on_a_large_card():
    result = explore_on_pretended_card(Grid(), Plan((), stop="all", max_memory=49_700))
    assert result.ended == "max_memory"


def test_progress_is_reported_and_an_interrupt_ends_the_run(monkeypatch):
    monkeypatch.setattr(search, "_PROGRESS_SECONDS", 0)
    reports = []
    explore_on_pretended_card(Grid(), Plan((), stop="all", on_progress=reports.append))
    assert [report.distinct_states for report in reports] == sorted(report.distinct_states for report in reports)
    cancelled = threading.Event()
    cancelled.set()
    assert explore_on_pretended_card(Grid(), Plan((), stop="all", cancelled=cancelled)).ended == "interrupted"


def test_unchecked_views_and_liveness_are_refused():
    with pytest.raises(InputError, match="unchecked view only_x"):
        explore_on_pretended_card(Hidden(), Plan(()))
    run = next(run for name, run in RUNS.items() if name.startswith("producer/fair_"))
    with pytest.raises(InputError, match="decides no liveness property"):
        explore_on_pretended_card(run.spec, plan_of(run))


def test_the_command_gives_a_verdict(monkeypatch, capsys):
    """The run accounts for each property, which the engine alone does not."""
    monkeypatch.setattr(engine, "explore", explore_on_pretended_card)
    assert main(["run", "replication/kip320/two_replicas", "--engine", "gpu"]) == 0
    assert "every property holds" in capsys.readouterr().out


def test_a_native_run_that_ends_early_gives_no_verdict(monkeypatch):
    monkeypatch.setattr(engine.native, "explore", lambda spec, plan: _ended(spec, plan, "max_memory"))
    for stop in ("first", "all"):
        with pytest.raises(StoppedError, match="ended before"):
            explore_on_pretended_card(Grid(), Plan(("below_nine",), stop))


def test_engines_that_disagree_give_no_verdict(monkeypatch):
    explore = native.explore
    monkeypatch.setattr(engine.native, "explore", lambda spec, plan: _ended(spec, plan, "complete"))
    for stop in ("first", "all"):
        with pytest.raises(InternalError, match="disagree"):
            explore_on_pretended_card(Grid(), Plan(("below_nine",), stop))

    def longer(spec, plan):
        result = explore(spec, plan)
        first = result.violations[0]
        return dataclasses.replace(result, violations=[dataclasses.replace(first, trace=first.trace[1:])])

    monkeypatch.setattr(engine.native, "explore", longer)
    with pytest.raises(InternalError, match="disagree"):
        explore_on_pretended_card(Grid(), Plan(("below_nine",), "all"))


def _ended(spec, plan, how):
    return Result("native", 1, 1, 1, (1,), 0.0, how)


# Faults. Each of these lines of the engine can be wrong, and a comparison then differs.


def is_noticed(spec=None, change=lambda text: text):
    """Return whether one of a few seeds shows a difference in the counts."""
    spec = Grid() if spec is None else spec
    plan = Plan((), stop="all", max_memory=1 << 22)
    right = content_of(native.explore(spec, plan))
    for seed in range(4):
        try:
            if content_of(explore_on_pretended_card(spec, plan, seed, change=change)) != right:
                return True
        except (MemoryError, StoppedError):
            return True
    return False


def test_without_a_fault_nothing_is_noticed(monkeypatch):
    assert not is_noticed()
    # All states have one of three hashes: the comparison of whole states alone keeps them apart.
    monkeypatch.setattr(
        kernels, "state_hash", lambda builder, key: builder.mul(builder.urem(key[0], word(3)), word(2**62 + 12345))
    )
    assert not is_noticed()


def test_a_lost_claim_is_noticed():
    def change(text):
        claim = r"(%\.\d+) = cmpxchg ptr (\S+), i64 0, i64 (\S+) monotonic monotonic"
        return re.sub(claim, r"store i64 \3, ptr \2\n\1 = insertvalue {i64, i1} zeroinitializer, i1 1, 1", text)

    assert is_noticed(change=change)


def test_states_that_are_not_compared_are_noticed(monkeypatch):
    monkeypatch.setattr(
        kernels, "state_hash", lambda builder, key: builder.mul(builder.urem(key[0], word(3)), word(2**62 + 12345))
    )
    monkeypatch.setattr(kernels, "_equal", lambda builder, one, other: builder.icmp_unsigned("==", word(0), word(0)))
    assert is_noticed()


def test_a_slot_that_does_not_say_that_its_entry_is_new_is_noticed(monkeypatch):
    monkeypatch.setattr(kernels, "NEW", 0)
    assert is_noticed()


@pytest.mark.parametrize(("begins", "ends"), [(1, 0), (0, -1)])
def test_a_piece_that_is_off_by_one_is_noticed(begins, ends, monkeypatch):
    expand = search._Search._expand
    monkeypatch.setattr(
        search._Search, "_expand", lambda self, begin, end: expand(self, begin + begins, max(begin, end + ends))
    )
    assert is_noticed()


def test_an_overflow_that_is_not_seen_is_noticed(monkeypatch):
    monkeypatch.setattr(search, "MOST_ENTRIES", 40)
    expand = search._Search._expand

    def without_test(self, begin, end):
        listed = expand(self, begin, end)
        if listed is not None:
            return listed
        fills = self._device.read(self._status + 8 * FILLS, self._shape.regions * FILL_STRIDE).clip(0, self._room)
        self._device.write(self._status + 8 * FILLS, fills)
        return int(fills.sum())

    assert not is_noticed()
    monkeypatch.setattr(search._Search, "_expand", without_test)
    assert is_noticed()


def test_a_table_that_does_not_get_the_states_again_is_noticed(monkeypatch):
    launch = PretendedCard.launch
    monkeypatch.setattr(
        PretendedCard, "launch", lambda self, name, *rest: None if name == "rebuild" else launch(self, name, *rest)
    )
    assert is_noticed()
