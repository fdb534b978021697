"""A story of the museum has the failures of its own counterexample: as many, and in that order."""

import re

import pytest

from checker.explain.step_sentences import describe_steps
from kafka_tools.pages.museum.entries import exhibits
from kafka_tools.pages.scenario_runs import run_scenario

CLAIMS = {
    "death": r"\b(?:dies|die)\b",
    "power loss": r"\bloses? power\b",
    "restart": r"(?<!clean )\b(?:restarts?|registers again)\b",
    "lost response": r"\bresponses? (?:(?:to|of) [\w ]+ )?(?:is|are) lost\b",
    "timeout": r"\b(?:expires?|times out|timeout(?:\.ms)? passes|expiration\.ms passes)\b",
    "election": r"\b(?:is elected|are elected|elects|leadership moves)\b",
}
"""What a story claims to happen, by the words for it."""

KINDS = {
    "death": ("crash", "power loss"),
    "power loss": ("power loss",),
    "restart": ("restart",),
    "lost response": ("disconnect",),
    "timeout": ("timeout", "lost state"),
    "election": ("election",),
}
"""The kinds of events that are such a step."""

WORDS = {
    "death": r"\bdies\b",
    "power loss": r"\bloses power\b",
    "restart": r"\brestarts\b|^start\(",
    "lost response": r"\bis lost\b|\banswered no\b|\bno response arrives\b|\btimes out\b",
    "timeout": r"expir|times? out|passes",
    "election": r"\belects\b|\bis elected\b|\bmoves_to\b|^leader_moves",
}
"""The words of a step that is one, if its event has no kind."""

MANY = {"both": 2, "two": 2, "four": 4}

EXHIBITS = [exhibit for exhibit in exhibits() if exhibit.shown_by is not None and exhibit.shown_by.violates]


def claims(text):
    """Return the claims of a text, in order; "both brokers lose power" is two of them."""
    found = []
    for claim, words in CLAIMS.items():
        for match in re.finditer(words, text, re.IGNORECASE):
            clause = re.split(r"[.;,:]", text[: match.start()])[-1] + match.group()
            count = next((number for word, number in MANY.items() if re.search(rf"\b{word}\b", clause, re.I)), 1)
            found += [(match.start(), claim)] * count
    return [claim for _, claim in sorted(found, key=lambda each: each[0])]


def steps_of(exhibit):
    """Yield for each counterexample of an entry its steps: the kind of each, and its call with its sentence."""
    spec = exhibit.shown_by.scenario.configured_spec()
    for violation in run_scenario(exhibit.shown_by.target).result.violations:
        described = describe_steps(spec, violation.trace, violation.failed_action)
        yield [(event.kind if event else "", f"{said.call} {said.text}") for said, event in described]


def without_step(text, steps):
    """Return the first claim of a text that no step is, after the steps of the claims before it; None if there is none.

    A step may be two claims: a restart in which two responses are lost.
    """
    at, left = 0, {}
    for claim in claims(text):
        while at < len(steps) and left.setdefault((claim, at), how_many(claim, steps[at])) == 0:
            at += 1
        if at == len(steps):
            return claim
        left[claim, at] -= 1
    return None


def how_many(claim, step):
    """Return how often a step is what a story claims: each lost message counts."""
    kind, text = step
    said = len(re.findall(WORDS[claim], text, re.IGNORECASE))
    return said if claim == "lost response" and said else int(kind in KINDS[claim] or said > 0)


@pytest.mark.slow
@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda exhibit: exhibit.name)
def test_a_story_has_the_failures_of_its_counterexample(exhibit):
    schedules = list(steps_of(exhibit))
    missing = [without_step(exhibit.story.story, steps) for steps in schedules]
    assert None in missing, f"{exhibit.name}: no step of a counterexample is the {missing[0]} of the story"
    if all(any("unclean" in text for _, text in steps) for steps in schedules):
        assert "unclean" in f"{exhibit.story.story} {exhibit.story.needs}".lower()


OTHER_SCHEDULES = {
    "R1": ("Before that it dies, and then the leader dies. The follower restarts and is elected.", "restart"),
    "R2": ("Both brokers lose power. The first one to start leads, and writes a new record.", "power loss"),
    "R7": ("A follower without that record joins the ISR. The leader dies, the follower is elected.", "death"),
}


@pytest.mark.parametrize("name", OTHER_SCHEDULES)
def test_another_schedule_is_noticed(name):
    text, claim = OTHER_SCHEDULES[name]
    exhibit = next(exhibit for exhibit in EXHIBITS if exhibit.name == name)
    (steps,) = steps_of(exhibit)
    assert without_step(text, steps) == claim
    assert without_step(exhibit.story.story, steps) is None
    assert claims(exhibit.story.story)


def test_the_claims_of_a_text_are_found_in_order():
    text = "Two responses to a member are lost. The broker restarts, dies, loses power, and the timeout passes."
    assert claims(text) == ["lost response", "lost response", "restart", "death", "power loss", "timeout"]
