"""KIP-320 with a history: the protocol is that of KIP-320, and its proof needs each rule of KIP-320."""

import re
import runpy
from pathlib import Path

import pytest

from checker.engines.native import engine as native
from checker.engines.smt.refutation import refuted
from checker.frontend.program import compile_spec
from checker.ir.digest import digest_of_parts
from checker.language import SpecError, action, require
from checker.language.roles import Role
from checker.run import ledger
from checker.run.plan import Plan
from specs.replication.kip320 import Kip320
from specs.replication.kip320_history import Kip320History
from specs.replication.state import Replica

CODE = (Path(__file__).parents[2] / "examples" / "without_a_rule.py").read_text()
RULES = re.findall(r"^class (\w+)\(Kip320\)", CODE, re.MULTILINE)


@pytest.mark.parametrize("scenario", ["two_replicas", "three_replicas", "three_replicas_three_epochs"])
def test_the_history_has_the_states_and_steps_of_kip320(scenario):
    """The view leaves the history out, and the front end has checked that nothing else depends on it."""
    rows = ledger.read(ledger.default_path())
    assert rows[f"replication/kip320_history/{scenario}"] == rows[f"replication/kip320/{scenario}"]


def test_only_the_action_that_commits_writes_the_history():
    plain, history = compile_spec(Kip320()), compile_spec(Kip320History(), [])
    assert history.variables == {**plain.variables, "committed": history.variables["committed"]}
    assert history.view is not None and history.view.is_checked
    assert history.view.left_out == ("committed",) and history.view.computed is None
    assert [
        one.name
        for one, other in zip(plain.actions, history.actions, strict=True)
        if digest_of_parts(one) != digest_of_parts(other)
    ] == ["leader_increment_high_watermark"]


class WaitsForTheHistory(Kip320History):
    """A protocol that depends on its history: it is not KIP-320 any more."""

    @action
    def leader_write(self, leader: Replica):
        require(len(self.committed) < 1)
        super().leader_write(leader)


def test_a_protocol_that_depends_on_its_history_is_refused():
    with pytest.raises(SpecError, match="committed is read here, and the view without_history leaves it out"):
        native.explore(WaitsForTheHistory(replicas=2), Plan(properties=("weak_isr",)))


def without(rule, folder):
    """Return KIP-320 with a history and without a rule: a class of docs/proving.md."""
    code = CODE.replace("(Kip320)", "(Kip320History)").replace(
        "import Kip320\n", "import Kip320\nfrom specs.replication.kip320_history import Kip320History\n"
    )
    commit = "self.high_watermark[leader] = offset + 1\n"
    assert code.count(commit) == 1
    file = folder / "without_a_rule.py"
    file.write_text(code.replace(commit, f"{commit}        self.committed = self.history_after(leader)\n"))
    return runpy.run_path(str(file))[rule]


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_without_a_rule_a_lemma_or_property_is_false(rule, tmp_path):
    """A false lemma has no proof, for any number of replicas: three of them are one of these numbers."""
    size = dict(replicas=3, log_size=1, max_leader_epoch=1) if rule == "JoinsEarly" else dict(replicas=2)
    spec = without(rule, tmp_path)(**size).without_view()
    names = spec.names_of(Role.INVARIANT, Role.STEP_INVARIANT, Role.LEMMA)
    assert refuted(spec, names, workers=1).violations
    unchanged = Kip320History(**size).without_view()
    assert refuted(unchanged, names, workers=1).violations == ()
