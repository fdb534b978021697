"""The picture of a counterexample, and the step at which the same schedule is refused with another setting."""

from __future__ import annotations

from dataclasses import dataclass, replace

from checker.errors import BoundsError, Disabled, SpecError
from checker.explain.guards import why_disabled
from checker.explain.step_sentences import step_sentences
from checker.language.spec import Spec
from checker.output.page.chart import chart
from checker.output.page.render import render
from checker.run.result import TraceStep
from kafka_tools.advise import answer_sentences
from kafka_tools.advise.advice import GuaranteeAnswer
from kafka_tools.advise.cluster import ClusterConfig
from kafka_tools.advise.effective_config import resolve
from kafka_tools.advise.models import model_of
from kafka_tools.advise.survey import ModelExplorer


@dataclass(frozen=True)
class Picture:
    """A counterexample: a sentence for each step, what is wrong in the last one, and its chart as HTML."""

    steps: tuple[str, ...]
    outcome: str
    chart: str


@dataclass(frozen=True)
class Divergence:
    """The first step that another configuration refuses or, if it takes all steps, the first that does other things.

    `is_refused`: the step is not possible; `text` then says why, and otherwise what the step does there.
    """

    step: int
    is_refused: bool
    text: str


class PictureBook:
    """Makes pictures and divergences, each once."""

    def __init__(self) -> None:
        self._pictures: dict[object, Picture] = {}
        self._divergences: dict[object, Divergence | None] = {}

    def picture_of(self, answer: GuaranteeAnswer) -> Picture:
        """Return the picture of an answer that is yes."""
        assert answer.violation is not None
        # The sentences depend on constants, too.
        own = tuple(answer.exploration.own_constants.items())
        key = (answer.exploration.model.spec, own, answer.violation.property, _calls(answer))
        if key not in self._pictures:
            spec = answer_sentences.pipeline_of(answer)
            drawn = chart(spec, answer.violation.trace, answer.violation)
            self._pictures[key] = Picture(
                tuple(step.text for step in step_sentences(spec, answer.violation)),
                answer_sentences.outcome(answer),
                render("chart.html.j2", package="kafka_tools.matrix", chart=drawn).strip(),
            )
        return self._pictures[key]

    def divergence_of(self, answer: GuaranteeAnswer, other: ClusterConfig) -> Divergence | None:
        """Return where the counterexample of an answer diverges in another configuration.

        None: its model is another one, or has other participants, so that the steps cannot be compared.
        """
        model = model_of(other, resolve(other), answer.question, answer.failure)
        constants = tuple(replace(answer.exploration, model=model).own_constants.items())
        own = tuple(answer.exploration.own_constants.items())
        key = (answer.exploration.model.spec, own, model.spec, constants, answer.question.name, _calls(answer))
        if key not in self._divergences:
            self._divergences[key] = _divergence(answer, ModelExplorer(replace(model, constants=constants)).spec)
        return self._divergences[key]


def _calls(answer: GuaranteeAnswer) -> tuple[str, ...]:
    assert answer.violation is not None
    return tuple(map(str, answer.violation.trace))


def _divergence(answer: GuaranteeAnswer, spec: Spec) -> Divergence | None:
    assert answer.violation is not None
    if type(spec) is not answer.exploration.model.spec:
        return None
    first, *steps = answer.violation.trace
    (state,) = spec.initial_states()
    if first.state.values.keys() != state.values.keys():
        return None
    trace = [TraceStep(None, (), state)]
    for number, step in enumerate(steps, 2):
        assert step.action is not None
        try:
            state = spec.step(state, step.action, *step.arguments)
        except Disabled as error:
            return Divergence(number, True, why_disabled(spec, error))
        except (BoundsError, SpecError):
            return None
        trace.append(TraceStep(step.action, step.arguments, state))
    before = step_sentences(answer_sentences.pipeline_of(answer), answer.violation)
    after = step_sentences(spec, replace(answer.violation, trace=tuple(trace)))
    pairs = zip(before, after, strict=True)
    return next((Divergence(new.number, False, new.text) for old, new in pairs if old.text != new.text), None)
