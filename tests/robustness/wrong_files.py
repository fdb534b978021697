"""Contents that no reader expects, and the command lines that read a file."""

from __future__ import annotations

import json

CONTENTS: dict[str, bytes] = {
    "empty": b"",
    "a space": b" ",
    "a newline": b"\n",
    "zeros": b"\0" * 100,
    "random bytes": bytes(range(256)) * 4,
    "not UTF-8": b"\xff\xfe\x00a",
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "byte order mark": b"\xef\xbb\xbf{}",
    "escape sequences": b"\x1b[2J\x1b]0;title\x07 \n::error::x\n",
    "half of JSON": b'{"format": "tidemark',
    "null": b"null",
    "true": b"true",
    "a number": b"12",
    "a text": b'"text"',
    "an empty list": b"[]",
    "an empty object": b"{}",
    "an object of lists": b'{"format": [], "spec": [], "steps": [], "events": [[]]}',
    "NaN": b"NaN",
    "a large number": b"9" * 5000,
    "a number with an exponent": b"1e999999",
    "nested lists": b"[" * 100_000,
    "closed nested lists": b"[" * 5_000 + b"]" * 5_000,
    "nested objects": b'{"a":' * 50_000,
    "a lone surrogate": b'{"format": "\\ud800"}',
    "a key twice": b'{"format": 1, "format": 2}',
    "JSON with a comment": b"{} // a comment",
    "two values": b"{}{}",
    "a long line": b"a" * 200_000,
    "many lines": b"a\n" * 20_000,
    "YAML with a tag": b"!!python/object/apply:os.system ['touch pwned']",
    "YAML aliases": b"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
    b"c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
    b"e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n",
    "XML": b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
    "a pickle": b"cos\nsystem\n(S'touch pwned'\ntR.",
    "Python": b"import os\nos.system('touch pwned')\n",
    "an archive": b"PK\x03\x04" + b"\0" * 60,
    "the end of Parquet": b"PAR1" + b"\xff" * 40 + b"PAR1",
    "a trace without steps": json.dumps({"format": "tidemark-trace", "version": 1, "steps": []}).encode(),
}

READERS: dict[str, tuple[str, ...]] = {
    "trace": ("show", "{file}.json"),
    "trace beside another spec": ("show", "{file}.json", "--against", "examples/peterson"),
    "spec": ("run", "{file}.py"),
    "spec to prove": ("prove", "{file}.py"),
    "certificate": ("prove", "--check", "{file}.toml"),
    "spec to list": ("list", "{file}.py"),
    "ledger": ("run", "{toy}/counter", "--engine", "python", "--ledger", "{file}.toml"),
    "manifest of walks": ("traces", "replay", "{folder}", "--walk", "0"),
    "manifest of a report": ("report", "{folder}"),
    "log": ("validate", "{toy}/counter", "{file}.jsonl", "--mapping", "{mapping}", "--engine", "python"),
    "mapping": ("validate", "{toy}/counter", "{log}", "--mapping", "{file}.py", "--engine", "python"),
    "properties": ("advise", "producer={file}.properties", "--max-states", "1", "--changes", "0", "--failure", "crash"),
    "YAML": ("advise", "{file}.yaml", "--max-states", "1", "--changes", "0", "--failure", "crash"),
    "JSON": ("advise", "{file}.json", "--max-states", "1", "--changes", "0", "--failure", "crash"),
    "TOML": ("advise", "{file}.toml", "--max-states", "1", "--changes", "0", "--failure", "crash"),
    "environment": ("advise", "{file}.env", "--max-states", "1", "--changes", "0", "--failure", "crash"),
    "manifest of a checkpoint": ("run", "{toy}/counter", "--resume", "{folder}"),
}
"""The words of a command that reads a file. `{folder}` holds it as run.json and manifest.json."""
