"""A recorded log is data: no value of an event becomes code, and a damaged line is one sentence."""

import json
from pathlib import Path

import pytest

from checker.cli.app import main
from checker.errors import InputError
from traces.validate.expressions import compiled, require_attributes

MAPPING = "kafka_tools.lab.librdkafka.plain"
RECORDED = Path(__file__).parent.parent / "kafka_tools" / "lab" / "recorded" / "plain-clean.jsonl"
CONFIGURED = RECORDED.read_text().splitlines()[0]
ESCAPES = [
    "().__class__.__mro__[1].__subclasses__()",
    "__builtins__",
    "__import__('os').system('touch MARK')",
    "(entry for entry in future).gi_frame.f_back.f_globals",
    "(lambda: 0)()",
    "future.type",
    "'{0.__class__}'.format(future)",
    "9 ** 9 ** 9 ** 9",
    "1 << 10 ** 10",
    "[future := 1]",
    "f'{future}'",
    "0] or [x for x in ().__class__.__base__.__subclasses__() if 0",
]


def validated(capsys, path, *lines):
    path.write_text("".join(f"{line}\n" for line in (CONFIGURED, *lines)))
    words = ["validate", "producer/plain_producer", str(path), "--mapping", MAPPING, "--engine", "python"]
    status, printed = main(words), capsys.readouterr()
    assert "Traceback" not in printed.out + printed.err and "internal error" not in printed.err
    return status, printed.out + printed.err


@pytest.mark.parametrize("text", ESCAPES)
def test_a_value_of_an_event_is_not_code(tmp_path, monkeypatch, capsys, text):
    monkeypatch.chdir(tmp_path)
    text = text.replace("MARK", str(tmp_path / "mark"))
    event = {"event": "delivered", "record": text, "offset": 0}
    status, printed = validated(capsys, tmp_path / "log.jsonl", json.dumps(event))
    assert (status, (tmp_path / "mark").exists()) == (2, False), printed


@pytest.mark.parametrize("text", ESCAPES)
def test_an_expression_reads_values_only(text):
    with pytest.raises(InputError, match=r"may not contain|is not an expression|which is not a field"):
        require_attributes(text, compiled(text)[1], frozenset())


@pytest.mark.parametrize(
    "text", ["len(log[b1])", "[entry.id + 1 for entry in log[p1]]", "newest()", "a.b[0] in {1} | c"]
)
def test_an_expression_over_values_is_allowed(text):
    require_attributes(text, compiled(text)[1], frozenset({"id", "b"}))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"event": "configured", "records": [1]}', ""),
        ("[" * 5000, "nested too deeply|not JSON"),
        ('{"event": ' + "[" * 200 + "]" * 200 + "}", "within each other"),
        ('{"event": "delivered", "record": 1e999}', "is too large"),
        ('{"event": "delivered", "record": NaN}', "NaN is not a JSON number"),
        ('{"event": "delivered", "record": ' + "9" * 5000 + "}", "not JSON"),
        ('{"event": "\\ud800"}', "is not Unicode text"),
        ('{"event": "delivered", "record": "\\u001b[2J"}', ""),
        ('{"event": ["delivered"]}', 'the event has no "event"'),
        ('{"event": "delivered", "record": {}}', ""),
        ("7", "an event is a JSON object"),
        ("{", "this is not JSON"),
        ('{"event": "\x00"}', "this is not JSON"),
    ],
)
def test_a_damaged_line_is_refused_in_one_sentence(tmp_path, capsys, line, says):
    status, printed = validated(capsys, tmp_path / "log.jsonl", line)
    assert status == 2
    assert any(part in printed for part in says.split("|")), printed
    assert "\x1b" not in printed and len(printed) < 1500
