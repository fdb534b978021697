"""The answers of `advise` as lines for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from checker.output.styled_lines import BLANK, Line, line
from kafka_tools.advise import answer_sentences
from kafka_tools.advise.advice import Advice, GuaranteeAnswer
from kafka_tools.advise.questions import GuaranteeQuestion

HEADINGS = {
    "loss": "lost",
    "duplicates": "twice",
    "reorder": "out of order",
    "vanishing-reads": "read, then gone",
    "gaps": "skipped",
    "reprocessing": "processed twice",
}
"""The column heading of each question, by its name."""


def advice_lines(advice: Advice, required: Sequence[GuaranteeQuestion]) -> Iterator[Line]:
    """Yield the answers as lines."""
    yield line((f"Kafka {advice.cluster.version}, {advice.cluster.client} client", "bold"))
    for name, value, origin in answer_sentences.setting_rows(advice.config):
        yield line(f"  {name:<40}{value:<10}  ", (origin, "dim"))
    for note in advice.config.notes:
        yield line(("  note: " + note, "yellow"))
    if advice.cluster.unknown:
        yield line(("  unknown to Kafka: " + ", ".join(advice.cluster.unknown), "yellow"))
    if advice.cluster.without_effect:
        yield line((f"  no effect on the answers: {', '.join(advice.cluster.without_effect)}", "dim"))
    yield BLANK
    yield from _matrix_lines(advice)
    yield from _worst_lines(advice)
    yield from _remedy_lines(advice)
    yield line((answer_sentences.explored_sentence(advice), "dim"))
    yield from _requirement_lines(advice, required)


def _matrix_lines(advice: Advice) -> Iterator[Line]:
    questions = answer_sentences.questions_of(advice)
    headings = [HEADINGS[question.name] for question in questions]
    yield line(
        ("may a record be ...".ljust(40) + "".join(heading.ljust(len(heading) + 3) for heading in headings), "bold")
    )
    for failure, answers in answer_sentences.verdicts(advice, questions):
        cells = [
            (_cell(answer).ljust(len(heading) + 3), _style(answer))
            for heading, answer in zip(headings, answers, strict=True)
        ]
        yield line(f"  with {failure.name:<33}", *cells)
    for failure in advice.impossible:
        why = "not with unclean.leader.election.enable=false" if failure.is_unclean else "transactions are not explored"
        yield line((f"  {failure.name}: {why}", "dim"))
    if not advice.is_whole:
        yield line(("  interrupted: missing answers were not explored", "yellow"))
    yield BLANK


def _cell(answer: GuaranteeAnswer | None) -> str:
    if answer is None:
        return "-"
    return "?" if answer.verdict == "undecided" else answer.verdict


def _style(answer: GuaranteeAnswer | None) -> str:
    return "" if answer is None else {"yes": "bold red", "no": "green", "undecided": "yellow"}[answer.verdict]


def _worst_lines(advice: Advice) -> Iterator[Line]:
    """Yield the steps of the shortest counterexample to each question."""
    for question in answer_sentences.questions_of(advice):
        found = [a for a in advice.answers if a.question == question and a.violation is not None]
        if not found:
            continue
        shortest = min(found, key=lambda answer: answer.violation.length if answer.violation else 0)
        assert shortest.violation is not None
        yield line((answer_sentences.sentence(shortest) + ":", "bold"))
        steps = [str(step) for step in shortest.violation.trace[1:]]
        yield line("  " + ", ".join(steps))
        yield BLANK


def _remedy_lines(advice: Advice) -> Iterator[Line]:
    if advice.remedies:
        yield line(("the smallest changes", "bold"))
    for remedy in advice.remedies:
        yield line("  " + answer_sentences.remedy_sentence(remedy))
    if advice.without_remedy:
        named = [answer_sentences.sentence(answer) for answer in advice.without_remedy]
        yield line(("  no tried change of settings prevents: " + "; ".join(named), "yellow"))
    if advice.remedies or advice.without_remedy:
        yield BLANK


def _requirement_lines(advice: Advice, required: Sequence[GuaranteeQuestion]) -> Iterator[Line]:
    for question in required:
        failing = [a.failure.name for a in advice.answers if a.question == question and a.verdict == "yes"]
        if failing:
            yield line((f"required no-{question.name} does not hold with {', '.join(failing)}", "bold red"))
