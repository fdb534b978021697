"""Counterexamples for pages and graphs; each is searched for once."""

import functools

import pytest

from checker.engines.native.engine import explore
from checker.language.spec import Spec
from checker.output.page.render import PageContext, counterexample_page
from checker.run.plan import Plan
from checker.run.result import Violation
from specs.producer.plain.producer import PlainProducer
from specs.replication.kip101 import Kip101
from tests.toy import Log


@functools.cache
def violation_of(spec: type[Spec], name: str, **constants: int | bool | str) -> tuple[Spec, Violation]:
    """Return a spec with its constants set, and the violation of one of its properties."""
    made = spec(**constants)
    return made, next(found for found in explore(made, Plan((name,), workers=1)).violations if found.property == name)


@pytest.fixture(scope="session")
def kip101():
    return violation_of(Kip101, "strong_isr", max_leader_epoch=1)


@pytest.fixture(scope="session")
def producer():
    return violation_of(PlainProducer, "no_reorder", max_in_flight=2, refusals=1)


@pytest.fixture(scope="session")
def toy_log():
    return violation_of(Log, "logs_agree")


@pytest.fixture(scope="session")
def kip101_page(kip101):
    spec, violation = kip101
    context = PageContext(
        "replication/kip101/three_replicas", "python -m checker run replication/kip101", "KAFKA-7128."
    )
    return counterexample_page(spec, violation, context)
