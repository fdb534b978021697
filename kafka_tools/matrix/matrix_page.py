"""The page of settings: `matrix.html`, and in the folder `matrix` its script, the answers and the pictures.

The page works from a file without a server: its data are scripts, loaded when they are needed, each a call
`tidemark(NAME, DATA)`, where DATA is JSON, compressed and in base 64. The answers (`answers.js`) are tables in which
each text, cell, row and list of repairs is once; a configuration has the numbers of its rows. The pictures are in
`pictures-N.js`, `PER_FILE` each. `matrix.js` has the rules by which the page combines the two parts of the settings.
"""

from __future__ import annotations

import base64
import gzip
import importlib.metadata
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from checker.output.page.render import render
from checker.printable import quantity
from kafka_tools.advise import answer_sentences
from kafka_tools.advise.answer_cache import AnswerCache, default_folder
from kafka_tools.advise.questions import FAILURES, QUESTIONS, FailureMode
from kafka_tools.advise.transaction_answers import TransactionAnswer, transaction_notes
from kafka_tools.matrix.matrix_answers import ConfigurationAnswers, Repair, answers_of, refusal_of
from kafka_tools.matrix.pictures import Divergence, Picture
from kafka_tools.matrix.switches import (
    LABELS,
    SWITCHES,
    Settings,
    assignment,
    configurations,
    controllers,
    defaults,
    key_of,
)
from kafka_tools.pages.museum.entries import exhibits
from kafka_tools.pages.museum.tickets import ticket_url
from specs.hazards import Hazard

PER_FILE = 60
"""The pictures in a file."""

PAGE, FOLDER = "matrix.html", "matrix"

_MOST_CACHED = 40_000
"""The explorations that are kept between builds: twice those of the page, each a few hundred bytes."""


_VERDICTS = ("no", "yes", "known", "undecided")


class _Table:
    """Values, each once; its number is its place."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self.values: list[Any] = []

    def number(self, value: Any) -> int:
        """Return the number of a value that can be written as JSON."""
        text = json.dumps(value)
        if text not in self._numbers:
            self._numbers[text] = len(self.values)
            self.values.append(value)
        return self._numbers[text]


class PageData:
    """The data of the page, gathered from the answers of configurations; numbers refer to the tables."""

    def __init__(self) -> None:
        self._texts, self._cells, self._rows, self._repairs = _Table(), _Table(), _Table(), _Table()
        self._pictures = _Table()
        self._hazards: dict[str, Hazard] = {}
        self._configurations: dict[str, Any] = {}

    def add(self, each: ConfigurationAnswers) -> None:
        """Add the answers of a configuration."""
        advice = each.advice
        size = answer_sentences.explored_sentence(advice)
        notes = (
            *answer_sentences.caveats(advice),
            *transaction_notes(advice.cluster, advice.config),
            *advice.config.notes,
            f"{size[0].upper()}{size[1:]}.",
        )
        self._configurations[key_of(each.settings)] = {
            "verdict": [self._texts.number(text) for text in answer_sentences.verdict_sentences(advice)],
            "notes": [self._texts.number(text) for text in notes],
            "idempotence": advice.config["enable.idempotence"],
            "transactions": [self._texts.number(text) for text in map(_transaction_text, advice.transactions)],
            "unexplored": self._texts.number(answer_sentences.unexplored_sentence(advice)),
            "rows": [self._rows.number(self._row(each, failure)) for failure in FAILURES],
        }

    def refuse(self, settings: Settings, why: str) -> None:
        """Add a configuration with which Kafka does not start."""
        self._configurations[key_of(settings)] = {"refused": self._texts.number(why)}

    def answers(self) -> dict[str, Any]:
        """Return everything but the pictures."""
        return {
            "switches": [_switch(number) for number in range(len(SWITCHES))],
            "controllers": {release: controllers(release) for release in SWITCHES[0].values},
            "presets": {key: defaults(*key.split("/")) for key in _presets()},  # type: ignore[arg-type]
            "questions": [
                {
                    "name": question.name,
                    "verb": question.verb,
                    "heading": " ".join(filter(None, question.heading)),
                    "ofConsumer": question.of_consumer,
                }
                for question in QUESTIONS
            ],
            "failures": [_failure(failure) for failure in FAILURES],
            "verdicts": _VERDICTS,
            "hazards": {name: _hazard(hazard) for name, hazard in self._hazards.items()},
            "assumptions": answer_sentences.ASSUMPTIONS,
            "texts": self._texts.values,
            "cells": self._cells.values,
            "rows": self._rows.values,
            "repairs": self._repairs.values,
            "configurations": self._configurations,
            "perFile": PER_FILE,
        }

    def pictures(self) -> Sequence[Any]:
        """Return the pictures in their order: the sentences of the steps, the outcome, and the chart as HTML."""
        return self._pictures.values

    def figures(self, size: int) -> str:
        """Return what the page has, as text; its files of data have `size` bytes."""
        refused = sum("refused" in each for each in self._configurations.values())
        return (
            f"{quantity(len(self._configurations) - refused, 'configuration')} with answers, "
            f"{refused:,} that Kafka refuses, {quantity(len(self._pictures.values), 'counterexample')}, "
            f"{size / 1e6:.1f} MB of data"
        )

    def _row(self, each: ConfigurationAnswers, failure: FailureMode) -> Any:
        """Return the number of the cell for each question, -1 if none; or of the text that says why there is none."""
        if failure in each.advice.impossible:
            return self._texts.number(answer_sentences.impossible_sentence(each.advice, failure))
        return [self._cell(each, failure, number) for number in range(len(QUESTIONS))]

    def _cell(self, each: ConfigurationAnswers, failure: FailureMode, question: int) -> int:
        place = next(
            (
                number
                for number, answer in enumerate(each.advice.answers)
                if answer.failure == failure and answer.question == QUESTIONS[question]
            ),
            None,
        )
        if place is None:
            return -1
        answer = each.advice.answers[place]
        self._hazards |= {hazard.name: hazard for hazard in answer.hazards}
        picture = each.pictures.get(place)
        return self._cells.number(
            [
                _VERDICTS.index(answer.verdict),
                answer.coincidences,
                answer.distinct_states,
                self._texts.number(answer_sentences.size_text(each.advice, answer)),
                [hazard.name for hazard in answer.hazards],
                -1 if picture is None else self._pictures.number(_picture(picture)),
                self._repairs.number([self._repair(repair) for repair in each.repairs.get(place, ())]),
                0 if answer.violation is None else answer.violation.length,
            ]
        )

    def _repair(self, repair: Repair) -> list[Any]:
        divergence = repair.divergence
        return [
            repair.changes,
            self._texts.number(repair.cost),
            repair.weakens,
            divergence and self._divergence(divergence),
        ]

    def _divergence(self, divergence: Divergence) -> list[Any]:
        return [divergence.step, divergence.is_refused, self._texts.number(divergence.text)]


def default_cache() -> AnswerCache:
    """Return the explorations of earlier builds, in the user's cache folder beside those of `advise`."""
    return AnswerCache(default_folder().with_name("matrix"), most=_MOST_CACHED)


def write_matrix(
    folder: Path,
    cache: AnswerCache | None,
    chosen: Iterable[Settings] | None = None,
    on_stage: Callable[[str], None] = lambda stage: None,
) -> str:
    """Compute the answers of some configurations (None: all), and write the page and its data into a folder.

    Returns a sentence with the figures of the page, and the seconds that it took.

    Raises:
        OSError: a file cannot be written.
    """
    data, asked, started = PageData(), [], time.monotonic()
    for settings in configurations() if chosen is None else chosen:
        why = refusal_of(settings)
        if why:
            data.refuse(settings, why)
        else:
            asked.append(settings)
    for each in answers_of(asked, cache, on_stage):
        data.add(each)
    if cache is not None:
        cache.prune()
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    size = 0
    for name, text in _data_files(data):
        size += (folder / name).write_text(text, encoding="ascii")
    figures = data.figures(size)
    (folder / FOLDER / "matrix.js").write_text(_text("matrix.js"), encoding="utf-8")
    made_by = f"Tidemark {importlib.metadata.version('tidemark')}"
    content: dict[str, Any] = {"own_style": _text("matrix.css"), "figures": figures, "made_by": made_by}
    (folder / PAGE).write_text(render("matrix.html.j2", package="kafka_tools.matrix", **content), encoding="utf-8")
    return f"{PAGE}: {figures}, in {time.monotonic() - started:.0f} s"


def _data_files(data: PageData) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each file of data."""
    yield f"{FOLDER}/answers.js", _script("answers", data.answers())
    pictures = data.pictures()
    for number, start in enumerate(range(0, len(pictures), PER_FILE)):
        yield f"{FOLDER}/pictures-{number}.js", _script(f"pictures-{number}", pictures[start : start + PER_FILE])


def _script(name: str, content: Any) -> str:
    # Without a time, so that two builds are equal.
    packed = gzip.compress(json.dumps(content, separators=(",", ":")).encode(), mtime=0)
    return f'tidemark("{name}", "{base64.b64encode(packed).decode()}");\n'


def _text(name: str) -> str:
    return resources.files("kafka_tools.matrix").joinpath("templates", name).read_text(encoding="utf-8")


def _presets() -> list[str]:
    *older, latest = SWITCHES[0].values
    return [*(f"{release}/java" for release in (latest, *reversed(older))), f"{latest}/librdkafka"]


def _switch(number: int) -> dict[str, Any]:
    switch = SWITCHES[number]
    labels = [LABELS.get(value, value) for value in switch.values]
    sets = [assignment(switch, value) for value in switch.values]
    return {
        "name": switch.name,
        "title": "enable.auto.commit" if switch.name == "commits" else switch.name,
        "values": switch.values,
        "labels": labels,
        "sets": sets,
        "part": switch.part,
        "role": switch.role,
    }


def _failure(failure: FailureMode) -> dict[str, Any]:
    return {
        "slug": failure.slug,
        "name": failure.name,
        "phrase": failure.phrase,
        "ofGroup": failure.of_consumer_group,
        "ofConsumer": failure.of_consumer_group or failure.happens_to("consumer"),
    }


def _transaction_text(answer: TransactionAnswer) -> str:
    text = f"{answer.verdict}: {answer.question.text} ({answer_sentences.transaction_size(answer)})"
    return f"{text}, with transaction.version={answer.transaction_version}"


def _picture(picture: Picture) -> list[Any]:
    return [picture.steps, picture.outcome, picture.chart]


def _hazard(hazard: Hazard) -> dict[str, Any]:
    """Return what the page says of an entry of the catalogue: its page, what was seen, and its tickets."""
    # An entry without a scenario is no exhibit of the museum.
    exhibit = next((each for each in exhibits() if each.name == hazard.name), None)
    sightings = answer_sentences.sighting_sentences(hazard)
    return {
        "title": hazard.title,
        "needs": hazard.coincidence or hazard.needs,
        "remedy": hazard.remedy,
        "seen": [f"{each.sentence}." for each in exhibit.evidence] if exhibit is not None else sightings,
        "page": f"museum/{hazard.name}.html" if exhibit is not None else "",
        "tickets": [[ticket, ticket_url(ticket)] for ticket in exhibit.story.tickets] if exhibit is not None else [],
        "command": f"python -m checker run {hazard.shown_by}" if hazard.shown_by else "",
    }
