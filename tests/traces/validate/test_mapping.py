"""Mappings: valid results, and messages about wrong ones."""

import pytest

from checker.errors import UserError
from traces.validate import Mapping, Observation, PossibleStep, event
from traces.validate.task import load_mapping


class Base(Mapping):
    skips = ("tick",)

    @event("one", "another")
    def one(self, found):
        return found["answer"]


def test_method_handles_several_events_and_is_inherited():
    class Derived(Base):
        @event("third")
        def third(self, found):
            return Observation({"x": 1})

    step = PossibleStep("go", where=1).before({"a": 1}).after({"b": 2})
    assert Derived().steps_of({"event": "another", "answer": step}) == (step,)
    assert Derived().steps_of({"event": "tick"}) is None
    assert Derived().steps_of({"event": "one", "answer": None}) is None
    assert Derived().steps_of({"event": "third"})[0].action is None


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        ({"name": "one"}, 'the event has no "event", which names it'),
        (
            {"event": "unknown"},
            r'Base has no method for the event unknown: add @event\("unknown"\).*one, another, tick',
        ),
        ({"event": "one"}, "the event has no 'answer', which Base.one reads"),
        ({"event": "one", "answer": []}, "Base.one must return a PossibleStep"),
        ({"event": "one", "answer": 3}, "Base.one must return a PossibleStep"),
    ],
)
def test_wrong_event_is_refused_with_one_sentence(found, sentence):
    with pytest.raises(UserError, match=sentence):
        Base().steps_of(found)


def test_failing_method_is_reported_with_one_sentence():
    class Failing(Mapping):
        @event("one")
        def one(self, found):
            return PossibleStep("go", where=found["a"] / 0)

    with pytest.raises(UserError, match=r"Failing.one fails on the event, at .*:[0-9]+: ZeroDivisionError: division"):
        Failing().steps_of({"event": "one", "a": 1})


def test_event_cannot_be_both_handled_and_skipped():
    with pytest.raises(UserError, match="Both skips one and has a method for it"):

        class Both(Mapping):
            skips = ("one",)

            @event("one")
            def one(self, found):
                return None


def test_mappings_are_loaded_from_files_and_modules(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("from traces.validate import Mapping\nclass A(Mapping): pass\nclass B(Mapping): pass\n")
    assert type(load_mapping(f"{file}:B")).__name__ == "B"
    # The second is the name before `kafka_tools.lab`.
    for name in ("kafka_tools.lab.librdkafka.plain", "kafka_tools.librdkafka.plain"):
        assert type(load_mapping(name)).__name__ == "PlainClient"
    assert type(load_mapping("kafka_tools.recording.partition")).__name__ == "RecordedPartition"
    # A dataclass looks its module up.
    (tmp_path / "kept.py").write_text(
        "from __future__ import annotations\nfrom dataclasses import dataclass\nfrom traces.validate import Mapping\n"
        "@dataclass\nclass Kept:\n    number: int\nclass A(Mapping): pass\n"
    )
    assert type(load_mapping(f"{tmp_path}/kept.py")).__name__ == "A"
    for name, sentence in (
        (str(file), "has several mappings; name one of .*mine.py:A, .*mine.py:B"),
        (f"{file}:C", "has no mapping C: "),
        (f"{tmp_path}/none.py", "there is no file"),
        ("kafka_tools.lab.librdkafka.nothing", "there is no mapping kafka_tools.lab.librdkafka.nothing"),
        ("kafka_tools.lab.librdkafka.wire_format", "has no mapping: derive a class"),
    ):
        with pytest.raises(UserError, match=sentence):
            load_mapping(name)
    for text, sentence in (
        ("raise ModuleNotFoundError('gone')", "mine.py cannot be imported: gone"),
        ("import not_there", "mine.py cannot be imported: No module named 'not_there'"),
    ):
        file.write_text(f"{text}\n")
        with pytest.raises(UserError, match=sentence):
            load_mapping(str(file))
    file.write_text("class A(:\n")
    with pytest.raises(UserError, match=r"mine.py:1: .*this is not valid Python"):
        load_mapping(str(file))
