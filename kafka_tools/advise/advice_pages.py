"""The answers of `advise` as HTML: an index, and a counterexample page for each yes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from checker.language.spec import Spec
from checker.output.files import open_for_writing
from checker.output.page.render import PageContext, counterexample_page, render
from checker.run import registry
from kafka_tools.advise import answer_sentences
from kafka_tools.advise.advice import Advice, GuaranteeAnswer
from kafka_tools.advise.advice_text import HEADINGS
from kafka_tools.advise.questions import PIPELINE


def write_pages(advice: Advice, folder: Path, files: Sequence[str]) -> dict[tuple[str, str], str]:
    """Write an index, and a page for each yes; return the names of the pages by question and failure."""
    spec = registry.select(PIPELINE)[0].entry.spec
    pages = {}
    for answer in advice.answers:
        if answer.violation is None:
            continue
        name = f"{answer.question.name}-{answer.failure.slug}.html"
        page = _page(spec(**answer.exploration.own_constants), advice, answer, files)
        _write(folder / name, page)
        pages[answer.question.name, answer.failure.slug] = name
    questions = answer_sentences.questions_of(advice)
    index = render(
        "advice.html.j2",
        package="kafka_tools.advise",
        title="Which guarantees hold",
        advice=advice,
        text=answer_sentences,
        questions=questions,
        headings=HEADINGS,
        pages=pages,
        files=[os.path.basename(file.rpartition("=")[2]) for file in files],
    )
    _write(folder / "index.html", index)
    return pages


def _page(spec: Spec, advice: Advice, answer: GuaranteeAnswer, files: Sequence[str]) -> str:
    assert answer.violation is not None
    rows = answer_sentences.setting_rows(advice.config, of_consumer=answer.question.of_consumer)
    settings = [f"{name}={value} ({origin})" for name, value, origin in rows]
    command = f"python -m checker advise {' '.join(files)} --kafka {advice.cluster.version}"
    context = PageContext(
        answer_sentences.sentence(answer),
        f"{command} --failure {answer.failure.slug}",
        description=f"{answer_sentences.sentence(answer)[0].upper()}{answer_sentences.sentence(answer)[1:]}.",
        notes=("With these settings: " + ", ".join(settings) + ".",),
    )
    return counterexample_page(spec, answer.violation, context)


def _write(path: Path, text: str) -> None:
    with open_for_writing(path) as stream:
        stream.write(text)
