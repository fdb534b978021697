"""The steps of an experiment's schedule, as text and as rules of the proxies."""

from __future__ import annotations

import re
from typing import get_args

from checker.errors import InputError
from kafka_tools.experiments.api_keys import API_KEYS
from kafka_tools.experiments.faults import BROKERS, CLIENTS, Fault, FaultRule, Side

STEPS = {
    "send N": "send N records",
    "send N to P": "send N records to partition P, which is a number from 0",
    "begin|commit|abort": "call this method of a transactional producer, and wait until it returns or fails",
    "await acknowledged N": "wait until N futures succeeded in all",
    "await failed N": "wait until N futures failed in all",
    "await isr N": "wait until the leader knows that the partition has N in-sync replicas",
    "await watermark N": "wait until the high watermark of the partition is N or more",
    "await decided": "wait until no transaction is open",
    "await leader N": "wait until broker N leads the partition",
    "lose MESSAGES": "let the proxies lose messages; the connection stays",
    "break MESSAGES": "lose messages together with their connection",
    "delay MSms MESSAGES": "deliver messages later by some milliseconds",
    "duplicate MESSAGES": "deliver messages twice; the second response to a request is dropped",
    "hold MESSAGES": "hold messages until `release`, also after the connection of the client is closed",
    "await lost|broken|delayed|duplicated|held N": "wait until N messages in all had such a fault",
    "release": "deliver the held messages",
    "await handled N": "wait until brokers have answered N requests in all that were held",
    "forward": "end the faults of messages, except those that hold",
    "cut": "close the client's connections and refuse new ones",
    "restore": "accept the client's connections again",
    "cut A B": "close the connections between two brokers and refuse new ones",
    "heal": "accept all connections between brokers again",
    "stop N|all": "stop brokers cleanly",
    "kill N|all": "kill brokers",
    "start N|all": "start brokers and wait until they listen",
    "pause N": "stop the process of a broker without its knowledge",
    "resume N": "let a paused broker go on",
    "forget N": "remove the partition from the disk of a stopped broker",
    "wipe N": "replace the disk of a stopped broker by an empty one",
    "move leader N": "make broker N the preferred leader and elect it",
    "restart producer": "kill the producer, and start a new one",
    "send again NAME": "let the application send a record again",
    "sleep SECONDS": "wait",
    "finish": "wait for all futures, and end the producer",
}

MESSAGES = "KIND [requests|responses] [N|@N] [of clients|of brokers|of broker N]"
"""How a fault names messages: by default requests of clients, all of them from now on, or the next N, or the Nth."""

FAULTS: dict[str, Fault] = {
    "lost": "lose",
    "broken": "break",
    "delayed": "delay",
    "duplicated": "duplicate",
    "held": "hold",
}
"""The faults that `await` counts."""

_OTHER = re.compile(
    r"(send|sleep|await (acknowledged|failed|isr|watermark|handled|lost|broken|delayed|duplicated|held)) \d+"
    r"|send \d+ to \d+|send again \S+|begin|commit|abort|await decided|restart producer"
    r"|(stop|kill|start) all|forward|release|cut|restore|heal|finish"
)
_OF_BROKERS = re.compile(
    r"(?:(?:stop|kill|start|pause|resume|forget|wipe|move leader|await leader) (\d+))|(?:cut (\d+) (\d+))"
)
_LONG_NUMBER = re.compile(r"\d{10}")
_EVERY = "all"
_RULE = re.compile(
    r"(?P<fault>lose|break|delay|duplicate|hold)(?: (?P<ms>\d+)ms)? (?P<kind>\w+)(?: (?P<side>requests|responses))?"
    r"(?: (?P<count>\d+)| @(?P<number>\d+))?(?: of (?P<opener>clients|brokers|broker \d+))?"
)


def check_step(step: str, brokers: int) -> None:
    """Raise InputError if a text is not a step of an experiment with so many brokers."""
    text = " ".join(step.split())
    if _LONG_NUMBER.search(text):
        raise InputError(f"{step[:40]}...: a number of a step has up to nine digits")
    if text.partition(" ")[0] in get_args(Fault):
        fault_rule(text, brokers)
    elif match := _OF_BROKERS.fullmatch(text):
        numbers = [int(number) for number in match.groups() if number is not None]
        for number in numbers:
            _check_broker(step, number, brokers)
        if len(set(numbers)) < len(numbers):
            raise InputError(f"{step}: name two brokers")
    elif not _OTHER.fullmatch(text):
        raise InputError(f"{step} is not a step: the steps are {'; '.join(STEPS)}; MESSAGES is {MESSAGES}")


def fault_rule(step: str, brokers: int) -> FaultRule:
    """Return the rule of a step that makes messages faulty; raise InputError if it is none."""
    match = _RULE.fullmatch(" ".join(step.split()))
    if match is None:
        raise InputError(f"{step}: write {step.split()[0]} {MESSAGES}, such as lose Produce responses")
    fault, kind = _fault(match["fault"]), match["kind"]
    if kind != _EVERY and kind not in API_KEYS:
        raise InputError(f"{step}: {kind} is not a kind of messages: name one of {', '.join((*API_KEYS, _EVERY))}")
    if (match["ms"] is not None) != (fault == "delay"):
        raise InputError(f"{step}: delay has a time such as 50ms, and no other fault has one")
    return FaultRule(
        fault,
        None if kind == _EVERY else kind,
        _side(match["side"]),
        _opener(step, match["opener"], brokers),
        count=int(match["count"]) if match["count"] else None,
        number=int(match["number"]) if match["number"] else None,
        seconds=int(match["ms"] or 0) / 1000,
    )


def _fault(text: str) -> Fault:
    return next(fault for fault in FAULTS.values() if fault == text)


def _side(text: str | None) -> Side:
    return "responses" if text == "responses" else "requests"


def _opener(step: str, text: str | None, brokers: int) -> str | int:
    if text is None or text == CLIENTS:
        return CLIENTS
    if text == BROKERS:
        return BROKERS
    number = int(text.split()[1])
    _check_broker(step, number, brokers)
    return number


def _check_broker(step: str, number: int, brokers: int) -> None:
    if not 1 <= number <= brokers:
        raise InputError(f"{step}: the brokers are 1 to {brokers}")
