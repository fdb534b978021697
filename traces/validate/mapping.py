"""Mappings from recorded events to a spec: for each event, the steps that the spec may have taken.

    class Producer(Mapping):
        skips = ("metadata",)                              # events that say nothing about the spec
        silent = ("broker_append",)                        # steps that leave no event

        @event("sent")
        def sent(self, found):
            step = PossibleStep("sender_drain", partition=found["partition"])
            return step.after({"in_flight[n1][0].records": found["records"]})

        @event("delivered")
        def delivered(self, found):
            return Observation({f"future[{found['record']}]": "succeeded"})

Arguments that are not given are unknown. Expectations map an expression over the spec's state to its observed value, as
plain JSON (`checker.language.json_values`). Of a struct or a map, only the named parts are compared.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, TypeVar

from checker.errors import InputError, UserError
from checker.language.error_location import with_location
from checker.language.json_values import Plain
from traces.validate.events import Found
from traces.validate.forgetting import Forgetting

Expectations = dict[str, Plain]
"""Observed values of a state, by expression: `{"len(log[b1])": 2}`."""

OWN_ERRORS = (Exception, SystemExit, GeneratorExit)
"""What the code of a mapping may raise, except an interrupt by the user."""

Consistency = Callable[[Found], str | None]
"""Compares the events of one trace with each other."""

Handler = TypeVar("Handler", bound=Callable[..., Any])


class PossibleStep:
    """One step that an event may represent: an action, its known arguments, observed values before and after it.

    Expressions may use state variables, constants, helpers, members of domains (`b1`) and the action's parameters.
    """

    def __init__(self, action: str, **arguments: Plain):
        self.action: str | None = action
        self.arguments: dict[str, Plain] = arguments
        self.seen_before: Expectations = {}
        self.seen_after: Expectations = {}

    def before(self, expectations: Expectations) -> PossibleStep:
        """Add observed values of the state before the step, and return the step."""
        self.seen_before = self.seen_before | expectations
        return self

    def after(self, expectations: Expectations) -> PossibleStep:
        """Add observed values of the state after the step, and return the step."""
        self.seen_after = self.seen_after | expectations
        return self

    @property
    def key(self) -> str:
        """A text that is equal for equal steps."""
        return f"{self.action}{self.arguments}{self.seen_before}{self.seen_after}"

    def __str__(self) -> str:
        shown = ", ".join(f"{name}={value}" for name, value in self.arguments.items())
        return f"{self.action}({shown})"


class Observation(PossibleStep):
    """An event that is not a step: it reports values of the current state."""

    def __init__(self, expectations: Expectations):
        super().__init__("")
        self.action = None
        self.seen_after = dict(expectations)

    def __str__(self) -> str:
        return "seen"


def event(*names: str) -> Callable[[Handler], Handler]:
    """Mark a method of a mapping as the handler of the events with these names.

    The method takes the event as a dict. It returns a `PossibleStep`, an `Observation`, a list of those (any of them
    may have happened), or None if the event does not concern the spec. Its result must depend on the event alone.
    """

    def mark(method: Handler) -> Handler:
        method._events = names  # type: ignore[attr-defined]
        return method

    return mark


class Mapping:
    """The base class of mappings; see the module.

    `field` is the key of an event that holds its name. `skips` are the names of events that do not concern the spec.
    `silent` are the steps that leave no event (names of actions, or `PossibleStep` with arguments); at most
    `silent_bound` of them happen in a row. `forgetting` describes finished records, for logs with many records.
    `unused` names the fields of events (`time`, or `closed.broker` of one event) that nothing compares.
    """

    field: ClassVar[str] = "event"
    skips: ClassVar[tuple[str, ...]] = ()
    silent: ClassVar[tuple[str | PossibleStep, ...]] = ()
    silent_bound: ClassVar[int] = 8
    forgetting: ClassVar[Forgetting | None] = None
    unused: ClassVar[tuple[str, ...]] = ()
    _handlers: ClassVar[dict[str, str]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        handlers = dict(cls._handlers)
        for name, method in vars(cls).items():
            for handled in getattr(method, "_events", ()):
                handlers[handled] = name
        cls._handlers = handlers
        both = sorted(handlers.keys() & set(cls.skips))
        if both:
            raise InputError(f"{cls.__name__} skips {both[0]} and has a method for it: leave one out")

    def constants(self, events: Sequence[Found]) -> dict[str, int | bool | str]:
        """Return constants of the spec that follow from the events of one trace, such as the number of records sent."""
        return {}

    def consistency(self) -> Consistency:
        """Return a function that gets the events of one trace in order, the skipped ones too.

        It compares what the spec does not have, such as real offsets, and returns a sentence if an event contradicts
        earlier ones. The trace is then rejected there.
        """
        return lambda found: None

    def contradiction(self, consistency: Consistency, fields: Found) -> str | None:
        """Return how an event contradicts earlier ones, if it does; raise InputError if a field is missing or wrong."""
        wrong: str | None = self._on_event(fields, "consistency", consistency)
        return wrong

    @property
    def silent_steps(self) -> list[PossibleStep]:
        """The steps that leave no event."""
        return [PossibleStep(step) if isinstance(step, str) else step for step in self.silent]

    def name_of(self, fields: Found) -> str:
        """Return the name of an event; raise InputError if it has none, or a name that the mapping does not handle."""
        name = fields.get(self.field)
        if not isinstance(name, str):
            raise InputError(f'the event has no "{self.field}", which names it')
        if name not in self._handlers and name not in self.skips:
            raise InputError(
                f"{type(self).__name__} has no method for the event {name}: "
                f'add @event("{name}"), or name it in skips; known events: {", ".join(self._names()) or "none"}'
            )
        return name

    def own_error(self, error: BaseException, what: str) -> InputError:
        """Return an exception of the mapping's code as an error, with its place."""
        located = with_location(error, [inspect.getfile(type(self))])
        return InputError(f"{what}{f', at {located.file}:{located.line}' if located.file else ''}: {located.message}")

    def _names(self) -> Iterable[str]:
        return (*self._handlers, *self.skips)

    def steps_of(self, fields: Found) -> tuple[PossibleStep, ...] | None:
        """Return the possible steps of an event, or None if it is skipped; raise InputError if the mapping fails."""
        handler = self._handlers.get(self.name_of(fields))
        if handler is None:
            return None
        answer = self._on_event(fields, handler, getattr(self, handler))
        if answer is None:
            return None
        steps = (
            (answer,)
            if isinstance(answer, PossibleStep)
            else tuple(answer)
            if isinstance(answer, (list, tuple))
            else ()
        )
        if not steps or not all(isinstance(step, PossibleStep) for step in steps):
            raise InputError(
                f"{type(self).__name__}.{handler} must return a PossibleStep, an Observation, a list of those, "
                f"or None, not {answer!r}"
            )
        return steps

    def _on_event(self, fields: Found, name: str, function: Callable[[Found], Any]) -> Any:
        """Return what a function of the mapping returns for an event; raise InputError if it fails."""
        try:
            return function(fields)
        except KeyError as error:
            raise InputError(f"the event has no {error}, which {type(self).__name__}.{name} reads") from None
        except UserError:
            # The mapping itself refuses the event.
            raise
        except OWN_ERRORS as error:
            raise self.own_error(error, f"{type(self).__name__}.{name} fails on the event") from error
