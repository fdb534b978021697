"""The answers of `advise` as lines for the terminal: verdict, table, remedies, counterexamples, settings."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from checker.output.styled_lines import BLANK, Line, line
from kafka_tools.advise import answer_sentences
from kafka_tools.advise.advice import Advice, GuaranteeAnswer
from kafka_tools.advise.hazard_answers import of_transactions
from kafka_tools.advise.outcome_phrases import entries_with_answers
from kafka_tools.advise.questions import GuaranteeQuestion
from kafka_tools.advise.remedy_texts import RemedyText, remedy_texts
from kafka_tools.advise.requirements import NOTHING_REQUIRED, Demand, requirements
from kafka_tools.advise.transaction_answers import transaction_notes

_REQUIREMENT_STYLES = {"holds": "bold green", "does not hold": "bold red", "is not decided": "bold yellow"}
_VERDICT_STYLES = {"yes": "bold red", "no": "green", "known": "bold yellow", "undecided": "yellow"}

WIDTH = 80
"""The width of the text, in columns."""

_ROW_LABEL, _COLUMN_GAP = 27, 1
"""The width of the first column of the table, and the spaces between two columns."""

_MOST_OF_AN_ID = 20
"""The longest name of an entry in a cell, if the table has room for it."""


def advice_lines(advice: Advice, demand: Demand = NOTHING_REQUIRED) -> Iterator[Line]:
    """Yield the answers as lines of at most `WIDTH` columns."""
    yield from _verdict_lines(advice)
    for requirement in requirements(advice, demand):
        yield from _wrap(requirement.sentence, after="  ", style=_REQUIREMENT_STYLES[requirement.verdict])
    yield BLANK
    yield from _matrix_lines(advice)
    for caveat in answer_sentences.caveats(advice):
        yield from _wrap(f"note: {caveat}", style="yellow", after="  ")
    yield BLANK
    yield from _remedy_lines(advice)
    for answer in answer_sentences.mildest_answers(advice):
        yield from _example_lines(answer)
    yield from _transaction_lines(advice)
    yield from _setting_lines(advice)
    yield BLANK
    yield from _wrap(answer_sentences.explored_sentence(advice), style="dim")


def _wrap(text: str, first: str = "", after: str = "", style: str = "") -> Iterator[Line]:
    """Yield a paragraph as lines; `first` and `after` are the indentations. A word is never broken."""
    for part in textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=after, break_long_words=False, break_on_hyphens=False
    ):
        yield line((part, style))


def _verdict_lines(advice: Advice) -> Iterator[Line]:
    verdicts = {answer.verdict for answer in advice.answers}
    style = "bold red" if "yes" in verdicts else "bold yellow"
    if verdicts == {"no"} and advice.is_whole:
        style = "bold green"
    yield from _wrap(answer_sentences.replicas_sentence(advice))
    for number, sentence in enumerate(answer_sentences.verdict_sentences(advice)):
        first, after = ("  ", "    ") if sentence.startswith("- ") else ("", "")
        yield from _wrap(sentence, first, after, style if number == 0 else "")
    yield from _wrap(answer_sentences.settings_sentence(advice), style="dim")
    for sentence in advice.cluster.unread:
        yield from _wrap(sentence, style="bold yellow")


# The table.


def _matrix_lines(advice: Advice) -> Iterator[Line]:
    questions = answer_sentences.questions_of(advice)
    rows = list(answer_sentences.verdicts(advice, questions))
    columns = list(zip(*(answers for _, answers in rows), strict=True))
    longest = _MOST_OF_AN_ID
    widths = _widths(questions, columns, longest)
    if _ROW_LABEL + sum(widths) > WIDTH:
        # The lines below the table have the names.
        longest = 0
        widths = _widths(questions, columns, longest)
    for number, label in enumerate(("can a record be", "... after") if rows else ()):
        cells = "".join(q.heading[number].ljust(width) for q, width in zip(questions, widths, strict=True))
        yield line((label.ljust(_ROW_LABEL) + cells, "bold"))
    for failure, answers in rows:
        row = [
            (_cell(answer, longest).ljust(width), _style(answer)) for answer, width in zip(answers, widths, strict=True)
        ]
        yield line((failure.name.ljust(_ROW_LABEL), ""), *row)
    for failure in advice.impossible:
        reason = answer_sentences.impossible_sentence(advice, failure)
        yield from _wrap(f"{failure.name}: {reason}", style="dim", after="  ")
    for failure in answer_sentences.failures_of(advice):
        yield from _wrap(failure.meaning and f"{failure.name}: {failure.meaning}", style="dim", after="  ")
    for sentence in _legend(advice, longest):
        yield from _wrap(sentence, style="dim", after="  ")
    for hazard, known in entries_with_answers(advice.answers):
        text = answer_sentences.known_sentence(hazard, known)
        yield from _wrap(f"{hazard.name}: {text}", style="bold yellow", after="  ")
    causes = "; ".join(answer_sentences.cause_sentences(advice))
    if causes:
        yield from _wrap(f"causes in the catalogue: {causes}", after="  ")
    yield from _wrap(f"not explored: {answer_sentences.unexplored_sentence(advice)}.", style="yellow", after="  ")


def _widths(
    questions: Sequence[GuaranteeQuestion], columns: Sequence[Sequence[GuaranteeAnswer | None]], longest: int
) -> list[int]:
    """Return the widths of the columns of a table, of which no entry has a longer name than `longest`."""
    return [
        max(map(len, (*question.heading, *(_cell(cell, longest) for cell in cells)))) + _COLUMN_GAP
        for question, cells in zip(questions, columns, strict=False)
    ]


def _cell(answer: GuaranteeAnswer | None, longest: int) -> str:
    """Return a verdict as the cell of a table: "yes/2" needs two coincidences, an id is that of an entry.

    An entry with a name that is longer than `longest` is "known". "R18/3": the entry takes three events.
    """
    if answer is None:
        return "-"
    if answer.verdict == "known":
        first = answer.hazards[0]
        times = f"/{first.takes.partition(' ')[0]}" if first.takes else ""
        name = f"{first.name}{times}" if len(answer.hazards) == 1 else f"{first.name}{times}+"
        return name if len(name) <= max(longest, len("known")) else "known"
    number = f"/{answer.coincidences}" if answer.coincidences else ""
    return "?" if answer.verdict == "undecided" else f"{answer.verdict}{number}"


def _legend(advice: Advice, longest: int) -> Iterator[str]:
    """Yield a sentence on each mark that the cells of the table have."""
    yield answer_sentences.coincidence_sentence(advice)
    known = [answer for answer in advice.answers if answer.verdict == "known"]
    cells = {_cell(answer, longest): answer.hazards[0] for answer in known}
    taken = {cell.rstrip("+"): entry for cell, entry in cells.items() if entry.takes and cell != "known"}
    for cell, entry in taken.items():
        yield f"{cell}: no exploration here has it; {entry.name} happens after {entry.takes}"
    if any(cell.endswith("+") for cell in cells):
        yield "+: further entries of the catalogue say yes, too; they are below"
    if "known" in cells:
        yield "known: no exploration here has it, and entries with longer names say yes; they are below"
    if any(
        answer is None
        for _, row in answer_sentences.verdicts(advice, answer_sentences.questions_of(advice))
        for answer in row
    ):
        yield "-: not asked, which is not a no"


def _style(answer: GuaranteeAnswer | None) -> str:
    return "" if answer is None else _VERDICT_STYLES[answer.verdict]


# Remedies.


def _remedy_lines(advice: Advice) -> Iterator[Line]:
    preferred, last, weakening = remedy_texts(advice)
    yield from _lines_of_remedies("the smallest changes, each explored", preferred)
    if advice.suggestions:
        yield line(("not explored", "bold"))
    for suggestion in advice.suggestions:
        yield from _wrap(f"{suggestion.text}", "  ", "    ", "bold")
        yield from _wrap(f"against {suggestion.against}: {suggestion.argument}.", "    ", "    ")
    yield from _lines_of_remedies("as a last resort, explored", last)
    yield from _lines_of_remedies("explored, and not recommended: it gives up another guarantee", weakening)
    yield from _wrap(answer_sentences.sentence_without_remedy(advice), after="  ", style="yellow")
    if not advice.searched and advice.is_whole:
        yield from _wrap("the search for changes was not completed", style="yellow")
    if any(answer.verdict == "yes" for answer in advice.answers):
        yield BLANK


def _lines_of_remedies(heading: str, remedies: Sequence[RemedyText]) -> Iterator[Line]:
    if remedies:
        yield line((heading, "bold"))
    for remedy in remedies:
        yield from _wrap(remedy.changes, "  ", "    ", "bold")
        for sentence in remedy.effects:
            yield from _wrap(sentence, "    ", "      ")
        yield from _wrap(f"cost: {remedy.cost}", "    ", "      ", "dim")


# Counterexamples.


def _example_lines(answer: GuaranteeAnswer) -> Iterator[Line]:
    text = answer_sentences.sentence(answer)
    yield from _wrap(f"{text[0].upper()}{text[1:]}:", style="bold")
    for step in answer_sentences.steps_of(answer):
        yield from _wrap(step.text, f"  {step.number:>2}  ", "      ")
    yield from _wrap(answer_sentences.outcome(answer), "      ", "      ", "bold")
    yield BLANK


# Transactions.


def _transaction_lines(advice: Advice) -> Iterator[Line]:
    notes = list(transaction_notes(advice.cluster, advice.config))
    if not notes:
        return
    versions = list(dict.fromkeys(answer.transaction_version for answer in advice.transactions))
    yield line(("transactions: can it be that", "bold"))
    for version in versions:
        if len(versions) > 1:
            since = "a new cluster" if version == 2 else "or lower: a cluster that was upgraded without the feature"
            yield from _wrap(f"with transaction.version={version} ({since})", "  ", "    ", "bold")
        for answer in advice.transactions:
            if answer.transaction_version == version:
                text = f"{answer.verdict:9}  {answer.question.text} ({answer_sentences.transaction_size(answer)})"
                yield from _wrap(text, "  ", " " * 13, _VERDICT_STYLES[answer.verdict])
    for hazard in of_transactions(advice.cluster, advice.config):
        text = answer_sentences.known_sentence(hazard, ())
        yield from _wrap(f"yes        {text} ({hazard.name})", "  ", " " * 13, _VERDICT_STYLES["known"])
    for note in notes:
        yield from _wrap(f"note: {note}", "  ", "    ", "yellow")
    yield BLANK


# Settings.


def _setting_lines(advice: Advice) -> Iterator[Line]:
    yield line((f"settings in effect: Kafka {advice.cluster.version}, {advice.cluster.client} client", "bold"))
    rows = list(answer_sentences.setting_rows(advice.config))
    width = max(len(f"{name}={value}") for name, value, _ in rows) + 2
    for name, value, origin in rows:
        yield from _wrap(origin, f"  {name}={value}".ljust(width + 2), " " * (width + 2))
    for note in advice.config.notes:
        yield from _wrap(f"note: {note}", "  ", "    ", "yellow")
    if advice.cluster.unknown:
        yield from _wrap("unknown to Kafka: " + ", ".join(advice.cluster.unknown), "  ", "    ", "yellow")
    if advice.cluster.without_effect:
        names = ", ".join(advice.cluster.without_effect)
        yield from _wrap(f"no effect on the answers: {names}", "  ", "    ", "dim")
