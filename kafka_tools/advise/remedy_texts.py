"""The remedies as text: each change of settings once, with what it prevents and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kafka_tools.advise.advice import Advice, Fix, Remedy
from kafka_tools.advise.configuration_keys import FEATURES
from kafka_tools.advise.outcome_phrases import joined, outcomes
from kafka_tools.advise.questions import FailureMode, GuaranteeQuestion
from kafka_tools.advise.remedies import SettingChange


@dataclass
class RemedyText:
    """Changes of settings as text, sentences on what they prevent, and their cost."""

    changes: str
    effects: list[str] = field(default_factory=list)
    cost: str = ""


def remedy_texts(advice: Advice) -> tuple[list[RemedyText], list[RemedyText], list[RemedyText]]:
    """Return the remedies as text: the preferred ones, the last resorts, and those that give up a guarantee.

    Each change is described once. A remedy that adds changes to described ones is described at these changes and
    refers to the others, also for a cost that no change has alone; a remedy of described changes alone is described at
    the last of them, or apart if only a combination has them. A cost that was mentioned is not repeated.
    """
    kinds = [2 if remedy.weakens else int(remedy.is_last_resort) for remedy in advice.remedies]
    described: dict[frozenset[SettingChange], RemedyText] = {}
    groups: tuple[list[RemedyText], list[RemedyText], list[RemedyText]] = ([], [], [])
    seen: set[SettingChange] = set()
    costs: set[str] = set()
    for kind, remedy in sorted(zip(kinds, advice.remedies, strict=True), key=lambda pair: pair[0]):
        added = [change for change in remedy.changes if change not in seen]
        known = next(
            (
                described_changes
                for described_changes in reversed(described)
                if described_changes <= set(remedy.changes)
            ),
            None,
        )
        key = frozenset(added) or known or frozenset(remedy.changes)
        if key not in described:
            described[key] = RemedyText(changes_text([change for change in remedy.changes if change in key]))
            groups[kind].append(described[key])
        text = described[key]
        others = [change for change in remedy.changes if change not in key]
        start = f"together with {changes_text(others)}, " if others else ""
        text.effects += [f"{start}{sentence}" for sentence in fix_sentences(advice, remedy)]
        smaller = [other for other in advice.remedies if {*other.changes} < {*remedy.changes}]
        if not any(_cells(remedy) <= _cells(other) for other in smaller):
            text.effects += [f"{start}{sentence}" for sentence in sentences_of_opened_answers(remedy)]
        further = [cost for cost in remedy_costs(remedy) if cost not in costs]
        of_changes = {change.cost for change in remedy.changes}
        named = [cost if cost in of_changes else f"{start}{cost}" for cost in further]
        text.cost = "; ".join(filter(None, [text.cost, *named]))
        costs.update(further)
        seen.update(added)
    for text in described.values():
        text.cost = text.cost or f"none that the exploration shows{', besides those above' if costs else ''}"
    return groups


def _cells(remedy: Remedy) -> set[tuple[GuaranteeQuestion, FailureMode]]:
    return {(answer.question, answer.failure) for answer in remedy.opened}


def changes_text(changes: Sequence[SettingChange]) -> str:
    """Return changes as text, each with the role of its setting; a feature is no setting of a broker's file."""
    return " and ".join(
        f"{change} ({'feature level' if change.name in FEATURES else change.role})" for change in changes
    )


def fix_sentences(advice: Advice, remedy: Remedy) -> list[str]:
    """Return what a remedy prevents: a sentence for each question."""
    return [f"{_fix_sentence(advice, fix)}{_but_for(fix)}" for fix in remedy.fixes]


def _but_for(fix: Fix) -> str:
    """Return the rare entries of the catalogue that a remedy leaves."""
    names = [f"{each.name} (after {each.takes})" if each.takes else f"{each.name} (rare)" for each in fix.but_for]
    return f", but for {joined(names, 'and')}" if names else ""


def sentences_of_opened_answers(remedy: Remedy) -> list[str]:
    """Return what a remedy makes possible, a sentence or none."""
    if not remedy.opened:
        return []
    names = list(dict.fromkeys(hazard.name for answer in remedy.opened for hazard in answer.hazards))
    causes = f" ({', '.join(names)})" if names else ""
    return [f"it makes possible, at least: a record is {outcomes(remedy.opened)}{causes}"]


def _fix_sentence(advice: Advice, fix: Fix) -> str:
    """Return what a remedy prevents. An entry that says yes where no exploration does is a failure that is left."""
    answers = [answer for answer in advice.answers if answer.question == fix.question]
    yes = [answer.failure for answer in answers if answer.verdict == "yes"]
    known = [answer.failure for answer in answers if answer.verdict in ("known", "undecided")]
    hopeless = [answer.failure for answer in advice.without_remedy if answer.question == fix.question]
    left = [answer.failure for answer in answers if answer.verdict != "no" and answer.failure not in fix.failures]
    start = f"no record is {fix.question.verb}"
    if len(yes) > 1 and not left:
        return f"{start} after any failure above"
    if 0 < len(left) < len(fix.failures) and {*left} <= {*known, *hopeless}:
        return f"{start} after any failure above, except {joined([failure.name for failure in left], 'and')}"
    names = joined([failure.name for failure in fix.failures], "or")
    return f"{start} {fix.failures[0].preposition} {names}"


def remedy_costs(remedy: Remedy) -> list[str]:
    """Return the costs of the changes: their own costs, and the writes that no longer succeed."""
    costs = [change.cost for change in remedy.changes if change.cost]
    for number, before, after in (
        ("one broker", remedy.before.with_one_down, remedy.after.with_one_down),
        ("two brokers", remedy.before.with_two_down, remedy.after.with_two_down),
    ):
        if before and not after:
            costs.append(f"with {number} down, no write succeeds any more")
        if after and not before:
            costs.append(f"no cost there: with {number} down, writes now succeed")
    return costs


def cost_sentence(remedy: Remedy) -> str:
    """Return the costs of one remedy as text."""
    return "; ".join(remedy_costs(remedy)) or "none that the exploration shows"
