"""The answers of `advise` as HTML: an index, and a page for each counterexample."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from checker.output.output_files import open_for_writing
from checker.output.page.render import PageContext, counterexample_page, render
from kafka_tools.advise import answer_sentences
from kafka_tools.advise.advice import Advice, GuaranteeAnswer
from kafka_tools.advise.remedy_texts import remedy_texts
from kafka_tools.advise.transaction_answers import TransactionAnswer, transaction_notes


def write_pages(advice: Advice, folder: Path, files: Sequence[str]) -> dict[tuple[str, str], str]:
    """Write an index, and a page for each counterexample; return the names of the pages by question and failure.

    The key of a page about transactions is "transactions" with the name of the page.
    """
    pages: dict[tuple[str, str], str] = {}
    for answer in advice.answers:
        if answer.violation is None:
            continue
        found_with = answer_sentences.found_with(advice, answer)
        name = f"{answer.question.name}-{found_with.slug}.html"
        if name not in pages.values():
            _write(folder / name, _page(advice, answer, files))
        pages[answer.question.name, answer.failure.slug] = name
    for transaction in advice.transactions:
        if transaction.violation is not None:
            _write(folder / transaction.page, _transaction_page(advice, transaction, files))
            pages["transactions", transaction.page] = transaction.page
    index = render(
        "advice.html.j2",
        package="kafka_tools.advise",
        title="Which guarantees hold",
        advice=advice,
        text=answer_sentences,
        questions=answer_sentences.questions_of(advice),
        transaction_notes=list(transaction_notes(advice.cluster, advice.config)),
        remedies=remedy_texts(advice),
        examples=answer_sentences.mildest_answers(advice),
        pages=pages,
        files=[os.path.basename(file.rpartition("=")[2]) for file in files],
    )
    _write(folder / "index.html", index)
    return pages


def _page(advice: Advice, answer: GuaranteeAnswer, files: Sequence[str]) -> str:
    assert answer.violation is not None
    rows = answer_sentences.setting_rows(advice.config, of_consumer=answer.question.of_consumer)
    settings = [f"{name}={value} ({origin})" for name, value, origin in rows]
    command = _command(advice, files)
    sentence = answer_sentences.counterexample_sentence(advice, answer)
    context = PageContext(
        sentence,
        f"{command} --failure {answer_sentences.found_with(advice, answer).slug}",
        description=f"{sentence[0].upper()}{sentence[1:]}.",
        notes=("With these settings: " + ", ".join(settings) + ".",),
    )
    return counterexample_page(answer_sentences.pipeline_of(answer), answer.violation, context)


def _transaction_page(advice: Advice, answer: TransactionAnswer, files: Sequence[str]) -> str:
    assert answer.violation is not None
    text = answer.question.text
    context = PageContext(
        text,
        _command(advice, files),
        description=f"{text[0].upper()}{text[1:]}.",
        notes=(f"With Kafka {advice.cluster.version} and transaction version {answer.transaction_version}.",),
    )
    return counterexample_page(answer.spec, answer.violation, context)


def _command(advice: Advice, files: Sequence[str]) -> str:
    return f"python -m checker advise {' '.join(files)} --kafka {advice.cluster.version}"


def _write(path: Path, text: str) -> None:
    with open_for_writing(path) as stream:
        stream.write(text)
