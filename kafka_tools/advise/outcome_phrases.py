"""Answers as parts of sentences: what happens to a record, and after which failures."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_tools.advise.advice import GuaranteeAnswer, OpenedAnswer
from kafka_tools.advise.questions import FailureMode
from specs.hazards import Hazard


def entries_with_answers(answers: Sequence[GuaranteeAnswer]) -> list[tuple[Hazard, list[GuaranteeAnswer]]]:
    """Return each entry of the catalogue that says yes where the exploration does not, with these answers."""
    entries: dict[str, tuple[Hazard, list[GuaranteeAnswer]]] = {}
    for answer in answers:
        if answer.verdict in ("known", "undecided"):
            for hazard in answer.hazards:
                entries.setdefault(hazard.name, (hazard, []))[1].append(answer)
    return list(entries.values())


def outcomes(answers: Sequence[GuaranteeAnswer | OpenedAnswer]) -> str:
    """Return answers by what happens: "lost after a broker crash or a lost response; written twice after ..."."""
    by_verb: dict[str, list[FailureMode]] = {}
    for answer in answers:
        by_verb.setdefault(answer.question.verb, []).append(answer.failure)
    verbs: dict[tuple[FailureMode, ...], list[str]] = {}
    for verb, failures in by_verb.items():
        verbs.setdefault(tuple(failures), []).append(verb)
    # A known entry needs more than the failure: the catalogue says what.
    is_rarer = all(answer.verdict == "known" and all(each.is_rare for each in answer.hazards) for answer in answers)
    phrase = _rarer_phrase if is_rarer else _phrase
    return "; ".join(f"{joined(names, 'or')} {phrase(failures)}" for failures, names in verbs.items())


def _rarer_phrase(failures: Sequence[FailureMode]) -> str:
    return f"in a rarer case of {joined([failure.name for failure in failures], 'or')}"


def _phrase(failures: Sequence[FailureMode]) -> str:
    names = [failure.name for failure in failures if failure.preposition == "after"]
    always = [failure.phrase for failure in failures if failure.preposition != "after"]
    return " or ".join([*always, *([f"after {joined(names, 'or')}"] if names else [])])


def joined(words: Sequence[str], last: str) -> str:
    """Return words as a list with `last` before the last one: "a, b or c"."""
    return f" {last} ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
